//! Bytes that wait to be sent to one side.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncWrite, ReadBuf};

/// Sent bytes stay in the buffer up to this size: moving the rest costs more than it frees.
const SENT_SIZE_MIN: usize = 64 * 1024;
/// A buffer with more memory than this is shrunk when little of it is used.
const SPARE_SIZE_MAX: usize = 1024 * 1024;

/// Bytes that wait to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Bytes already sent, then bytes that wait. New bytes are appended.
    pub bytes: Vec<u8>,
    /// How many of the bytes are already sent.
    sent: usize,
    /// Whether bytes were written since the last flush.
    is_unflushed: bool,
}

impl Outbox {
    /// How many bytes wait.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Sends as much as the writer takes. Ready(true): something was sent, and nothing is left.
    pub fn poll_send<W: AsyncWrite + Unpin>(
        &mut self,
        writer: &mut W,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        if self.bytes.is_empty() && !self.is_unflushed {
            return Poll::Ready(Ok(false));
        }
        while self.waiting() > 0 {
            let rest = &self.bytes[self.sent..];
            match Pin::new(&mut *writer).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(size)) => {
                    self.sent += size;
                    self.is_unflushed = true;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.drop_sent();
                    return Poll::Pending;
                }
            }
        }
        self.drop_sent();
        ready!(Pin::new(writer).poll_flush(context))?;
        self.is_unflushed = false;
        Poll::Ready(Ok(true))
    }

    /// Moves as many bytes as fit into a buffer that is read from.
    pub fn read_into(&mut self, buffer: &mut ReadBuf<'_>) {
        let size = self.waiting().min(buffer.remaining());
        buffer.put_slice(&self.bytes[self.sent..][..size]);
        self.sent += size;
        self.drop_sent();
    }

    /// Drops the sent bytes: when nothing waits, or when no more bytes must be moved than were
    /// sent. A reader that is slower than the writer may never empty the buffer.
    fn drop_sent(&mut self) {
        if self.waiting() == 0 {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent >= SENT_SIZE_MIN.max(self.waiting()) {
            self.bytes.drain(..self.sent);
            self.sent = 0;
            if self.bytes.capacity() > SPARE_SIZE_MAX.max(4 * self.bytes.len()) {
                self.bytes
                    .shrink_to(SPARE_SIZE_MAX.max(2 * self.bytes.len()));
            }
        }
    }

    /// Gives away the memory of an empty buffer.
    pub fn give_back(&mut self) -> Option<Vec<u8>> {
        let is_spare = self.bytes.is_empty() && self.bytes.capacity() > 0;
        is_spare.then(|| std::mem::take(&mut self.bytes))
    }

    /// Takes memory to write into, if it has none.
    pub fn lend(&mut self, memory: impl FnOnce() -> Vec<u8>) {
        if self.bytes.capacity() == 0 {
            self.bytes = memory();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Takes bytes up to a number, and no more before it is told another.
    #[derive(Default)]
    struct Slow {
        taken: Vec<u8>,
        room: usize,
        /// How often it is not flushed yet.
        flushes_pending: usize,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let size = self.room.min(bytes.len());
            if size == 0 {
                return Poll::Pending;
            }
            self.room -= size;
            self.taken.extend_from_slice(&bytes[..size]);
            Poll::Ready(Ok(size))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if self.flushes_pending == 0 {
                return Poll::Ready(Ok(()));
            }
            self.flushes_pending -= 1;
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// True: all is sent.
    fn send(outbox: &mut Outbox, writer: &mut Slow) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        match outbox.poll_send(writer, &mut context) {
            Poll::Ready(sent) => sent.expect("it fails never"),
            Poll::Pending => false,
        }
    }

    /// Bytes by which a place is told from another.
    fn pattern(start: usize, size: usize) -> impl Iterator<Item = u8> {
        (start..start + size).map(|place| (place / 251) as u8)
    }

    #[test]
    fn a_slow_reader_does_not_grow_the_buffer() {
        const PIECE: usize = 64 * 1024;
        const WAITING_MAX: usize = 4 * PIECE;
        const SIZE: usize = 8 << 20;
        let mut outbox = Outbox::default();
        let mut writer = Slow::default();
        let (mut written, mut longest, mut largest) = (0, 0, 0);
        while written < SIZE {
            while outbox.waiting() < WAITING_MAX {
                outbox.bytes.extend(pattern(written, PIECE));
                written += PIECE;
            }
            writer.room = 50_000;
            assert!(!send(&mut outbox, &mut writer), "there is always a rest");
            longest = longest.max(outbox.bytes.len());
            largest = largest.max(outbox.bytes.capacity());
        }
        assert!(longest <= 2 * (WAITING_MAX + PIECE), "{longest} bytes");
        assert!(largest <= 4 * (WAITING_MAX + PIECE), "{largest} bytes");
        writer.room = usize::MAX;
        assert!(send(&mut outbox, &mut writer));
        assert_eq!(writer.taken.len(), written);
        assert!(writer.taken.into_iter().eq(pattern(0, written)));
    }

    #[test]
    fn memory_of_a_long_message_is_freed_before_all_is_sent() {
        const SIZE: usize = 8 << 20;
        let mut outbox = Outbox::default();
        outbox.bytes.extend(pattern(0, SIZE));
        let mut writer = Slow::default();
        let mut waiting = outbox.waiting();
        while waiting > 1000 {
            writer.room = (waiting / 2).max(500);
            assert!(!send(&mut outbox, &mut writer));
            waiting = outbox.waiting();
        }
        let capacity = outbox.bytes.capacity();
        assert!(capacity <= 2 * SPARE_SIZE_MAX, "{capacity} bytes");
        writer.room = waiting;
        assert!(send(&mut outbox, &mut writer));
        assert!(writer.taken.into_iter().eq(pattern(0, SIZE)));
    }

    #[test]
    fn reading_piece_by_piece_while_more_comes_does_not_grow_the_buffer() {
        const PIECE: usize = 16 * 1024;
        let mut outbox = Outbox::default();
        outbox.bytes.extend(pattern(0, 4 * PIECE));
        let mut piece = vec![0; PIECE];
        for number in 0..1000 {
            let mut buffer = ReadBuf::new(&mut piece);
            outbox.read_into(&mut buffer);
            let read = buffer.filled().iter().copied();
            assert!(read.eq(pattern(number * PIECE, PIECE)));
            outbox.bytes.extend(pattern((number + 4) * PIECE, PIECE));
            assert_eq!(outbox.waiting(), 4 * PIECE);
            assert!(outbox.bytes.len() <= 8 * PIECE);
        }
    }

    #[test]
    fn a_pending_flush_is_retried() {
        let mut outbox = Outbox::default();
        let mut writer = Slow {
            flushes_pending: 2,
            ..Slow::default()
        };
        assert!(!send(&mut outbox, &mut writer), "nothing to flush");
        outbox.bytes.extend_from_slice(b"some");
        writer.room = 4;
        assert!(!send(&mut outbox, &mut writer));
        assert_eq!(outbox.waiting(), 0);
        assert!(!send(&mut outbox, &mut writer));
        assert!(send(&mut outbox, &mut writer), "the third time");
        assert!(!send(&mut outbox, &mut writer));
        assert_eq!(writer.taken, b"some");
    }
}
