//! Framing: three bytes of length and one of sequence number before at most 16 MiB - 1 bytes.
//!
//! A payload of 16 MiB - 1 bytes or more goes on in the next packet, and ends with the first packet
//! that is shorter, which may be empty. Sequence numbers begin at 0 with each command, count the
//! packets of both sides, and wrap around at 256.

/// Size of length and sequence number.
pub const HEADER_SIZE: usize = 4;

/// The most bytes behind one header; as many say that the payload goes on.
pub const PIECE_SIZE_MAX: usize = 0xff_ffff;

/// Length and sequence number of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// How many bytes follow.
    pub length: usize,
    /// The number of the packet within its command.
    pub sequence: u8,
}

/// A payload that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sequence number of its first packet.
    pub first_sequence: u8,
    /// How many packets it has.
    pub packets: usize,
    /// Its size without headers.
    pub payload_size: usize,
}

/// Why bytes are no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// A packet does not have the number behind that of the packet before.
    #[error("packets out of order: number {found} came in place of {expected}")]
    OutOfOrder {
        /// The number that it should have.
        expected: u8,
        /// The number that it has.
        found: u8,
    },
    /// The payload is larger than allowed.
    #[error("a payload of more than the {size_max} bytes that are accepted")]
    TooLarge {
        /// The limit.
        size_max: usize,
    },
}

impl Header {
    /// The header at the start of `bytes`; `None` while it is incomplete.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, sequence] = bytes.first_chunk::<HEADER_SIZE>()?;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        Some(Self { length, sequence })
    }

    /// Whether the payload goes on behind this packet.
    pub fn goes_on(&self) -> bool {
        self.length == PIECE_SIZE_MAX
    }
}

impl Extent {
    /// The payload at the start of `bytes`; `None` while it is incomplete.
    ///
    /// # Errors
    ///
    /// If it is larger than `size_max`, as soon as its headers say so, or if its packets do not
    /// follow one another.
    #[inline]
    pub fn read(bytes: &[u8], size_max: usize) -> Result<Option<Self>, PacketError> {
        let Some(first) = Header::read(bytes) else {
            return Ok(None);
        };
        let mut extent = Self {
            first_sequence: first.sequence,
            packets: 0,
            payload_size: 0,
        };
        let mut rest = bytes;
        loop {
            let Some(header) = Header::read(rest) else {
                return Ok(None);
            };
            let expected = extent.next_sequence();
            if header.sequence != expected {
                let found = header.sequence;
                return Err(PacketError::OutOfOrder { expected, found });
            }
            extent.packets += 1;
            extent.payload_size += header.length;
            if extent.payload_size > size_max {
                return Err(PacketError::TooLarge { size_max });
            }
            let Some(behind) = rest.get(HEADER_SIZE + header.length..) else {
                return Ok(None);
            };
            if !header.goes_on() {
                return Ok(Some(extent));
            }
            rest = behind;
        }
    }

    /// Its size with headers.
    pub fn size(&self) -> usize {
        self.payload_size + self.packets * HEADER_SIZE
    }

    /// The sequence number of the packet behind it.
    pub fn next_sequence(&self) -> u8 {
        // Numbers wrap around, so the lowest byte of the count is all that matters.
        self.first_sequence.wrapping_add(self.packets as u8)
    }

    /// The payload, which begins `bytes`; it is put together in `joined` if it has several packets.
    #[inline]
    pub fn payload<'a>(&self, bytes: &'a [u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
        if self.packets == 1 {
            return &bytes[HEADER_SIZE..self.size()];
        }
        joined.clear();
        joined.reserve(self.payload_size);
        for packet in bytes[..self.size()].chunks(HEADER_SIZE + PIECE_SIZE_MAX) {
            joined.extend_from_slice(&packet[HEADER_SIZE..]);
        }
        joined
    }
}

