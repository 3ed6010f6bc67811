//! The rollback journal (sqlite.org/fileformat2.html, section 3), classified write by write.
//!
//! A record is a page number (4 bytes), a page image and a checksum (4 bytes). The image is sealed.
//! The checksum is linear in the plaintext, so it is masked by a word of keystream from the image's
//! nonce. Headers and the record that names a super-journal contain nothing derived from content
//! and stay as SQLite writes them, with two exceptions. A header also gets a seal in the zeros
//! after its fields, because its page count tells SQLite how large to make the file. And the first
//! byte of the journal is zero on disk: by this byte stock SQLite decides whether there is
//! something to roll back. Otherwise it would cut the database to that page count, and delete the
//! journal.
//!
//! SQLite writes and reads the three parts of a record in order, with one call each; [`Cursor`]
//! follows these calls. It refuses whatever it does not recognise: a page image must not reach the
//! disk in clear because the calls came in an unexpected order.

/// The first bytes of a journal header.
pub const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// [`MAGIC`] at the start of a journal on disk. Headers further on have it as SQLite writes it.
const STORED_MAGIC: [u8; MAGIC.len()] = {
    let mut magic = MAGIC;
    magic[0] = 0;
    magic
};
/// Size of a header's fields; zeros follow up to the sector size.
pub const HEADER_FIELDS_SIZE: usize = 28;

/// Size of the seal after the fields: epoch (little-endian) and tag.
pub const HEADER_SEAL_SIZE: usize = 4 + HEADER_TAG_SIZE;
/// Half of an HMAC-SHA256, as RFC 2104 allows.
pub(crate) const HEADER_TAG_SIZE: usize = 16;

/// Changes the first bytes of a journal to what is stored.
pub fn store_start(start: &mut [u8]) {
    if start.starts_with(&MAGIC) {
        start[0] = STORED_MAGIC[0];
    }
}

/// Reverses [`store_start`]. Whoever wants to know the first byte must read as many bytes as the
/// magic has.
pub fn show_start(start: &mut [u8]) {
    if start.starts_with(&STORED_MAGIC) {
        start[0] = MAGIC[0];
    }
}

/// Fields and seal of a header, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header(pub [u8; HEADER_FIELDS_SIZE + HEADER_SEAL_SIZE]);

/// SQLite fills in magic and count when it syncs. The seal covers what SQLite writes at the start:
/// checksum seed, page count, sector size and page size.
const SEALED_FIELDS: std::ops::Range<usize> = 12..HEADER_FIELDS_SIZE;

impl Header {
    /// The header at the start of `data`, if there are enough bytes and the fields are those of a
    /// header.
    pub fn of(data: &[u8]) -> Option<Self> {
        let bytes = data.first_chunk::<{ HEADER_FIELDS_SIZE + HEADER_SEAL_SIZE }>()?;
        Some(Header(*bytes))
    }

    /// The fields that the seal covers.
    pub fn sealed_fields(&self) -> &[u8] {
        &self.0[SEALED_FIELDS]
    }

    /// The seal.
    pub fn seal(&self) -> &[u8] {
        &self.0[HEADER_FIELDS_SIZE..]
    }

    /// Page count of the database before the transaction; rollback restores this size.
    pub fn page_count(&self) -> u32 {
        let mut count = [0; 4];
        count.copy_from_slice(&self.0[16..20]);
        u32::from_be_bytes(count)
    }

    /// The size of the pages in the journal.
    pub fn page_size(&self) -> u32 {
        let mut size = [0; 4];
        size.copy_from_slice(&self.0[24..28]);
        u32::from_be_bytes(size)
    }

    /// Whether the header is valid without a seal: a database that had no pages had no key either.
    pub fn needs_no_seal(&self) -> bool {
        self.page_count() == 0 && self.seal().iter().all(|byte| *byte == 0)
    }
}

/// SQLite's lock byte: the journal has no image of the page that contains it
/// (sqlite.org/fileformat2.html, section 1.5).
const LOCK_BYTE: u64 = 0x4000_0000;

/// The part of the journal that a read or write covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing derived from content.
    Clear,
    /// A header with all its fields, and room for a seal after them.
    Header,
    /// The image of this page.
    Image(u32),
    /// The checksum after the image of this page.
    Checksum(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Anything,
    ImageAt(u64, u32),
    ChecksumAt(u64, u32),
    NameAt(u64),
}

