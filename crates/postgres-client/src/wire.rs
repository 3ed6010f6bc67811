//! The connection below the session: a socket, with TLS or without, as the configuration of
//! tokio-postgres asks for.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use configuration::end_point;
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use sockets::LocalStream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;
use tokio_postgres::Socket;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wire_postgres::startup::TLS_REQUEST;

/// A socket, with TLS or without. That of TCP was made by tokio-postgres, or here.
pub enum Wire<S = Socket> {
    /// TCP.
    Tcp(S),
    /// TCP with TLS. Boxed: it is a KiB, and is moved.
    Tls(Box<TlsStream<S>>),
    /// A socket of the file system.
    Local(LocalStream),
}

/// A connection that cannot be made. What tokio-postgres itself finds is not among it.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The socket, or TLS.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// A socket of the file system.
    #[error("cannot connect to {path}: {error}")]
    Local {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The name that the certificate is to have.
    #[error("the server's name cannot be checked: {0}")]
    Name(#[from] InvalidDnsNameError),
    /// The server has no TLS.
    #[error("the server offers no TLS, which sslmode=require asks for")]
    Refused,
    /// What a server of the protocol does not say.
    #[error("the answer to the request for TLS is none of PostgreSQL's")]
    NoServer,
    /// Nobody could be recognised.
    #[error("sslmode=require needs authorities to check the server by: Options::tls_root")]
    NoRoots,
    /// TLS at once, or not at all.
    #[error("sslnegotiation=direct needs sslmode=require")]
    Direct,
    /// A way of TLS that was not known when this was written.
    #[error("this sslmode or sslnegotiation is not supported")]
    Unknown,
    /// TLS over a socket of the file system.
    #[error("a socket of the file system has no TLS: set sslmode to prefer or disable")]
    LocalTls,
    /// Sockets of the file system are not tried one after the other.
    #[error("a socket of the file system must be the only host")]
    Mixed,
    /// One socket of the file system is one server.
    #[error("target_session_attrs is not supported with a socket of the file system")]
    Target,
}

/// How to speak TLS with the server.
#[derive(Clone)]
pub(crate) struct Tls {
    /// Authorities, and all else. None: there is none to check the server by.
    pub config: Option<Arc<ClientConfig>>,
    /// The name in the server's certificate; None: the host of the configuration.
    pub name: Option<String>,
}

/// TLS that says which protocol it is for: servers want to hear it where TLS begins at once
/// (PostgreSQL 17).
pub(crate) fn with_protocol(mut config: ClientConfig) -> Arc<ClientConfig> {
    if config.alpn_protocols.is_empty() {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Arc::new(config)
}

/// Begins TLS with a server of that name.
pub(crate) async fn encrypt<S: AsyncRead + AsyncWrite + Unpin>(
    socket: S,
    config: &Arc<ClientConfig>,
    name: String,
) -> Result<Wire<S>, WireError> {
    let name = ServerName::try_from(name)?;
    let connector = TlsConnector::from(Arc::clone(config));
    Ok(Wire::Tls(Box::new(connector.connect(name, socket).await?)))
}

/// What a configuration of tokio-postgres asks for.
#[derive(Clone)]
pub(crate) struct Terms {
    /// How.
    pub tls: Tls,
    /// Whether.
    pub mode: SslMode,
    /// Who begins.
    pub negotiation: SslNegotiation,
    /// For a socket of the file system; the rest keeps tokio-postgres itself.
    pub connect_timeout: Option<Duration>,
}

impl Terms {
    /// Settles TLS on a new connection, as tokio-postgres would.
    pub(crate) async fn settle<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        mut socket: S,
        host: &str,
    ) -> Result<Wire<S>, WireError> {
        let is_required = match self.mode {
            SslMode::Disable => return Ok(Wire::Tcp(socket)),
            SslMode::Prefer => false,
            SslMode::Require => true,
            _ => return Err(WireError::Unknown),
        };
        let Some(config) = &self.tls.config else {
            return match is_required {
                true => Err(WireError::NoRoots),
                false => Ok(Wire::Tcp(socket)),
            };
        };
        match self.negotiation {
            SslNegotiation::Direct if is_required => {}
            SslNegotiation::Direct => return Err(WireError::Direct),
            SslNegotiation::Postgres => {
                socket.write_all(&TLS_REQUEST).await?;
                socket.flush().await?;
                let mut answer = [0];
                socket.read_exact(&mut answer).await?;
                match &answer {
                    b"S" => {}
                    b"N" if is_required => return Err(WireError::Refused),
                    b"N" => return Ok(Wire::Tcp(socket)),
                    _ => return Err(WireError::NoServer),
                }
            }
            _ => return Err(WireError::Unknown),
        }
        let name = self.tls.name.as_deref().unwrap_or(host).to_owned();
        encrypt(socket, config, name).await
    }

    /// Connects to a socket of the file system.
    pub(crate) async fn dial<S>(&self, path: PathBuf) -> Result<Wire<S>, WireError> {
        if self.mode == SslMode::Require {
            return Err(WireError::LocalTls);
        }
        let connected = match self.connect_timeout {
            None => LocalStream::connect(&path).await,
            Some(time) => match timeout(time, LocalStream::connect(&path)).await {
                Ok(connected) => connected,
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
            },
        };
        match connected {
            Ok(socket) => Ok(Wire::Local(socket)),
            Err(error) => Err(WireError::Local { path, error }),
        }
    }
}

impl<S> Wire<S> {
    /// Whether it is encrypted.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// What a login by it is bound to (`tls-server-end-point`). None: there is no TLS, or the
    /// certificate's signature has no hash function to take.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        let Self::Tls(tls) = self else {
            return None;
        };
        let (_, connection) = tls.get_ref();
        end_point(connection.peer_certificates()?.first()?)
    }
}

macro_rules! each {
    ($wire:expr, $inner:ident => $call:expr) => {
        match $wire.get_mut() {
            Wire::Tcp($inner) => $call,
            Wire::Tls($inner) => $call,
            Wire::Local($inner) => $call,
        }
    };
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_read(context, buffer))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<S> {
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
