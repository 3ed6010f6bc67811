//! Sockets of the server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use configuration::Upstream;
use sockets::LocalStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use wire_postgres::startup::TLS_REQUEST;

use crate::shared::Shared;
use crate::stream::Stream;

/// A socket of the server, by TLS where that is configured.
pub(crate) async fn connect(shared: &Shared) -> io::Result<Stream> {
    let upstream = &shared.config.upstream;
    let connected = connect_to(upstream, shared).await;
    connected.map_err(|error| io::Error::new(error.kind(), format!("{upstream}: {error}")))
}

async fn connect_to(upstream: &Upstream, shared: &Shared) -> io::Result<Stream> {
    let mut socket = match reach(upstream).await? {
        Stream::Tcp(socket) => socket,
        other => return Ok(other),
    };
    let Some(connector) = &shared.connector else {
        return Ok(Stream::Tcp(socket));
    };
    socket.write_all(&TLS_REQUEST).await?;
    let mut answer = [0];
    socket.read_exact(&mut answer).await?;
    if answer != *b"S" {
        return Err(io::Error::other(
            "it offers no TLS, which [proxy.server_tls] asks for",
        ));
    }
    connector.connect(socket).await
}

/// A socket of the server, with nothing said on it.
pub(crate) async fn reach(upstream: &Upstream) -> io::Result<Stream> {
    match upstream {
        Upstream::Unix(path) => LocalStream::connect(path).await.map(Stream::Unix),
        Upstream::Tcp(host, port) => sockets::connect(host, *port).await.map(Stream::Tcp),
    }
}

/// How long the server is waited for before the first session.
const LOOK_TIME: Duration = Duration::from_secs(5);

/// Warns of a server that cannot be reached, before the first client finds that out.
pub(crate) async fn look_for_server(shared: Arc<Shared>) {
    let upstream = &shared.config.upstream;
    // No TLS: the server would log a connection that says nothing behind it.
    let reached = timeout(LOOK_TIME, reach(upstream)).await;
    if let Err(error) = reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        tracing::warn!(server = %upstream, %error, "the server cannot be reached yet");
    }
}
