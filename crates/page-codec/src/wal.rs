//! The write-ahead log (sqlite.org/fileformat2.html, section 4): a header, then frames.
//!
//! The log's header contains nothing derived from content. Only its version is another one on disk,
//! and its checksum that of these bytes. Stock SQLite finds no frame valid here. It would take the
//! log for an empty one and delete it; a version that it does not know is an error to it. In a
//! frame header, SQLite's two checksums are linear in the plaintext of all frames so far. They are
//! encrypted together with the salts as one block of AES-256-XTS, whose tweak consists of the
//! frame's index and the clear fields. A torn or altered header therefore decrypts to salts that
//! are not the log's, and SQLite ends its recovery there, as it would without encryption.

use crypto::mask::FieldMask;

/// Bytes before the first frame.
pub const HEADER_SIZE: u64 = 32;
/// Bytes before the page of a frame.
pub const FRAME_HEADER_SIZE: usize = OFFSET_MASKED + 16;

const LOG_VERSION: std::ops::Range<usize> = 4..8;
const LOG_CHECKSUM: std::ops::Range<usize> = 24..32;
/// The only version of the log that SQLite knows (sqlite.org/fileformat2.html 4.1).
const SQLITE_LOG_VERSION: u32 = 3_007_000;
/// The version in the header of a log on disk.
const STORED_LOG_VERSION: u32 = u32::from_be_bytes(*b"Str1");

const OFFSET_PAGE_NUMBER: usize = 0;
const OFFSET_DATABASE_SIZE: usize = OFFSET_PAGE_NUMBER + 4;
const OFFSET_MASKED: usize = OFFSET_DATABASE_SIZE + 4;

/// The header of a frame as stored.
pub const FRAME_HEADER_FIELDS: &[(usize, usize, &str)] = &[
    (OFFSET_PAGE_NUMBER, 4, "page number"),
    (OFFSET_DATABASE_SIZE, 4, "database size after commit"),
    (OFFSET_MASKED, 16, "salts and checksums, encrypted"),
];

/// The header of a log.
pub type LogHeader = [u8; HEADER_SIZE as usize];

/// The header of a frame as SQLite writes it.
pub type FrameHeader = [u8; FRAME_HEADER_SIZE];

/// What a byte range of the log contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Within the log's header.
    LogHeader,
    /// Begins at the header of this frame (from 0).
    FrameHeader(u64),
    /// Begins at the page of this frame.
    Page(u64),
    /// Within this frame, at this offset from its start.
    Inside(u64, u64),
}

impl Region {
    /// The frame that it belongs to; `None` for the log's header.
    pub fn frame(self) -> Option<u64> {
        match self {
            Region::LogHeader => None,
            Region::FrameHeader(index) | Region::Page(index) | Region::Inside(index, _) => {
                Some(index)
            }
        }
    }
}

/// Classifies the range at `offset` of a log with pages of `page_size` bytes.
pub fn region(offset: u64, page_size: u32) -> Region {
    if offset < HEADER_SIZE {
        return Region::LogHeader;
    }
    let frame_size = frame_size(page_size);
    let frame_index = (offset - HEADER_SIZE) / frame_size;
    match (offset - HEADER_SIZE) % frame_size {
        0 => Region::FrameHeader(frame_index),
        inside if inside == FRAME_HEADER_SIZE as u64 => Region::Page(frame_index),
        inside => Region::Inside(frame_index, inside),
    }
}

/// Bytes of a frame.
pub fn frame_size(page_size: u32) -> u64 {
    FRAME_HEADER_SIZE as u64 + u64::from(page_size)
}

/// Offset of a frame in the log.
pub fn frame_offset(frame_index: u64, page_size: u32) -> u64 {
    HEADER_SIZE + frame_index * frame_size(page_size)
}

/// The page number in a frame header, masked or not.
pub fn page_number(header: &FrameHeader) -> u32 {
    big_endian(header, OFFSET_PAGE_NUMBER)
}

/// Whether the frame ends a transaction: then its database size is not zero.
pub fn is_commit(header: &FrameHeader) -> bool {
    big_endian(header, OFFSET_DATABASE_SIZE) != 0
}

/// The salts in an unmasked frame header.
pub fn frame_salts(header: &FrameHeader) -> [u8; 8] {
    let mut salts = [0; 8];
    salts.copy_from_slice(&header[OFFSET_MASKED..OFFSET_MASKED + 8]);
    salts
}

/// The header of a log as it goes to disk; `None` if SQLite would not take what is given for one.
pub fn store_log_header(header: &LogHeader) -> Option<LogHeader> {
    with_version(header, SQLITE_LOG_VERSION, STORED_LOG_VERSION)
}

/// Reverses [`store_log_header`]. Whatever else is on disk stays as it is: SQLite takes a header
/// with a wrong checksum for that of an empty log, and refuses an unknown version.
pub fn show_log_header(stored: &LogHeader) -> LogHeader {
    with_version(stored, STORED_LOG_VERSION, SQLITE_LOG_VERSION).unwrap_or(*stored)
}

/// Replaces one version with another in a header whose checksum is right.
fn with_version(header: &LogHeader, from: u32, to: u32) -> Option<LogHeader> {
    let is_right = header[LOG_CHECKSUM] == log_checksum(header);
    if !is_right || big_endian(header, LOG_VERSION.start) != from {
        return None;
    }
    let mut other = *header;
    other[LOG_VERSION].copy_from_slice(&to.to_be_bytes());
    let checksum = log_checksum(&other);
    other[LOG_CHECKSUM].copy_from_slice(&checksum);
    Some(other)
}

