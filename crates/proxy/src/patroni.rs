//! What Patroni says of a server by its REST interface: `GET /primary` and `GET /replica` are
//! answered by 200 where the server is that, and runs; by 503 otherwise.
//!
//! The answer decides which servers are tried. It is no secret and needs no login, and a session
//! finds out by itself whether the server is what was said of it: so plain HTTP does.

use std::io;

use configuration::Upstream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::servers::{Server, Verdict};

/// Far more than the first line of an answer has.
const LINE_SIZE_MAX: u64 = 1024;

/// Asks what a server is. None: Patroni does not say.
pub(crate) async fn ask(server: &Server, port: u16) -> Option<Verdict> {
    let Upstream::Tcp(host, _) = &server.address else {
        return None;
    };
    let answers = async {
        if status(host, port, "/primary").await? == OK {
            return Ok(Some(Verdict::Serves { is_standby: false }));
        }
        Ok(match status(host, port, "/replica").await? {
            OK => Some(Verdict::Serves { is_standby: true }),
            UNAVAILABLE => Some(Verdict::IsOut),
            _ => None,
        })
    };
    let answered: io::Result<_> = answers.await;
    answered.unwrap_or_else(|error| {
        tracing::debug!(server = %server.name, %error, "Patroni");
        None
    })
}

const OK: u16 = 200;
const UNAVAILABLE: u16 = 503;

/// The status of the answer to a request.
async fn status(host: &str, port: u16, path: &str) -> io::Result<u16> {
    let mut socket = sockets::connect(host, port).await?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await?;
    let mut line = Vec::new();
    let mut answer = socket.take(LINE_SIZE_MAX);
    while !line.contains(&b'\n') && answer.read_buf(&mut line).await? > 0 {}
    status_of(&line).ok_or_else(|| io::Error::other("it does not answer as HTTP does"))
}

/// RFC 9112, section 4: `HTTP/1.1 200 OK`.
fn status_of(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let is_http = words.next()?.starts_with("HTTP/1.");
    let code = words.next()?.trim_end();
    let is_code = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    (is_http && is_code).then(|| code.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_the_second_word_of_an_answer_of_http() {
        for (answer, status) in [
            (&b"HTTP/1.0 200 OK\r\nServer: x\r\n"[..], Some(200)),
            (b"HTTP/1.1 503\r\n", Some(503)),
            (b"HTTP/1.1 503 Service Unavailable", Some(503)),
            (b"HTTP/1.1 +20 OK\r\n", None),
            (b"HTTP/2 200\r\n", None),
            (b"HTTP/1.1", None),
            (b"200 OK\r\n", None),
            (b"\xff\xfe", None),
            (b"", None),
        ] {
            assert_eq!(status_of(answer), status);
        }
    }
}
