//! The watch's login: the server may ask for SCRAM, or for nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire_postgres::HEADER_SIZE;
use wire_postgres::backend::kind;

/// What of a message is looked at.
const HEAD_SIZE: usize = HEADER_SIZE + 4;

// What an Authentication message begins with.
const OK: [u8; 4] = [0, 0, 0, 0];
const SASL: [u8; 4] = [0, 0, 0, 10];
const SASL_CONTINUE: [u8; 4] = [0, 0, 0, 11];
const SASL_FINAL: [u8; 4] = [0, 0, 0, 12];

/// A socket on which no server is given a password in clear, or in a form that it could be found
/// from: it breaks where the server asks for one.
pub(crate) struct Guarded<S> {
    stream: S,
    /// The begin of the message that is read.
    head: Vec<u8>,
    /// What is left of its body.
    left: usize,
    is_in: bool,
}

impl<S> Guarded<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            head: Vec::new(),
            left: 0,
            is_in: false,
        }
    }

    fn look(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !self.is_in && !bytes.is_empty() {
            if self.left > 0 {
                let size = self.left.min(bytes.len());
                self.left -= size;
                bytes = &bytes[size..];
                continue;
            }
            self.head.push(bytes[0]);
            bytes = &bytes[1..];
            let Some(size) = self.head.get(1..HEADER_SIZE) else {
                continue;
            };
            let size = size.try_into().map(u32::from_be_bytes).unwrap_or(0) as usize + 1;
            if self.head.len() < size.min(HEAD_SIZE) {
                continue;
            }
            self.left = size.saturating_sub(self.head.len());
            let head = std::mem::take(&mut self.head);
            if head[0] == kind::AUTHENTICATION {
                self.check(&head[HEADER_SIZE..])?;
            }
        }
        Ok(())
    }

    /// `code` is what an Authentication message begins with.
    fn check(&mut self, code: &[u8]) -> io::Result<()> {
        match <[u8; 4]>::try_from(code).unwrap_or([u8::MAX; 4]) {
            OK => self.is_in = true,
            SASL | SASL_CONTINUE | SASL_FINAL => {}
            _ => {
                return Err(io::Error::other(
                    "the server asks for a password otherwise than by SCRAM-SHA-256, and gets none",
                ));
            }
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.look(&buffer.filled()[before..]))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(code: u32, rest: &[u8]) -> Vec<u8> {
        let size = 8 + rest.len() as u32;
        let parts = [&b"R"[..], &size.to_be_bytes(), &code.to_be_bytes(), rest];
        parts.concat()
    }

    /// Whether what a server says is taken, however it is cut.
    fn is_taken(said: &[u8]) -> bool {
        let taken = |size: usize| {
            let mut guarded = Guarded::new(());
            said.chunks(size).all(|part| guarded.look(part).is_ok())
        };
        let whole = taken(said.len());
        assert!((1..said.len()).all(|size| taken(size) == whole));
        whole
    }

    #[test]
    fn no_server_gets_a_password_but_by_scram() {
        let notice = b"N\0\0\0\x05\0";
        let scram = [
            &notice[..],
            &message(10, b"SCRAM-SHA-256\0\0"),
            &message(11, b"r=x"),
            &message(12, b"v=x"),
            &message(0, b""),
            // Rows may hold anything.
            &message(3, b""),
        ];
        assert!(is_taken(&scram.concat()));
        assert!(is_taken(&message(0, b"")));
        for code in [2, 3, 5, 6, 7, 8, 9, 13] {
            let asked = [&notice[..], &message(code, b"salt")].concat();
            assert!(!is_taken(&asked), "{code}");
        }
    }
}