/// Follows SQLite's calls on one open journal.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    expect: Expect,
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor {
            expect: Expect::Anything,
        }
    }
}

impl Cursor {
    /// The page whose image is to be written at this offset.
    pub fn image_at(&self, offset: u64) -> Option<u32> {
        match self.expect {
            Expect::ImageAt(at, page) if at == offset => Some(page),
            Expect::ImageAt(..) | Expect::Anything | Expect::ChecksumAt(..) | Expect::NameAt(_) => {
                None
            }
        }
    }

    /// Classifies a write of `data` at `offset`; `None` means that it must be refused. A page size
    /// of zero stands for a database without pages: it has no images, so a number can only
    /// introduce the name of a super-journal.
    pub fn write(&mut self, offset: u64, data: &[u8], page_size: u32) -> Option<Part> {
        let expect = std::mem::replace(&mut self.expect, Expect::Anything);
        if offset == 0 && data.len() < MAGIC.len() {
            // A zero over the first byte alone would change nothing on disk.
            return None;
        }
        match expect {
            Expect::ImageAt(at, page) if at == offset && data.len() == page_size as usize => {
                self.expect = Expect::ChecksumAt(offset + data.len() as u64, page);
                return Some(Part::Image(page));
            }
            Expect::ChecksumAt(at, page) if at == offset && data.len() == 4 => {
                return Some(Part::Checksum(page));
            }
            Expect::NameAt(at) if at == offset => return Some(Part::Clear),
            Expect::Anything | Expect::ImageAt(..) | Expect::ChecksumAt(..) | Expect::NameAt(_) => {
            }
        }
        if let Ok(number) = <[u8; 4]>::try_from(data) {
            self.expect_after_number(offset, u32::from_be_bytes(number), page_size);
            return Some(Part::Clear);
        }
        is_header_piece(data).then_some(match page_size {
            0 => Part::Clear,
            _ if data.len() < HEADER_FIELDS_SIZE + HEADER_SEAL_SIZE => Part::Clear,
            _ => Part::Header,
        })
    }

    /// Classifies a read of `length` bytes at `offset`. `number_before` reads the four bytes before
    /// `offset`: the page number, if this is an image.
    ///
    /// # Errors
    ///
    /// Those of `number_before`: without the number, an image could not be told from plaintext.
    pub fn read<E>(
        &mut self,
        offset: u64,
        length: usize,
        page_size: u32,
        number_before: impl FnOnce() -> Result<Option<u32>, E>,
    ) -> Result<Part, E> {
        let expect = std::mem::replace(&mut self.expect, Expect::Anything);
        Ok(match expect {
            Expect::ChecksumAt(at, page) if at == offset && length == 4 => Part::Checksum(page),
            Expect::Anything | Expect::ImageAt(..) | Expect::ChecksumAt(..) | Expect::NameAt(_) => {
                if page_size == 0 || length != page_size as usize {
                    return Ok(Part::Clear);
                }
                match number_before()? {
                    Some(page) if !is_lock_page(page, page_size) => {
                        self.expect = Expect::ChecksumAt(offset + length as u64, page);
                        Part::Image(page)
                    }
                    Some(_) | None => Part::Clear,
                }
            }
        })
    }

    fn expect_after_number(&mut self, offset: u64, page: u32, page_size: u32) {
        self.expect = if page_size == 0 || is_lock_page(page, page_size) {
            Expect::NameAt(offset + 4)
        } else {
            Expect::ImageAt(offset + 4, page)
        };
    }
}

fn is_lock_page(page: u32, page_size: u32) -> bool {
    u64::from(page) == LOCK_BYTE / u64::from(page_size) + 1
}

