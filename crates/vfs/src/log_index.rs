//! The index of the log in shared memory, held against what is known of it.
//!
//! SQLite learns from the index's header how far the log goes (sqlite.org/walformat.html 2.1), and
//! nothing vouches for the header: whoever writes a lower number there takes the last transactions
//! back, and the next writer overwrites them. Within one log, which its salts name, the number
//! never falls. So where the database keeps versions, a connection remembers it.

/// Bytes of one of the two copies of the index's header.
const COPY_SIZE: usize = 48;
pub(crate) const HEADER_SIZE: usize = 2 * COPY_SIZE;

const IS_INITIALISED: usize = 12;
const FRAME_COUNT: usize = 16;
const SALTS: usize = 32;

/// How far a log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    salts: [u8; 8],
    pub frames: u32,
}

impl LogEnd {
    /// What the header tells; nothing while it is being written.
    pub fn of(header: &[u8; HEADER_SIZE]) -> Option<Self> {
        let (first, second) = header.split_at(COPY_SIZE);
        if first != second || first[IS_INITIALISED] == 0 {
            return None;
        }
        let mut salts = [0; 8];
        salts.copy_from_slice(&first[SALTS..][..8]);
        let mut frames = [0; 4];
        frames.copy_from_slice(&first[FRAME_COUNT..][..4]);
        Some(LogEnd {
            salts,
            frames: u32::from_ne_bytes(frames),
        })
    }

    /// Whether another end of the same log lies behind this one.
    pub fn is_before(self, known: LogEnd) -> bool {
        self.salts == known.salts && self.frames < known.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(frames: u32, salt: u8) -> [u8; HEADER_SIZE] {
        let mut copy = [0; COPY_SIZE];
        copy[IS_INITIALISED] = 1;
        copy[FRAME_COUNT..][..4].copy_from_slice(&frames.to_ne_bytes());
        copy[SALTS..][..8].fill(salt);
        let mut header = [0; HEADER_SIZE];
        header[..COPY_SIZE].copy_from_slice(&copy);
        header[COPY_SIZE..].copy_from_slice(&copy);
        header
    }

    #[test]
    fn the_end_falls_in_another_log_only() {
        let end = |frames, salt| LogEnd::of(&header(frames, salt)).expect("whole");
        assert!(end(4, 1).is_before(end(5, 1)));
        assert!(!end(5, 1).is_before(end(5, 1)));
        assert!(!end(0, 2).is_before(end(5, 1)));
    }

    #[test]
    fn a_header_under_a_writers_hands_tells_nothing() {
        let mut header = header(4, 1);
        header[FRAME_COUNT] ^= 1;
        assert_eq!(LogEnd::of(&header), None);
    }
}
