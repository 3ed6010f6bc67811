//! The header of the WAL index in shared memory, compared with what this connection knows.
//!
//! SQLite learns from this header where the log ends (sqlite.org/walformat.html 2.1), and the
//! header is not authenticated. Whoever writes a lower number there undoes the last transactions,
//! and the next writer overwrites them. Within one log, identified by its salts, the number never
//! falls. So, if the database keeps versions, a connection remembers it.

/// Size of one of the two copies of the index's header.
const COPY_SIZE: usize = 48;
pub(crate) const HEADER_SIZE: usize = 2 * COPY_SIZE;

const IS_INITIALISED: usize = 12;
const FRAME_COUNT: usize = 16;
const SALTS: usize = 32;

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    salts: [u8; 8],
    pub frames: u32,
}

impl LogEnd {
    /// Reads it from the header; `None` while the header is being written.
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

    /// Whether `known` is a later end of the same log.
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
    fn a_header_being_written_is_ignored() {
        let mut header = header(4, 1);
        header[FRAME_COUNT] ^= 1;
        assert_eq!(LogEnd::of(&header), None);
    }
}
