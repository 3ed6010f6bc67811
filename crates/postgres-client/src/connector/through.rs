//! Where tokio-postgres asks for TLS: the wire is settled, and the session put over it.

use std::future::Future;
use std::pin::Pin;

use tokio::io::Empty;
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

use super::Target;
use crate::stream::{Begin, SealedStream};
use crate::wire::{Terms, Wire, WireError};

/// What becomes of a wire to the server.
pub(super) trait Finish: Send + 'static {
    /// What tokio-postgres speaks to.
    type Stream: TlsStream + Unpin + Send + 'static;
    /// How to make the wire.
    fn terms(&self) -> &Terms;
    /// Makes the stream of it.
    fn finish(self, wire: Wire) -> Self::Stream;
}

/// Without a session: for requests to cancel.
impl Finish for Terms {
    type Stream = Wire;

    fn terms(&self) -> &Terms {
        self
    }

    fn finish(self, wire: Wire) -> Wire {
        wire
    }
}

/// With a session.
#[derive(Clone)]
pub(super) struct Sealing {
    /// How to make the wire.
    pub terms: Terms,
    /// What the session is told.
    pub begin: Begin,
}

impl Finish for Sealing {
    type Stream = SealedStream<Wire>;

    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn finish(self, wire: Wire) -> SealedStream<Wire> {
        let is_tls = wire.is_tls();
        SealedStream::new(wire, is_tls, self.begin)
    }
}

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, WireError>> + Send>>;

/// Over sockets that tokio-postgres makes.
pub(super) struct Named<T>(pub T);

/// The same for one host.
pub(super) struct To<T>(T, String);

/// Over a socket that is made here, or none. Nothing is read from the empty stream, nor written.
pub(super) struct Aimed<T>(pub T, pub Target);

impl<T: Finish + Clone> MakeTlsConnect<Socket> for Named<T> {
    type Stream = T::Stream;
    type TlsConnect = To<T>;
    type Error = WireError;

    fn make_tls_connect(&mut self, host: &str) -> Result<To<T>, WireError> {
        Ok(To(self.0.clone(), host.to_owned()))
    }
}

impl<T: Finish> TlsConnect<Socket> for To<T> {
    type Stream = T::Stream;
    type Error = WireError;
    type Future = Connecting<T::Stream>;

    fn connect(self, socket: Socket) -> Self::Future {
        let Self(finish, host) = self;
        let terms = finish.terms().clone();
        Box::pin(async move { Ok(finish.finish(terms.settle(socket, &host).await?)) })
    }
}

impl<T: Finish> TlsConnect<Empty> for Aimed<T> {
    type Stream = T::Stream;
    type Error = WireError;
    type Future = Connecting<T::Stream>;

    fn connect(self, _: Empty) -> Self::Future {
        let Self(finish, target) = self;
        let terms = finish.terms().clone();
        Box::pin(async move {
            let path = match target {
                Target::Local(path) => path,
                Target::Tcp => return Err(WireError::Mixed),
                Target::Refused(error) => return Err(error),
            };
            Ok(finish.finish(terms.dial(path).await?))
        })
    }
}

impl TlsStream for Wire {
    fn channel_binding(&self) -> ChannelBinding {
        let end_point = self.end_point();
        end_point.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl TlsStream for SealedStream<Wire> {
    fn channel_binding(&self) -> ChannelBinding {
        self.get_ref().channel_binding()
    }
}
