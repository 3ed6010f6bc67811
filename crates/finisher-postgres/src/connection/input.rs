//! Messages of the server, as they come in.

use std::io;

use wire_postgres::{FrameError, HEADER_SIZE, Header, Malformed, backend};

use super::socket::Socket;

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

/// Bytes that were read and not yet taken.
#[derive(Debug)]
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
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

fn is_row(header: Header) -> bool {
    header.kind == backend::kind::DATA_ROW
}

impl Input {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; SIZE],
            start: 0,
            end: 0,
        }
    }

    /// The next message. A DataRow may have `row_size_max` bytes, any other message as many as the
    /// protocol allows.
    pub(super) async fn next(
        &mut self,
        socket: &mut Socket,
        row_size_max: usize,
    ) -> Result<Message<'_>, InputError> {
        let header = loop {
            let unread = &self.bytes[self.start..self.end];
            match Header::read(unread, backend::LENGTH_MAX)? {
                Some(header) if is_row(header) && header.size > row_size_max => {
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
            self.bytes.resize(size, 0);
        }
        while self.end - self.start < size {
            let read = socket.read(&mut self.bytes[self.end..]).await?;
            if read == 0 {
                return Err(InputError::Closed);
            }
            self.end += read;
        }
        Ok(())
    }

    /// Whether everything was taken. Gives memory back that a long message needed.
    pub(super) fn is_empty(&mut self) -> bool {
        let is_empty = self.start == self.end;
        if is_empty && self.bytes.len() > KEPT_SIZE_MAX {
            *self = Self::new();
        }
        is_empty
    }
}
