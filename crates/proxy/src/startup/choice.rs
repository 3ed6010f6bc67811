//! Which server a session begins on.
//!
//! Servers are tried one after the other, each for a time of its own while there is another one.
//! One is passed over if it cannot be reached, says that it cannot serve now, or lets the client in
//! without a question and is then seen to be the wrong one. Once the client has been asked who it
//! is, it stays with that server: what it answers holds for that server alone. If that one turns
//! out to be the wrong one, the session ends before the client is told that it has begun, and the
//! next attempt begins with another server.

use std::io;
use std::sync::Arc;

use session_postgres::{ServerFacts, Target};
use sqlstate::SqlState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};
use wire_postgres::backend::{self, Authentication, Failure};
use wire_postgres::{HEADER_SIZE, Header};

use super::StartError;
use crate::servers::Server;
use crate::shared::Shared;
use crate::stream::Stream;
use crate::upstream;

/// Far more than a server says until it asks who the client is, or is ready.
const SAID_SIZE_MAX: usize = 64 * 1024;

/// A server that has the startup packet.
pub(super) struct Chosen {
    pub server: Arc<Server>,
    pub stream: Stream,
    /// What it has said, for the session. Nothing, where there is one server alone.
    pub said: Vec<u8>,
    /// Which servers the session may be on.
    pub target: Target,
}

/// Why a server is passed over.
enum Passed {
    /// It cannot be reached.
    Unreachable(io::Error),
    /// It cannot serve: the message that says so.
    Refuses(Vec<u8>),
    /// It is not what the session wants.
    Wrong(Failure),
}

/// Finds a server, and sends it the startup packet.
pub(super) async fn choose(
    packet: &[u8],
    shared: &Shared,
    deadline: Instant,
) -> Result<Chosen, StartError> {
    let candidates = shared.servers.candidates();
    let mut last = None;
    for (index, server) in candidates.iter().enumerate() {
        let left = &candidates[index + 1..];
        let target = shared.servers.target(left);
        let until = match left.is_empty() {
            true => deadline,
            false => deadline.min(Instant::now() + shared.config.connect_timeout()),
        };
        let attempt = attempt(server, packet, target, shared);
        let attempted = timeout_at(until, attempt).await.unwrap_or_else(|_| {
            let error = io::ErrorKind::TimedOut.into();
            Err(Passed::Unreachable(upstream::named(server, &error)))
        });
        let passed = match attempted {
            Ok((stream, said)) => {
                server.note_answer();
                return Ok(Chosen {
                    server: Arc::clone(server),
                    stream,
                    said,
                    target,
                });
            }
            Err(passed) => passed,
        };
        note(server, &passed);
        // What a server says is of more use to the client than that another one says nothing.
        let is_better = last.is_none() || !matches!(passed, Passed::Unreachable(_));
        if is_better {
            last = Some(passed);
        }
    }
    Err(match last {
        Some(Passed::Unreachable(error)) => StartError::Server(error),
        Some(Passed::Refuses(said)) => StartError::Said(said),
        Some(Passed::Wrong(failure)) => StartError::Refused(failure),
        None => StartError::Refused(Target::wrong_server("no server can be used now")),
    })
}

fn note(server: &Server, passed: &Passed) {
    match passed {
        Passed::Unreachable(error) => server.note_failure(error),
        Passed::Refuses(_) => server.note_refusal(),
        // It answers, and its role has been noted.
        Passed::Wrong(_) => server.note_answer(),
    }
}

async fn attempt(
    server: &Server,
    packet: &[u8],
    target: Target,
    shared: &Shared,
) -> Result<(Stream, Vec<u8>), Passed> {
    let unreachable = |error: io::Error| Passed::Unreachable(upstream::named(server, &error));
    let opened = upstream::open(server).await;
    let mut stream = opened.map_err(Passed::Unreachable)?;
    stream.write_all(packet).await.map_err(unreachable)?;
    stream.flush().await.map_err(unreachable)?;
    if !shared.servers.are_several() {
        return Ok((stream, Vec::new()));
    }
    let mut heard = Heard {
        facts: server.facts(),
        read: 0,
        said: Vec::new(),
    };
    loop {
        match heard.look().map_err(unreachable)? {
            Word::More => {}
            Word::Asks => return Ok((stream, heard.said)),
            Word::Refuses => return Err(Passed::Refuses(heard.said)),
            Word::IsReady => {
                if let Some(is_standby) = heard.facts.is_standby {
                    shared.note_role(server, is_standby);
                }
                target.check(heard.facts).map_err(Passed::Wrong)?;
                return Ok((stream, heard.said));
            }
        }
        let read = stream.read_buf(&mut heard.said).await;
        if read.map_err(unreachable)? == 0 {
            return Err(unreachable(io::ErrorKind::UnexpectedEof.into()));
        }
    }
}

