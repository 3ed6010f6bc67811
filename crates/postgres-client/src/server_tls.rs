//! TLS alone, for a program that asks the server itself: nothing is sealed, nothing is opened.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use configuration::TlsError;
use rustls::ClientConfig;
use tokio_postgres::Socket;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};

use crate::wire::{Wire, WireError, encrypt, with_protocol};

/// TLS as a [`Connector`](crate::Connector) speaks it, for a `connect` of tokio-postgres or of
/// postgres that has neither rules nor key: the certificate is always checked, and logins are bound
/// to it. Whether there is to be TLS is said by their own `sslmode`.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ClientConfig>,
    /// None: the host of the configuration.
    name: Option<String>,
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServerTls(..)")
    }
}

impl ServerTls {
    /// With the authorities (a PEM file) of which one must have signed the server's certificate,
    /// and the name to expect in it, where it is not the host.
    ///
    /// # Errors
    /// The file.
    pub fn new(root: &Path, name: Option<String>) -> Result<Self, TlsError> {
        let config = with_protocol(configuration::client_config(root)?);
        Ok(Self { config, name })
    }
}

impl MakeTlsConnect<Socket> for ServerTls {
    type Stream = Wire;
    type TlsConnect = ServerTlsTo;
    type Error = WireError;

    fn make_tls_connect(&mut self, host: &str) -> Result<ServerTlsTo, WireError> {
        Ok(ServerTlsTo(self.clone(), host.to_owned()))
    }
}

/// The same for one host.
pub struct ServerTlsTo(ServerTls, String);

impl TlsConnect<Socket> for ServerTlsTo {
    type Stream = Wire;
    type Error = WireError;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, WireError>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let Self(tls, host) = self;
        Box::pin(async move { encrypt(socket, &tls.config, tls.name.unwrap_or(host)).await })
    }
}
