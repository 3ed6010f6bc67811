//! What waits to be sent to one side.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncWrite, ReadBuf};

/// Bytes that wait to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    /// All that was not sent as a whole; new bytes come to its end.
    pub bytes: Vec<u8>,
    /// How many of them are sent.
    sent: usize,
}

impl Outbox {
    /// How many bytes wait.
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Sends as much as the other side takes. Ready(true): something was sent, and nothing is left.
    pub fn poll_send<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut W,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        if self.bytes.is_empty() {
            return Poll::Ready(Ok(false));
        }
        while self.sent < self.bytes.len() {
            let rest = &self.bytes[self.sent..];
            match ready!(Pin::new(&mut *writer).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                size => self.sent += size,
            }
        }
        ready!(Pin::new(writer).poll_flush(context))?;
        self.bytes.clear();
        self.sent = 0;
        Poll::Ready(Ok(true))
    }

    /// Moves as much as there is room for to where it is read from.
    pub fn read_into(&mut self, buffer: &mut ReadBuf<'_>) {
        let size = self.waiting().min(buffer.remaining());
        buffer.put_slice(&self.bytes[self.sent..][..size]);
        self.sent += size;
        if self.waiting() == 0 {
            self.bytes.clear();
            self.sent = 0;
        }
    }

    /// Gives away the memory, where nothing waits in it.
    pub fn give_back(&mut self) -> Option<Vec<u8>> {
        let is_spare = self.bytes.is_empty() && self.bytes.capacity() > 0;
        is_spare.then(|| std::mem::take(&mut self.bytes))
    }

    /// Takes memory to write into.
    pub fn lend(&mut self, memory: impl FnOnce() -> Vec<u8>) {
        if self.bytes.capacity() == 0 {
            self.bytes = memory();
        }
    }
}
