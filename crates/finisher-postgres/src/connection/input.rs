//! Messages of the server, as they come in.

use std::io;

use finisher_core::Socket;
use wire_postgres::{FrameError, HEADER_SIZE, Header, Malformed, backend};
use zeroize::{Zeroize, Zeroizing};

/// What is read at a time.
const SIZE: usize = 32 << 10;
/// What is kept between questions, after a longer message.
const KEPT_SIZE_MAX: usize = 256 << 10;

/// Why no message comes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// The socket.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// The server has closed it.
    #[error("the server has closed the connection")]
    Closed,
    /// A row is longer than is accepted.
    #[error("a row is longer than is accepted")]
    LongRow,
    /// What comes is no message, or longer than the protocol allows.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// What a message holds is not what its kind says.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Bytes that were read and not yet taken. All are wiped when it is dropped.
pub(super) struct Input {
    bytes: Zeroizing<Vec<u8>>,
    start: usize,
    end: usize,
    /// How much of the memory was ever used since it was wiped.
    used: usize,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The bytes are plaintext.
        write!(f, "Input({} bytes)", self.end - self.start)
    }
}

/// A message, with its header.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) kind: u8,
    pub(super) whole: &'a [u8],
}

impl<'a> Message<'a> {
    pub(super) fn body(&self) -> &'a [u8] {
        &self.whole[HEADER_SIZE..]
    }
}

/// The size of a message that is no row.
const MESSAGE_SIZE_MAX: usize = 16 << 20;

fn is_row(header: Header) -> bool {
    header.kind == backend::kind::DATA_ROW
}

impl Input {
    pub(super) fn new() -> Self {
        Self {
            bytes: Zeroizing::new(vec![0; SIZE]),
            start: 0,
            end: 0,
            used: 0,
        }
    }

    /// The next message. A DataRow may have `row_size_max` bytes, any other message that many or
    /// [`MESSAGE_SIZE_MAX`]: errors quote values, and trees have the query's constants.
    pub(super) async fn next(
        &mut self,
        socket: &mut Socket,
        row_size_max: usize,
    ) -> Result<Message<'_>, InputError> {
        let header = loop {
            let unread = &self.bytes[self.start..self.end];
            let size_max = |header| match is_row(header) {
                true => row_size_max,
                false => row_size_max.max(MESSAGE_SIZE_MAX),
            };
            match Header::read(unread, backend::LENGTH_MAX)? {
                Some(header) if header.size > size_max(header) => {
                    return Err(InputError::LongRow);
                }
                Some(header) if header.size <= unread.len() => break header,
                Some(header) => self.fill(socket, header.size).await?,
                None => self.fill(socket, HEADER_SIZE).await?,
            }
        };
        let at = self.start;
        self.start += header.size;
        Ok(Message {
            kind: header.kind,
            whole: &self.bytes[at..self.start],
        })
    }

    /// Reads until so many bytes are there.
    async fn fill(&mut self, socket: &mut Socket, size: usize) -> Result<(), InputError> {
        if self.start + size > self.bytes.len() || self.start == self.end {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if size > self.bytes.len() {
            // Growing in place would leave copies behind that nobody wipes.
            let mut grown = Zeroizing::new(vec![0; size]);
            grown[..self.end].copy_from_slice(&self.bytes[..self.end]);
            self.bytes = grown;
        }
        while self.end - self.start < size {
            let read = socket.read(&mut self.bytes[self.end..]).await?;
            if read == 0 {
                return Err(InputError::Closed);
            }
            self.end += read;
            self.used = self.used.max(self.end);
        }
        Ok(())
    }

    /// Whether everything was taken. Then what was read is wiped, and memory is given back that a
    /// long message needed.
    pub(super) fn is_empty(&mut self) -> bool {
        let is_empty = self.start == self.end;
        if is_empty && self.bytes.len() > KEPT_SIZE_MAX {
            *self = Self::new();
        }
        if is_empty {
            self.bytes[..self.used].zeroize();
            (self.start, self.end, self.used) = (0, 0, 0);
        }
        is_empty
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn what_was_read_is_wiped_once_it_is_taken() {
        let (mut server, own) = UnixStream::pair().expect("sockets");
        own.set_nonblocking(true).expect("its mode is set");
        let mut socket = Socket::new(own).expect("watched");
        let mut input = Input::new();
        for size in [100, 40_000, 100] {
            let length = u32::try_from(size + 4).expect("small").to_be_bytes();
            let message = [&b"D"[..], &length, &vec![b'x'; size]].concat();
            server.write_all(&message).expect("sent");
            let taken = input.next(&mut socket, usize::MAX).await.expect("it came");
            assert_eq!(taken.whole, message);
            assert!(input.bytes.contains(&b'x'));
            assert!(input.is_empty());
            assert!(input.bytes.iter().all(|&byte| byte == 0), "{size}");
        }
    }
}
