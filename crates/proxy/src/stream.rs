//! One side of a session: a socket, with TLS or without.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use sockets::{LocalStream, keep_alive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

use crate::listener::Arrival;

/// A socket, with TLS or without.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A socket of the file system.
    Unix(LocalStream),
    /// TLS towards a client. Boxed: it is a KiB, and few sessions have it.
    TlsFromClient(Box<server::TlsStream<TcpStream>>),
    /// TLS towards the server.
    TlsToServer(Box<client::TlsStream<TcpStream>>),
}

macro_rules! each {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
            Stream::TlsFromClient($inner) => $call,
            Stream::TlsToServer($inner) => $call,
        }
    };
}

impl Stream {
    /// The socket of a client that has arrived.
    ///
    /// # Errors
    /// The system cannot watch it.
    pub fn of_client(arrival: Arrival) -> io::Result<Self> {
        match arrival {
            Arrival::Tcp(socket) => {
                let socket = TcpStream::from_std(socket)?;
                // Questions and answers are small, and each is waited for.
                let _ = socket.set_nodelay(true);
                // One that has gone already is noticed by what is read next.
                let _ = keep_alive(&socket);
                Ok(Self::Tcp(socket))
            }
            Arrival::Local(socket) => LocalStream::new(socket).map(Self::Unix),
        }
    }

    /// Whether what it carries stays on this machine: there is no wire to read it from.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// Whether the other side is on this machine.
    pub fn is_of_this_machine(&self) -> bool {
        let socket = match self {
            Self::Unix(_) => return true,
            Self::Tcp(socket) => socket,
            Self::TlsFromClient(tls) => tls.get_ref().0,
            Self::TlsToServer(tls) => tls.get_ref().0,
        };
        let peer = socket.peer_addr();
        peer.is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// Whether it is encrypted.
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::TlsFromClient(_) | Self::TlsToServer(_))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => Pin::new(inner).poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::socket::{getsockopt, sockopt};

    use super::*;

    #[track_caller]
    fn assert_kept_alive(socket: &TcpStream) {
        assert_eq!(getsockopt(socket, sockopt::KeepAlive), Ok(true));
        assert_eq!(getsockopt(socket, sockopt::TcpKeepInterval), Ok(10));
        assert_eq!(getsockopt(socket, sockopt::TcpKeepCount), Ok(6));
        #[cfg(target_os = "linux")]
        assert_eq!(getsockopt(socket, sockopt::TcpKeepIdle), Ok(60));
    }

    #[tokio::test]
    async fn the_system_looks_whether_either_side_is_still_there() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let to_server = sockets::connect("127.0.0.1", port)
            .await
            .expect("it listens");
        assert_kept_alive(&to_server);
        let (accepted, _) = listener.accept().expect("one has come");
        accepted.set_nonblocking(true).expect("a socket");
        let stream = Stream::of_client(Arrival::Tcp(accepted)).expect("it is watched");
        let Stream::Tcp(of_client) = &stream else {
            panic!("no TCP");
        };
        assert_kept_alive(of_client);
    }
}
