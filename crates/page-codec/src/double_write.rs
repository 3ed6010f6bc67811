//! The double-write file: pages that are about to be resealed in place, in their final form.
//!
//! A page that is written in place can be torn by a power cut, and SQLite's journal does not hold
//! it, since its content does not change. So each batch is written to this file and synced before
//! it is written in place, and a torn page is restored from here. The file needs no checksum: a
//! page that opens is whole, and a batch whose file is incomplete was never written in place.

use crate::page::TRAILER_SIZE;

/// Appended to the database's name to form the file's name.
pub const SUFFIX: &str = "-rekey";

/// The first bytes of the file.
pub const MAGIC: [u8; 16] = *b"Strongroom rk\r\n\x1a";

const OFFSET_MAGIC: usize = 0;
const OFFSET_FILE_ID: usize = OFFSET_MAGIC + 16;
const OFFSET_PAGE_SIZE: usize = OFFSET_FILE_ID + 16;
const OFFSET_COUNT: usize = OFFSET_PAGE_SIZE + 4;

/// Bytes before the first record.
pub const HEADER_SIZE: usize = OFFSET_COUNT + 4;

/// The header of the file.
pub const HEADER_FIELDS: &[(usize, usize, &str)] = &[
    (OFFSET_MAGIC, 16, "magic"),
    (OFFSET_FILE_ID, 16, "file id"),
    (OFFSET_PAGE_SIZE, 4, "page size"),
    (OFFSET_COUNT, 4, "number of records"),
];

const RECORD_NUMBER: usize = 0;
const RECORD_ZERO: usize = RECORD_NUMBER + 4;
const RECORD_PAGE: usize = RECORD_ZERO + 4;

/// The fields of a record before its page.
pub const RECORD_FIELDS: &[(usize, usize, &str)] =
    &[(RECORD_NUMBER, 4, "page number"), (RECORD_ZERO, 4, "zero")];

/// Builds the content of the file.
pub struct Builder {
    bytes: Vec<u8>,
    page_size: usize,
    count: u32,
}

impl Builder {
    /// An empty file for this database.
    pub fn new(file_id: &[u8; 16], page_size: u32) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(file_id);
        bytes.extend_from_slice(&page_size.to_le_bytes());
        bytes.extend_from_slice(&0_u32.to_le_bytes());
        Builder {
            bytes,
            page_size: page_size as usize,
            count: 0,
        }
    }

    /// Appends room for a sealed page, which the caller fills.
    pub fn push(&mut self, page_number: u32) -> &mut [u8] {
        self.count += 1;
        self.bytes[OFFSET_COUNT..HEADER_SIZE].copy_from_slice(&self.count.to_le_bytes());
        self.bytes.extend_from_slice(&page_number.to_le_bytes());
        self.bytes
            .extend_from_slice(&[0; RECORD_PAGE - RECORD_ZERO]);
        let start = self.bytes.len();
        self.bytes.resize(start + self.page_size, 0);
        &mut self.bytes[start..]
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The content of the whole file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Page numbers and sealed pages.
    pub fn records(&self) -> impl Iterator<Item = (u32, &[u8])> {
        records_of(&self.bytes[HEADER_SIZE..], self.page_size)
    }
}

/// Page numbers and sealed pages in `bytes`, if the file belongs to this database. An incomplete
/// record at the end is skipped.
pub fn records<'a>(
    bytes: &'a [u8],
    file_id: &[u8; 16],
    page_size: u32,
) -> impl Iterator<Item = (u32, &'a [u8])> {
    let fits = bytes.len() >= HEADER_SIZE
        && page_size as usize > TRAILER_SIZE
        && bytes[..OFFSET_FILE_ID] == MAGIC
        && bytes[OFFSET_FILE_ID..OFFSET_PAGE_SIZE] == file_id[..]
        && bytes[OFFSET_PAGE_SIZE..OFFSET_COUNT] == page_size.to_le_bytes();
    let body = if fits { &bytes[HEADER_SIZE..] } else { &[] };
    let count = if fits {
        little_endian(&bytes[OFFSET_COUNT..])
    } else {
        0
    };
    records_of(body, page_size as usize).take(count as usize)
}

fn records_of(body: &[u8], page_size: usize) -> impl Iterator<Item = (u32, &[u8])> {
    body.chunks_exact(RECORD_PAGE + page_size)
        .map(|record| (little_endian(record), &record[RECORD_PAGE..]))
}

fn little_endian(bytes: &[u8]) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[..4]);
    u32::from_le_bytes(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Builder {
        let mut builder = Builder::new(&[7; 16], 512);
        builder.push(3).fill(1);
        builder.push(9).fill(2);
        builder
    }

    #[test]
    fn pushed_records_are_read_back() {
        let file = file();
        let expected = [(3, &[1; 512][..]), (9, &[2; 512][..])];
        assert!(records(file.bytes(), &[7; 16], 512).eq(expected));
        assert!(file.records().eq(expected));
    }

    #[test]
    fn another_file_and_another_page_size_have_none() {
        let file = file();
        assert_eq!(records(file.bytes(), &[8; 16], 512).count(), 0);
        assert_eq!(records(file.bytes(), &[7; 16], 1024).count(), 0);
        assert_eq!(records(&file.bytes()[1..], &[7; 16], 512).count(), 0);
        assert_eq!(records(&[], &[7; 16], 512).count(), 0);
    }

    #[test]
    fn a_cut_file_has_its_whole_records() {
        let file = file();
        for size in 0..file.bytes().len() {
            let whole = size.saturating_sub(HEADER_SIZE) / (RECORD_PAGE + 512);
            assert_eq!(records(&file.bytes()[..size], &[7; 16], 512).count(), whole);
        }
    }

    #[test]
    fn records_behind_the_count_are_not_of_this_batch() {
        let mut bytes = file().bytes().to_vec();
        bytes[OFFSET_COUNT] = 1;
        assert_eq!(records(&bytes, &[7; 16], 512).count(), 1);
    }
}
