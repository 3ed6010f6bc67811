//! Which server a session begins on.
//!
//! The server speaks first, and what it says is what the client's login answers to: so a server is
//! chosen before the client has said a word, and the session stays on it. Servers are tried one
//! after the other, each for a time of its own while there is another one. One is passed over if it
//! cannot be reached, or says an error in the place of its greeting: that it has as many clients as
//! it takes, shuts down, or lets nobody of this host in.

use std::io;
use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use wire_mysql::Capabilities;
use wire_mysql::answer::ERR;
use wire_mysql::greeting::Greeting;

use super::read_payload;
use crate::servers::Server;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::upstream;

/// A server that has greeted.
pub(super) struct Chosen {
    pub server: Arc<Server>,
    pub stream: Stream,
    /// Its greeting.
    pub said: Vec<u8>,
}

/// Why a server is passed over.
pub(super) enum Passed {
    /// It cannot be reached, or says what is not understood.
    Unreachable(io::Error),
    /// It has said an error in the place of its greeting.
    Refuses(Vec<u8>),
}

/// Finds a server.
pub(super) async fn choose(shared: &Shared, deadline: Instant) -> Result<Chosen, Passed> {
    let candidates = shared.servers.candidates();
    let mut last = None;
    for (index, server) in candidates.iter().enumerate() {
        let until = match candidates.len() - index {
            1 => deadline,
            _ => deadline.min(Instant::now() + shared.config.connect_timeout()),
        };
        let attempted = timeout_at(until, attempt(server)).await;
        let attempted =
            attempted.unwrap_or_else(|_| Err(Passed::Unreachable(io::ErrorKind::TimedOut.into())));
        match attempted {
            Ok((stream, said)) => {
                server.note_answer();
                return Ok(Chosen {
                    server: Arc::clone(server),
                    stream,
                    said,
                });
            }
            Err(Passed::Unreachable(error)) => {
                server.note_failure(&error);
                let error = upstream::named(server, &error);
                last.get_or_insert(Passed::Unreachable(error));
            }
            Err(refuses) => {
                server.note_refusal();
                last = Some(refuses);
            }
        }
    }
    Err(last.unwrap_or_else(|| {
        let message = "the monitor says of no server that it can be used now";
        Passed::Unreachable(io::Error::other(message))
    }))
}

async fn attempt(server: &Server) -> Result<(Stream, Vec<u8>), Passed> {
    let mut stream = upstream::reach(server).await.map_err(Passed::Unreachable)?;
    let said = read_payload(&mut stream, 0).await;
    let said = said.map_err(Passed::Unreachable)?;
    if said.first() == Some(&ERR) {
        return Err(Passed::Refuses(said));
    }
    let greeting = Greeting::read(&said);
    let greeting = greeting.map_err(|error| Passed::Unreachable(io::Error::other(error)))?;
    if server.connector.is_some() && !greeting.capabilities.has(Capabilities::TLS) {
        let message = "it offers no TLS, which [proxy.server_tls] asks for";
        return Err(Passed::Unreachable(io::Error::other(message)));
    }
    Ok((stream, said))
}
