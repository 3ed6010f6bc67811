//! Sockets of servers.

use std::io;

use configuration::Upstream;
use sockets::LocalStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wire_postgres::startup::TLS_REQUEST;

use crate::servers::Server;
use crate::stream::Stream;

/// A socket of a server, by TLS where that is configured.
pub(crate) async fn open(server: &Server) -> io::Result<Stream> {
    let opened = open_plainly(server).await;
    opened.map_err(|error| named(server, &error))
}

/// An error with the name of the server.
pub(crate) fn named(server: &Server, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", server.name))
}

async fn open_plainly(server: &Server) -> io::Result<Stream> {
    let mut socket = match reach(server).await? {
        Stream::Tcp(socket) => socket,
        other => return Ok(other),
    };
    let Some(connector) = &server.connector else {
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

/// A socket of a server, with nothing said on it.
pub(crate) async fn reach(server: &Server) -> io::Result<Stream> {
    match &server.address {
        Upstream::Unix(path) => LocalStream::connect(path).await.map(Stream::Unix),
        Upstream::Tcp(host, port) => sockets::connect(host, *port).await.map(Stream::Tcp),
    }
}
