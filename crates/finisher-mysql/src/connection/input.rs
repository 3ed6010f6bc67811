//! Packets of the server, as they come in.

use std::io;

use finisher_core::Socket;
use wire_mysql::packet::{Extent, PacketError};
use zeroize::{Zeroize, Zeroizing};

/// What is read at a time.
const SIZE: usize = 32 << 10;

/// Why no packet comes.
#[derive(Debug)]
pub(super) enum InputError {
    /// The socket, or its end.
    Socket(io::Error),
    /// The packet is larger than this.
    TooLarge(usize),
    /// It is no packet.
    Malformed,
}

/// Bytes that were read and not taken.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Zeroizing<Vec<u8>>,
    /// What was taken of them.
    start: usize,
}

impl Input {
    /// Whether everything was taken.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// The next payload.
    pub(super) async fn next(
        &mut self,
        socket: &mut Socket,
        size_max: usize,
    ) -> Result<Zeroizing<Vec<u8>>, InputError> {
        loop {
            let waiting = &self.bytes[self.start..];
            match Extent::read(waiting, size_max) {
                Ok(Some(extent)) => {
                    let mut joined = Zeroizing::new(Vec::new());
                    let payload = extent.payload(waiting, &mut joined).to_vec();
                    self.take(extent.size());
                    return Ok(Zeroizing::new(payload));
                }
                Ok(None) => self.fill(socket).await?,
                Err(PacketError::TooLarge { size_max }) => {
                    return Err(InputError::TooLarge(size_max));
                }
                Err(_) => return Err(InputError::Malformed),
            }
        }
    }

    /// Wipes what was taken, once all is.
    fn take(&mut self, size: usize) {
        self.start += size;
        if self.is_empty() {
            self.bytes.as_mut_slice().zeroize();
            self.bytes.clear();
            self.start = 0;
        }
    }

    async fn fill(&mut self, socket: &mut Socket) -> Result<(), InputError> {
        let waiting = self.bytes.len() - self.start;
        if self.bytes.capacity() - self.bytes.len() < SIZE {
            // Growing in place would leave copies behind that nobody wipes.
            let mut grown = Zeroizing::new(Vec::with_capacity(2 * waiting + 2 * SIZE));
            grown.extend_from_slice(&self.bytes[self.start..]);
            (self.bytes, self.start) = (grown, 0);
        }
        let end = self.bytes.len();
        self.bytes.resize(end + SIZE, 0);
        let read = socket.read(&mut self.bytes[end..]).await;
        self.bytes.truncate(end + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(InputError::Socket(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(()),
            Err(error) => Err(InputError::Socket(error)),
        }
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
        let mut input = Input::default();
        for size in [100_usize, 40_000, 100] {
            let length = u32::try_from(size).expect("small").to_le_bytes();
            let message = [&length[..3], &[0], &vec![b'x'; size]].concat();
            server.write_all(&message).expect("sent");
            let taken = input.next(&mut socket, usize::MAX).await.expect("it came");
            assert_eq!(*taken, vec![b'x'; size]);
            assert!(input.is_empty() && input.bytes.is_empty());
        }
    }

    #[tokio::test]
    async fn a_packet_that_is_too_large_is_an_error_before_it_is_there() {
        let (mut server, own) = UnixStream::pair().expect("sockets");
        own.set_nonblocking(true).expect("its mode is set");
        let mut socket = Socket::new(own).expect("watched");
        server.write_all(&[0, 1, 0, 0]).expect("sent");
        let read = Input::default().next(&mut socket, 255).await;
        assert!(matches!(read, Err(InputError::TooLarge(255))));
    }
}
