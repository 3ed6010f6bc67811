//! Where a message ends: after its kind, one byte, comes its length, which counts itself.

/// Bytes of kind and length.
pub const HEADER_SIZE: usize = 5;

/// Kind and size of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The byte that tells the kind.
    pub kind: u8,
    /// Size of the whole message, kind and length included.
    pub size: usize,
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length that does not even count itself.
    #[error("invalid message length")]
    InvalidLength,
    /// More than is accepted.
    #[error("a message of {size} bytes is larger than the {size_max} that are accepted")]
    TooLarge {
        /// As the message says.
        size: usize,
        /// The limit.
        size_max: usize,
    },
}

impl Header {
    /// The header at the start of `bytes`; None while it is not all there.
    ///
    /// # Errors
    /// A length that cannot be. What follows cannot be told apart then.
    #[inline]
    pub fn read(bytes: &[u8], size_max: usize) -> Result<Option<Self>, FrameError> {
        let Some(&[kind, a, b, c, d]) = bytes.first_chunk::<HEADER_SIZE>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]);
        if length < 4 || length > i32::MAX as u32 {
            return Err(FrameError::InvalidLength);
        }
        let size = 1 + length as usize;
        if size > size_max {
            return Err(FrameError::TooLarge { size, size_max });
        }
        Ok(Some(Self { kind, size }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_soon_as_it_is_there() {
        let message = [b'Q', 0, 0, 0, 6, b'x', 0];
        for size in 0..HEADER_SIZE {
            assert_eq!(Header::read(&message[..size], 100), Ok(None));
        }
        let header = Header {
            kind: b'Q',
            size: 7,
        };
        assert_eq!(Header::read(&message[..HEADER_SIZE], 100), Ok(Some(header)));
        assert_eq!(Header::read(&message, 7), Ok(Some(header)));
        let too_large = FrameError::TooLarge {
            size: 7,
            size_max: 6,
        };
        assert_eq!(Header::read(&message, 6), Err(too_large));
    }

    #[test]
    fn lengths_that_cannot_be_are_errors() {
        for length in [0_u32, 3, 0x8000_0000, 0xffff_ffff] {
            let mut message = vec![b'Q'];
            message.extend(length.to_be_bytes());
            let found = Header::read(&message, usize::MAX);
            assert_eq!(found, Err(FrameError::InvalidLength), "{length}");
        }
    }
}
