//! A socket of the file system that is watched for what comes in, and for room to write only while
//! there is none.
//!
//! The kernel reports room to write each time the other side has read something, also where there
//! was room before: Linux wakes whoever watches for it (`unix_write_space`). A proxy whose sockets
//! are watched for both, as tokio's are, would be woken twice for each message.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// A connected socket of the file system.
#[derive(Debug)]
pub struct LocalStream {
    /// Watched for what comes in.
    socket: AsyncFd<UnixStream>,
    /// The same socket, watched for room: while what is to be sent waits.
    room: Option<AsyncFd<UnixStream>>,
}

impl LocalStream {
    /// Connects to a socket.
    ///
    /// # Errors
    /// Nobody listens there.
    pub async fn connect(path: &Path) -> io::Result<Self> {
        let socket = tokio::net::UnixStream::connect(path).await?;
        Self::new(socket.into_std()?)
    }

    /// Of a connected socket.
    ///
    /// # Errors
    /// The system cannot watch it.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: watched(socket, Interest::READABLE)?,
            room: None,
        })
    }

    /// What an attempt to write came to. Err(WouldBlock): there is no room.
    fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.socket.get_ref().write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl Drop for LocalStream {
    /// A child of this process may have the descriptor, too: the other side is to see the end all
    /// the same. What was sent can still be read.
    fn drop(&mut self) {
        // It fails where the other side has gone.
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
    }
}

#[expect(
    deprecated,
    reason = "the other constructor is unsafe for types whose descriptor may change; that of a \
              socket of the standard library is the same until it is dropped"
)]
fn watched(socket: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    AsyncFd::with_interest(socket, interest)
}

impl AsyncRead for LocalStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.socket.poll_read_ready(context))?;
            let unfilled = buffer.initialize_unfilled();
            let wanted = unfilled.len();
            match guard.try_io(|socket| socket.get_ref().read(unfilled)) {
                Ok(Ok(size)) => {
                    // A short read took all there was. What comes later is reported again.
                    if 0 < size && size < wanted {
                        guard.clear_ready();
                    }
                    buffer.advance(size);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for LocalStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            if let Some(room) = &this.room {
                // Cleared before the attempt: room that comes afterwards is reported again.
                ready!(room.poll_write_ready(context))?.clear_ready();
            }
            match this.write_now(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if this.room.is_none() {
                        let socket = this.socket.get_ref().try_clone()?;
                        this.room = Some(watched(socket, Interest::WRITABLE)?);
                    }
                }
                result => {
                    if result.as_ref().is_ok_and(|&size| size == bytes.len()) {
                        this.room = None;
                    }
                    return Poll::Ready(result);
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.get_ref().shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// More than sockets take at once: writing waits for room again and again.
    #[test]
    fn what_waits_for_room_arrives() {
        const SIZE: usize = 8 << 20;
        let sent: Vec<u8> = (0..SIZE).map(|index| (index / 251) as u8).collect();
        let expected = sent.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (one, other) = UnixStream::pair().expect("two sockets");
            let mut one = LocalStream::new(one).expect("watched");
            let mut other = LocalStream::new(other).expect("watched");
            let write = async {
                // By pieces: between them nothing waits.
                for piece in sent.chunks(SIZE / 4) {
                    one.write_all(piece).await.expect("it takes bytes");
                }
                assert!(one.room.is_none(), "nothing waits, and room is watched for");
                one.shutdown().await.expect("it ends");
            };
            let read = async {
                let mut read = Vec::new();
                other.read_to_end(&mut read).await.expect("it has bytes");
                read
            };
            let ((), read) = tokio::join!(write, read);
            assert!(read == expected);
        });
    }

    #[test]
    fn an_end_of_the_other_side_is_seen() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (one, other) = UnixStream::pair().expect("two sockets");
            let mut one = LocalStream::new(one).expect("watched");
            drop(other);
            let mut buffer = [0; 8];
            assert_eq!(one.read(&mut buffer).await.expect("an end"), 0);
            let error = one.write_all(b"late").await.expect_err("nobody reads");
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        });
    }
}
