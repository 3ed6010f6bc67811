//! A socket of the server, watched for what comes in, and for room to write only while there is
//! none.
//!
//! The kernel reports room each time that the server has read something. A runtime that watches for
//! both is woken twice for each question.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A socket that the runtime of its task watches.
#[derive(Debug)]
pub struct Socket(AsyncFd<UnixStream>);

impl Socket {
    /// Has the current runtime watch a socket that does not block.
    ///
    /// # Errors
    /// The runtime cannot.
    pub fn new(socket: UnixStream) -> io::Result<Self> {
        watched(socket, Interest::READABLE).map(Self)
    }

    /// Connects to a socket of the file system.
    ///
    /// # Errors
    /// Nobody listens there.
    pub async fn connect(path: &Path) -> io::Result<Self> {
        // The result does not block.
        Self::new(tokio::net::UnixStream::connect(path).await?.into_std()?)
    }

    /// The socket, without a runtime.
    pub fn into_std(self) -> UnixStream {
        self.0.into_inner()
    }

    /// Sends all of the bytes.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.0.get_ref().write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => bytes = &bytes[size..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.room().await?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn room(&self) -> io::Result<()> {
        let again = watched(self.0.get_ref().try_clone()?, Interest::WRITABLE)?;
        again.writable().await?.clear_ready();
        Ok(())
    }

    /// Waits for bytes. 0: the server has closed.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut guard = self.0.readable().await?;
            let read = guard.try_io(|socket| socket.get_ref().read(buffer));
            match read {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
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

/// Whether a connection that nothing was asked on is still open, and has said nothing: a server
/// that ends one says why.
pub fn is_silent(socket: &UnixStream) -> bool {
    let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
    recv(socket.as_raw_fd(), &mut [0], flags) == Err(Errno::EAGAIN)
}
