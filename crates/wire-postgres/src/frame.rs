//! Message framing: one type byte, followed by the length, which includes itself.

/// Size of type byte and length.
pub const HEADER_SIZE: usize = 5;

/// Type and size of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type byte.
    pub kind: u8,
    /// Size of the whole message, including type byte and length.
    pub size: usize,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length is smaller than the length field.
    #[error("invalid message length")]
    InvalidLength,
    /// The message is larger than allowed.
    #[error("a message of {size} bytes is larger than the {size_max} that are accepted")]
    TooLarge {
        /// The size given in the message.
        size: usize,
        /// The limit.
        size_max: usize,
    },
}

impl Header {
    /// The header at the start of `bytes`; `None` while it is incomplete.
    ///
    /// # Errors
    ///
    /// If the length is invalid. Message boundaries are then lost.
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
    fn a_header_is_read_as_soon_as_it_is_complete() {
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
