//! The write-ahead log (sqlite.org/fileformat2.html, section 4): a header, then frames.
//!
//! The log's header contains nothing derived from content and stays as SQLite writes it. In a frame
//! header, SQLite's two checksums are linear in the plaintext of all frames so far. They are
//! encrypted together with the salts as one block of AES-256-XTS, whose tweak consists of the
//! frame's index and the clear fields. A torn or altered header therefore decrypts to salts that
//! are not the log's, and SQLite ends its recovery there, as it would without encryption.

use crypto::mask::FieldMask;

/// Bytes before the first frame.
pub const HEADER_SIZE: u64 = 32;
/// Bytes before the page of a frame.
pub const FRAME_HEADER_SIZE: usize = OFFSET_MASKED + 16;

const OFFSET_PAGE_NUMBER: usize = 0;
const OFFSET_DATABASE_SIZE: usize = OFFSET_PAGE_NUMBER + 4;
const OFFSET_MASKED: usize = OFFSET_DATABASE_SIZE + 4;

/// The header of a frame as stored.
pub const FRAME_HEADER_FIELDS: &[(usize, usize, &str)] = &[
    (OFFSET_PAGE_NUMBER, 4, "page number"),
    (OFFSET_DATABASE_SIZE, 4, "database size after commit"),
    (OFFSET_MASKED, 16, "salts and checksums, encrypted"),
];

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

/// Page size and salts in the log's header, if it is valid.
pub fn log_header(bytes: &[u8; HEADER_SIZE as usize]) -> Option<(u32, [u8; 8])> {
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
