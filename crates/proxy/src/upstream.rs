//! Sockets of servers, and looking whether servers are there.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use configuration::{Protocol, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{MissedTickBehavior, interval, timeout};
use wire_postgres::startup::TLS_REQUEST;

use crate::patroni;
use crate::servers::Server;
use crate::shared::Shared;
use crate::stream::{self, LocalStream, Stream};

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
        Upstream::Tcp(host, port) => stream::connect(host, *port).await.map(Stream::Tcp),
    }
}

/// How long a look at a server may take.
const LOOK_TIME: Duration = Duration::from_secs(5);
/// The time between two looks.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// Looks at all servers before the first client comes, and warns of those that are not there.
pub(crate) async fn look_for_servers(shared: Arc<Shared>) {
    for server in shared.servers.all() {
        tokio::spawn(look(Arc::clone(server)));
    }
}

/// Looks at a server again and again.
pub(crate) async fn watch(server: Arc<Server>, shared: Arc<Shared>) {
    let mut ticks = interval(LOOK_PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if is_looked_at(&server, &shared) {
            look(Arc::clone(&server)).await;
        }
        if let Some(port) = shared.config.patroni_port {
            let verdict = timeout(LOOK_TIME, patroni::ask(&server, port.get())).await;
            server.note_verdict(verdict.unwrap_or_default());
        }
    }
}

/// A server that answers is looked at only where that does no harm, and somebody wants to know:
/// MySQL counts connections that say nothing against the host that they come from, until it lets
/// nobody of it in (`max_connect_errors`).
fn is_looked_at(server: &Server, shared: &Shared) -> bool {
    let is_harmless = shared.config.protocol == Protocol::Postgres;
    let is_of_use = shared.servers.are_several() || shared.config.metrics.is_some();
    is_of_use && (is_harmless || server.is_to_be_looked_for())
}

async fn look(server: Arc<Server>) {
    // No TLS: the server would log a connection that says nothing behind it.
    let reached = timeout(LOOK_TIME, reach(&server)).await;
    match reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(_) => server.note_look(),
        Err(error) => server.note_failure(&error),
    }
}
