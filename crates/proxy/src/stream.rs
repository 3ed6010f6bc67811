//! One side of a session: a socket, with TLS or without.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

use crate::listener::Arrival;

mod local;

pub use local::LocalStream;

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
                Ok(Self::Tcp(socket))
            }
            Arrival::Local(socket) => LocalStream::new(socket).map(Self::Unix),
        }
    }

    /// Whether what it carries stays on this machine: there is no wire to read it from.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
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