/// Writes a payload in as many packets as it needs, and counts `sequence` on. `payload` appends
/// it.
#[inline]
pub fn write<R>(
    sequence: &mut u8,
    out: &mut Vec<u8>,
    payload: impl FnOnce(&mut Vec<u8>) -> R,
) -> R {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_SIZE]);
    let result = payload(out);
    let size = out.len() - start - HEADER_SIZE;
    if size < PIECE_SIZE_MAX {
        put_header(&mut out[start..], size, sequence);
    } else {
        let whole = out.split_off(start + HEADER_SIZE);
        out.truncate(start);
        let mut pieces = whole.chunks_exact(PIECE_SIZE_MAX);
        for piece in &mut pieces {
            put_piece(piece, sequence, out);
        }
        // Empty, if the last piece was full: that is how the payload ends.
        put_piece(pieces.remainder(), sequence, out);
    }
    result
}

/// Writes a payload that is there already.
pub fn write_bytes(payload: &[u8], sequence: &mut u8, out: &mut Vec<u8>) {
    write(sequence, out, |out| out.extend_from_slice(payload));
}

fn put_piece(piece: &[u8], sequence: &mut u8, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_SIZE]);
    put_header(&mut out[start..], piece.len(), sequence);
    out.extend_from_slice(piece);
}

fn put_header(at: &mut [u8], size: usize, sequence: &mut u8) {
    let [a, b, c, ..] = size.to_le_bytes();
    at[..HEADER_SIZE].copy_from_slice(&[a, b, c, *sequence]);
    *sequence = sequence.wrapping_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 3 * PIECE_SIZE_MAX;

    #[test]
    fn a_payload_is_found_as_soon_as_it_is_complete() {
        let mut out = Vec::new();
        write_bytes(b"select 1", &mut 7, &mut out);
        for size in 0..out.len() {
            assert_eq!(Extent::read(&out[..size], 100), Ok(None), "{size}");
        }
        let extent = Extent::read(&out, 100).unwrap().unwrap();
        assert_eq!((extent.first_sequence, extent.next_sequence()), (7, 8));
        assert_eq!(extent.payload(&out, &mut Vec::new()), b"select 1");
        assert_eq!(extent.size(), out.len());
        let behind = [&out[..], b"more"].concat();
        assert_eq!(Extent::read(&behind, 100), Ok(Some(extent)));
    }

    #[test]
    fn a_payload_of_full_packets_ends_with_a_shorter_one() {
        let sizes = [
            PIECE_SIZE_MAX - 1,
            PIECE_SIZE_MAX,
            PIECE_SIZE_MAX + 1,
            2 * PIECE_SIZE_MAX,
        ];
        for (size, packets) in sizes.into_iter().zip([1, 2, 2, 3]) {
            let payload: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
            let mut sequence = 255;
            let mut out = Vec::new();
            write_bytes(&payload, &mut sequence, &mut out);
            let extent = Extent::read(&out, LARGE).unwrap().unwrap();
            assert_eq!(extent.packets, packets, "{size}");
            assert_eq!(extent.next_sequence(), sequence);
            assert_eq!(extent.size(), out.len());
            assert_eq!(Extent::read(&out[..out.len() - 1], LARGE), Ok(None));
            assert!(extent.payload(&out, &mut Vec::new()) == payload, "{size}");
        }
    }

    #[test]
    fn a_payload_that_is_too_large_is_an_error_before_it_is_complete() {
        let too_large = Err(PacketError::TooLarge { size_max: 9 });
        assert_eq!(Extent::read(&[10, 0, 0, 0], 9), too_large);
        assert_eq!(Extent::read(&[9, 0, 0, 0], 9), Ok(None));
    }

    #[test]
    fn the_packets_of_a_payload_are_numbered() {
        let mut out = Vec::new();
        write_bytes(&vec![0; PIECE_SIZE_MAX], &mut 0, &mut out);
        let second = HEADER_SIZE + PIECE_SIZE_MAX;
        out[second + 3] = 5;
        let expected = PacketError::OutOfOrder {
            expected: 1,
            found: 5,
        };
        assert_eq!(Extent::read(&out, LARGE), Err(expected));
    }
}