/// What a server has said so far.
struct Heard {
    facts: ServerFacts,
    /// How many bytes have been looked at.
    read: usize,
    said: Vec<u8>,
}

/// What of it decides.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    /// Nothing yet.
    More,
    /// It asks who the client is, or refuses it: that is for the client.
    Asks,
    /// It cannot serve now.
    Refuses,
    /// The session has begun.
    IsReady,
}

impl Heard {
    fn look(&mut self) -> io::Result<Word> {
        loop {
            let rest = &self.said[self.read..];
            let header = Header::read(rest, SAID_SIZE_MAX).map_err(io::Error::other)?;
            let Some(header) = header else {
                return Ok(Word::More);
            };
            let Some(message) = rest.get(..header.size) else {
                return Ok(Word::More);
            };
            if self.read + header.size > SAID_SIZE_MAX {
                return Err(io::Error::other("it says too much before it is ready"));
            }
            let body = &message[HEADER_SIZE..];
            match header.kind {
                backend::kind::AUTHENTICATION
                    if Authentication::read(body) != Ok(Authentication::Ok) =>
                {
                    return Ok(Word::Asks);
                }
                backend::kind::ERROR => {
                    let fields = backend::read_fields(body).unwrap_or_default();
                    let mut codes = fields.iter().filter(|(kind, _)| *kind == b'C');
                    return Ok(match codes.any(|(_, code)| cannot_serve(code)) {
                        true => Word::Refuses,
                        false => Word::Asks,
                    });
                }
                backend::kind::PARAMETER_STATUS => {
                    let said = backend::read_parameter_status(body).map_err(io::Error::other)?;
                    self.facts.note(said.0, said.1);
                }
                backend::kind::READY_FOR_QUERY => return Ok(Word::IsReady),
                _ => {}
            }
            self.read += header.size;
        }
    }
}

/// Whether an error of this SQLSTATE is of the server's state, not of the client: it starts, stops
/// or recovers, or has as many clients as it takes.
pub(crate) fn cannot_serve(code: &[u8]) -> bool {
    let states = [
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    states.iter().any(|state| state.as_str().as_bytes() == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        backend::write(kind, &mut out, |out| out.extend_from_slice(body));
        out
    }

    /// What decides, however the bytes are cut.
    fn word(said: &[Vec<u8>]) -> (Word, ServerFacts) {
        let said = said.concat();
        let mut heard = Heard {
            facts: ServerFacts::default(),
            read: 0,
            said: Vec::new(),
        };
        for byte in said {
            assert_eq!(heard.look().expect("well formed"), Word::More);
            heard.said.push(byte);
        }
        (heard.look().expect("well formed"), heard.facts)
    }

    #[test]
    fn a_server_is_heard_until_it_asks_refuses_or_is_ready() {
        let accepted = || message(b'R', &[0; 4]);
        let asked = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        let notice = message(b'N', b"SNOTICE\0\0");
        assert_eq!(word(&[notice.clone(), asked]).0, Word::Asks);
        let standby = message(b'S', b"in_hot_standby\0on\0");
        let ready = message(b'Z', b"I");
        let (found, facts) = word(&[notice, accepted(), standby, ready]);
        assert_eq!((found, facts.is_standby), (Word::IsReady, Some(true)));
        for (code, found) in [
            ("57P03", Word::Refuses),
            ("53300", Word::Refuses),
            // These are about the client.
            ("28000", Word::Asks),
            ("3D000", Word::Asks),
        ] {
            let error = format!("SFATAL\0C{code}\0Mno\0\0");
            let error = message(b'E', error.as_bytes());
            assert_eq!(word(std::slice::from_ref(&error)).0, found, "{code}");
            assert_eq!(word(&[accepted(), error]).0, found, "{code}");
        }
    }
}
