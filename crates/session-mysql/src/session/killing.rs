//! `KILL`, where there are several servers. It means a connection by its number, which each server
//! gives by itself: on the server at hand that number may be somebody else's.

use std::fmt;
use std::sync::Arc;

use wire_mysql::command::kind;
use wire_mysql::packet::{HEADER_SIZE, Header};

use super::Session;
use crate::refusal::{Reason, Refusal};

/// A longer text is none that only kills.
const SIZE_MAX: usize = 1024;

/// Whether a session of this number is on another server.
#[derive(Clone)]
pub struct Elsewhere(Arc<dyn Fn(u32) -> bool + Send + Sync>);

impl Elsewhere {
    /// By whoever knows all sessions.
    pub fn new(knows: impl Fn(u32) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(knows))
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl Session {
    /// Refuses a command that kills a session of another server, or perhaps of another. Returns how
    /// many bytes it took; none, where the command is not there as a whole, or has to wait. None:
    /// it is another command.
    pub(super) fn take_kill(&mut self, bytes: &[u8], header: Header) -> Option<usize> {
        let elsewhere = self.way.elsewhere.as_ref()?;
        let command = *bytes.get(HEADER_SIZE)?;
        if !matches!(command, kind::QUERY | kind::PROCESS_KILL) || header.length > SIZE_MAX {
            return None;
        }
        let size = HEADER_SIZE + header.length;
        let Some(payload) = bytes.get(HEADER_SIZE..size) else {
            return Some(0);
        };
        let number = killed(payload)?;
        if !(elsewhere.0)(number) {
            return None;
        }
        if !self.due.is_empty() {
            return Some(0);
        }
        let message = format!(
            "Unknown thread id: {number} on this server, or not this alone: a session of this \
             number is on another server; connect to that server itself to kill it"
        );
        let refusal = Refusal::new(Reason::Statement(1094, *b"HY000"), message);
        let mut sequence = header.sequence.wrapping_add(1);
        refusal.write(&mut sequence, &mut self.to_client.bytes);
        Some(size)
    }
}

/// The number of the connection that a command kills, where it names one.
fn killed(payload: &[u8]) -> Option<u32> {
    let (command, body) = payload.split_first()?;
    if *command == kind::PROCESS_KILL {
        return body.try_into().ok().map(u32::from_le_bytes);
    }
    let text = std::str::from_utf8(without_comments(body)).ok()?;
    let mut words = text
        .split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'))
        .filter(|word| !word.is_empty());
    let mut next = || words.next().unwrap_or_default();
    if !next().eq_ignore_ascii_case("kill") {
        return None;
    }
    let mut word = next();
    for optional in [&["hard", "soft"][..], &["connection", "query"]] {
        if optional.iter().any(|name| word.eq_ignore_ascii_case(name)) {
            word = next();
        }
    }
    // A user, an identifier of a query, or a computed number: it is the server's to understand.
    word.parse().ok()
}

/// A text behind the comments that it begins with.
fn without_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let line = text.starts_with(b"#") || text.starts_with(b"-- ");
        let end = if line {
            text.iter().position(|byte| *byte == b'\n').map(|at| at + 1)
        } else if text.starts_with(b"/*") && !matches!(text.get(2), Some(b'!' | b'M')) {
            let end = text.windows(2).skip(2).position(|two| two == b"*/");
            end.map(|at| at + 4)
        } else {
            return text;
        };
        let Some(rest) = end.and_then(|end| text.get(end..)) else {
            return b"";
        };
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_killed_is_read_as_the_server_reads_it() {
        for (text, number) in [
            ("KILL 5", Some(5)),
            ("kill query 5;", Some(5)),
            (" /* x */ -- y\n# z\nKILL\tHARD CONNECTION\n5 ", Some(5)),
            ("KILL SOFT QUERY 4294967295", Some(u32::MAX)),
            ("/**/KILL 5", Some(5)),
            // The server's to understand, or to refuse.
            ("KILL QUERY ID 5", None),
            ("KILL USER nat", None),
            ("KILL CONNECTION_ID()", None),
            ("KILL", None),
            ("KILL 4294967296", None),
            ("/* KILL 5", None),
            ("SELECT 'KILL 5'", None),
            ("", None),
        ] {
            let payload = [&[kind::QUERY], text.as_bytes()].concat();
            assert_eq!(killed(&payload), number, "{text}");
        }
        assert_eq!(killed(&[kind::PROCESS_KILL, 5, 0, 0, 0]), Some(5));
        assert_eq!(killed(&[kind::PROCESS_KILL, 5]), None);
        assert_eq!(killed(b""), None);
    }
}