/// SQLite writes a header in pieces of up to a sector: the fields first, then zeros. Until the
/// journal is synced, it leaves magic and count zero.
fn is_header_piece(data: &[u8]) -> bool {
    let zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    data.len() <= HEADER_FIELDS_SIZE
        || ((data.starts_with(&MAGIC) || zero(&data[..MAGIC.len()]))
            && zero(&data[HEADER_FIELDS_SIZE..]))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn header() -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..8].copy_from_slice(&MAGIC);
        header[8..28].fill(3);
        header
    }

    #[test]
    fn follows_a_record() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.write(0, &header(), 512), Some(Part::Header));
        assert_eq!(
            cursor.write(512, &7u32.to_be_bytes(), 512),
            Some(Part::Clear)
        );
        assert_eq!(cursor.write(516, &[1; 512], 512), Some(Part::Image(7)));
        assert_eq!(cursor.write(1028, &[2; 4], 512), Some(Part::Checksum(7)));
        assert_eq!(
            cursor.write(1032, &8u32.to_be_bytes(), 512),
            Some(Part::Clear)
        );
        assert_eq!(cursor.write(1036, &header(), 512), Some(Part::Image(8)));
    }

    #[test]
    fn the_first_byte_of_a_journal_is_zero_on_disk() {
        let mut stored = header();
        store_start(&mut stored);
        assert_eq!(stored[0], 0);
        assert_eq!(stored[1..], header()[1..]);
        show_start(&mut stored);
        assert_eq!(stored, header());
        // A finished journal, and pieces that are too short to tell.
        for mut bytes in [vec![0; 28], MAGIC[..7].to_vec(), STORED_MAGIC[..7].to_vec()] {
            let before = bytes.clone();
            store_start(&mut bytes);
            show_start(&mut bytes);
            assert_eq!(bytes, before);
        }
        assert_eq!(Cursor::default().write(0, &[0], 512), None);
    }

    #[test]
    fn refuses_an_image_out_of_order() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.write(516, &[1; 512], 512), None);
        assert_eq!(
            cursor.write(512, &7u32.to_be_bytes(), 512),
            Some(Part::Clear)
        );
        assert_eq!(cursor.write(520, &[1; 512], 512), None);
        assert_eq!(
            cursor.write(512, &7u32.to_be_bytes(), 4096),
            Some(Part::Clear)
        );
        assert_eq!(cursor.write(516, &[1; 512], 4096), None);
    }

    #[test]
    fn knows_the_name_of_a_super_journal() {
        let mut cursor = Cursor::default();
        let lock_page = (LOCK_BYTE / 512 + 1) as u32;
        assert_eq!(
            cursor.write(512, &lock_page.to_be_bytes(), 512),
            Some(Part::Clear)
        );
        assert_eq!(cursor.write(516, &[b'n'; 512], 512), Some(Part::Clear));
        assert_eq!(cursor.write(1028, &[b'n'; 512], 512), None);
    }

    #[test]
    fn a_database_without_pages_may_name_a_super_journal() {
        let mut cursor = Cursor::default();
        let number = 262_145_u32.to_be_bytes();
        assert_eq!(cursor.write(512, &number, 0), Some(Part::Clear));
        assert_eq!(cursor.write(516, &[b'n'; 512], 0), Some(Part::Clear));
        assert_eq!(cursor.write(1028, &[b'n'; 512], 0), None);
    }

    #[test]
    fn a_database_without_pages_has_no_images_to_read() {
        let mut cursor = Cursor::default();
        for length in [0, 4, 512] {
            assert_eq!(read(&mut cursor, 516, length, 0, Some(7)), Part::Clear);
        }
    }

    #[test]
    fn reads_follow_writes() {
        let mut cursor = Cursor::default();
        assert_eq!(read(&mut cursor, 0, 8, 512, None), Part::Clear);
        assert_eq!(read(&mut cursor, 512, 4, 512, None), Part::Clear);
        assert_eq!(read(&mut cursor, 516, 512, 512, Some(7)), Part::Image(7));
        assert_eq!(read(&mut cursor, 1028, 4, 512, None), Part::Checksum(7));
        assert_eq!(read(&mut cursor, 1028, 4, 512, None), Part::Clear);
    }

    #[test]
    fn an_image_is_not_read_without_its_number() {
        let mut cursor = Cursor::default();
        let failed = cursor.read(516, 512, 512, || Err("the device fails"));
        assert_eq!(failed, Err("the device fails"));
        assert_eq!(read(&mut cursor, 1028, 4, 512, None), Part::Clear);
    }

    /// Classifies a read with a number that can always be read.
    fn read(
        cursor: &mut Cursor,
        offset: u64,
        length: usize,
        page_size: u32,
        number: Option<u32>,
    ) -> Part {
        let part = cursor.read(offset, length, page_size, || Ok::<_, Infallible>(number));
        part.expect("nothing fails")
    }
}
