//! Memory for what is read and sent: the thread's for reading, little of each connection's own.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use session_core::Outbox;
use tokio::io::{AsyncRead, ReadBuf};

/// What one read takes at most, and what one write hands on.
pub(crate) const PIECE_SIZE: usize = 64 * 1024;
/// Memory that a connection keeps for what it is sent or sends next; more is given back.
const KEPT_SIZE_MAX: usize = 16 * 1024;

thread_local! {
    /// Taken while a read goes on: memory for reading is the thread's, not the connection's.
    static PIECE: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Reads once, and hands over what came: no bytes at the end.
pub(crate) fn read_piece<S: AsyncRead + Unpin, T>(
    stream: &mut S,
    context: &mut Context<'_>,
    take: impl FnOnce(io::Result<&[u8]>) -> T,
) -> Poll<T> {
    let mut piece = PIECE
        .take()
        .unwrap_or_else(|| vec![0; PIECE_SIZE].into_boxed_slice());
    let mut buffer = ReadBuf::new(&mut piece);
    let read = Pin::new(stream).poll_read(context, &mut buffer);
    let taken = read.map(|read| take(read.map(|()| buffer.filled())));
    PIECE.set(Some(piece));
    taken
}

/// What one connection needed once need not stay its own.
pub(crate) fn shrink(outbox: &mut Outbox) {
    if outbox.bytes.capacity() > KEPT_SIZE_MAX {
        drop(outbox.give_back());
    }
}