/// SQLite's checksum of the fields before it (sqlite.org/fileformat2.html 4.2).
fn log_checksum(header: &LogHeader) -> [u8; 8] {
    let word: fn([u8; 4]) -> u32 = match header[3] & 1 {
        1 => u32::from_be_bytes,
        _ => u32::from_le_bytes,
    };
    let (words, _) = header[..LOG_CHECKSUM.start].as_chunks::<4>();
    let (mut first, mut second) = (0_u32, 0_u32);
    for pair in words.chunks_exact(2) {
        first = first.wrapping_add(word(pair[0])).wrapping_add(second);
        second = second.wrapping_add(word(pair[1])).wrapping_add(first);
    }
    (u64::from(first) << 32 | u64::from(second)).to_be_bytes()
}

/// Page size and salts in the log's header, if it is valid.
pub fn log_header(bytes: &LogHeader) -> Option<(u32, [u8; 8])> {
    let magic = big_endian(bytes, 0);
    let page_size = big_endian(bytes, 8);
    let mut salts = [0; 8];
    salts.copy_from_slice(&bytes[16..24]);
    // sqlite.org/fileformat2.html 4.1: the lowest bit of the magic gives the byte order of the
    // checksums.
    (magic & !1 == 0x377f_0682 && crate::header::is_page_size(page_size))
        .then_some((page_size, salts))
}

/// Encrypts salts and checksums of a frame header in place.
pub fn mask(mask: &FieldMask, frame_index: u64, header: &mut FrameHeader) {
    let tweak = tweak(frame_index, header);
    with_block(header, |block| mask.encrypt_block(tweak, block));
}

/// Reverses [`mask`]. Altered bytes decrypt to noise, which SQLite detects by the salts.
pub fn unmask(mask: &FieldMask, frame_index: u64, header: &mut FrameHeader) {
    let tweak = tweak(frame_index, header);
    with_block(header, |block| mask.decrypt_block(tweak, block));
}

/// Changes an unmasked header so that SQLite takes it for the end of the log.
pub fn invalidate(header: &mut FrameHeader, log_salts: [u8; 8]) {
    for (byte, salt) in header[OFFSET_MASKED..OFFSET_MASKED + 8]
        .iter_mut()
        .zip(log_salts)
    {
        *byte = !salt;
    }
}

fn with_block(header: &mut FrameHeader, change: impl FnOnce(&mut [u8; 16])) {
    let mut block = [0; 16];
    block.copy_from_slice(&header[OFFSET_MASKED..]);
    change(&mut block);
    header[OFFSET_MASKED..].copy_from_slice(&block);
}

fn tweak(frame_index: u64, header: &FrameHeader) -> [u8; 16] {
    let mut tweak = [0; 16];
    tweak[..8].copy_from_slice(&frame_index.to_le_bytes());
    tweak[8..].copy_from_slice(&header[..OFFSET_MASKED]);
    tweak
}

fn big_endian(bytes: &[u8], offset: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_be_bytes(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::secret::Key;

    #[test]
    fn regions() {
        assert_eq!(region(0, 4096), Region::LogHeader);
        assert_eq!(region(24, 4096), Region::LogHeader);
        assert_eq!(region(32, 4096), Region::FrameHeader(0));
        assert_eq!(region(56, 4096), Region::Page(0));
        assert_eq!(region(57, 4096), Region::Inside(0, 25));
        assert_eq!(region(frame_offset(3, 512), 512), Region::FrameHeader(3));
        assert_eq!(region(frame_offset(3, 512) + 24, 512), Region::Page(3));
    }

    /// The header of a log of stock SQLite.
    fn header_of_sqlite(big_endian: bool) -> LogHeader {
        let mut header = [0; 32];
        let fields = [
            0x377f_0682 | u32::from(big_endian),
            3_007_000,
            4096,
            5,
            6,
            7,
        ];
        for (room, field) in header.chunks_exact_mut(4).zip(fields) {
            room.copy_from_slice(&field.to_be_bytes());
        }
        let checksum = log_checksum(&header);
        header[LOG_CHECKSUM].copy_from_slice(&checksum);
        header
    }

    #[test]
    fn the_header_of_a_log_has_another_version_on_disk() {
        for big_endian in [false, true] {
            let header = header_of_sqlite(big_endian);
            let stored = store_log_header(&header).expect("a header");
            assert_eq!(stored[LOG_VERSION], *b"Str1");
            assert_eq!(stored[LOG_CHECKSUM], log_checksum(&stored));
            assert_eq!(log_header(&stored), log_header(&header));
            assert_eq!(show_log_header(&stored), header);
            assert_eq!(store_log_header(&stored), None);
            for offset in 0..stored.len() {
                let mut torn = stored;
                torn[offset] ^= 1;
                assert_eq!(show_log_header(&torn), torn, "{offset}");
            }
        }
    }

    #[test]
    fn masking_hides_checksums_and_binds_the_place() {
        let mask_key = FieldMask::new(&Key::from_bytes([1; 32]));
        let mut header: FrameHeader = std::array::from_fn(|index| index as u8);
        let clear = header;
        mask(&mask_key, 4, &mut header);
        assert_eq!(header[..8], clear[..8]);
        assert_ne!(header[8..16], clear[8..16]);
        assert_ne!(header[16..], clear[16..]);
        let mut moved = header;
        unmask(&mask_key, 5, &mut moved);
        assert_ne!(frame_salts(&moved), frame_salts(&clear));
        let mut renumbered = header;
        renumbered[3] ^= 1;
        unmask(&mask_key, 4, &mut renumbered);
        assert_ne!(frame_salts(&renumbered), frame_salts(&clear));
        unmask(&mask_key, 4, &mut header);
        assert_eq!(header, clear);
    }
}
