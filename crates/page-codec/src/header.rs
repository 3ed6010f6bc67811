//! The header region: the first 8,192 bytes of an encrypted database, with two copies of the
//! header.
//!
//! Invariants:
//!
//! 1. A copy is *intact* if its magic, version and checksum are right. The checksum needs no key:
//!    it detects damage, and does not authenticate.
//! 2. Of two intact copies, the one with the higher generation is in force.
//! 3. A header is *authentic* only after its tag was verified with the master key; the keyring does
//!    that when it unlocks. Until then no field may be trusted beyond the bounds that
//!    [`HeaderRegion::parse`] has checked.

use crypto::cipher::Cipher;
use crypto::kdf::Argon2idParameters;
use thiserror::Error;

/// Size of one copy: the largest common sector size, so that a power cut during a write damages at
/// most one copy.
pub const COPY_SIZE: usize = 4096;
/// Size of the header region, and so the offset of the first page.
pub const REGION_SIZE: usize = 2 * COPY_SIZE;
/// The first bytes of every encrypted database. CR, LF and SUB reveal a text-mode transfer.
pub const MAGIC: [u8; 16] = *b"Strongroom db\r\n\x1a";
/// The first bytes of a plain SQLite database (sqlite.org/fileformat2.html, section 1.3).
pub const PLAIN_SQLITE_MAGIC: [u8; 16] = *b"SQLite format 3\0";
/// The version this code writes and the only one it reads.
pub const FORMAT_VERSION: u16 = 1;
/// Key slots in a header.
pub const SLOT_COUNT: usize = 8;
/// Data keys in a header: the current one, and the former one while pages are resealed.
pub const EPOCH_COUNT: usize = 2;
/// Must-understand feature: in at least one epoch, pages of the database carry versions. Whoever
/// writes such a page must know its version and raise it.
pub const VERSIONED_PAGES: u32 = 1;
/// Features that this version knows; a file with others must be refused.
pub const KNOWN_MUST_UNDERSTAND: u32 = VERSIONED_PAGES;
/// May-ignore feature: the transaction that creates the database has not committed yet. A file that
/// ends after such a header never held a page; one that ends after any other header was truncated.
pub const UNFINISHED: u32 = 1;

/// Bytes of one key slot.
pub const SLOT_SIZE: usize = 160;
/// Bytes of one entry of the epoch table.
pub const EPOCH_SIZE: usize = 80;

const OFFSET_MAGIC: usize = 0;
const OFFSET_STOCK_PAGE_SIZE: usize = OFFSET_MAGIC + 16;
const OFFSET_VERSION: usize = OFFSET_STOCK_PAGE_SIZE + 2;
const OFFSET_PAGE_SIZE: usize = OFFSET_VERSION + 2;
const OFFSET_CIPHER: usize = OFFSET_PAGE_SIZE + 4;
const OFFSET_TRAILER_SIZE: usize = OFFSET_CIPHER + 1;
const OFFSET_ZERO_1: usize = OFFSET_TRAILER_SIZE + 1;
const OFFSET_MUST_UNDERSTAND: usize = OFFSET_ZERO_1 + 2;
const OFFSET_MAY_IGNORE: usize = OFFSET_MUST_UNDERSTAND + 4;
const OFFSET_CURRENT_EPOCH: usize = OFFSET_MAY_IGNORE + 4;
const OFFSET_GENERATION: usize = OFFSET_CURRENT_EPOCH + 4;
const OFFSET_FILE_ID: usize = OFFSET_GENERATION + 8;
const OFFSET_EPOCHS: usize = OFFSET_FILE_ID + 16;
const OFFSET_SLOTS: usize = OFFSET_EPOCHS + EPOCH_COUNT * EPOCH_SIZE;
const OFFSET_ZERO_2: usize = OFFSET_SLOTS + SLOT_COUNT * SLOT_SIZE;
const OFFSET_TAG: usize = COPY_SIZE - 64;
const OFFSET_CHECKSUM: usize = COPY_SIZE - 32;

/// One copy of the header.
pub const COPY_FIELDS: &[(usize, usize, &str)] = &[
    (OFFSET_MAGIC, 16, "magic"),
    (OFFSET_STOCK_PAGE_SIZE, 2, "page size for stock SQLite"),
    (OFFSET_VERSION, 2, "format version"),
    (OFFSET_PAGE_SIZE, 4, "page size"),
    (OFFSET_CIPHER, 1, "cipher"),
    (OFFSET_TRAILER_SIZE, 1, "trailer size"),
    (OFFSET_ZERO_1, 2, "zero"),
    (OFFSET_MUST_UNDERSTAND, 4, "must-understand features"),
    (OFFSET_MAY_IGNORE, 4, "may-ignore features"),
    (OFFSET_CURRENT_EPOCH, 4, "current epoch"),
    (OFFSET_GENERATION, 8, "generation"),
    (OFFSET_FILE_ID, 16, "file id"),
    (OFFSET_EPOCHS, EPOCH_COUNT * EPOCH_SIZE, "epoch table"),
    (OFFSET_SLOTS, SLOT_COUNT * SLOT_SIZE, "key slots"),
    (OFFSET_ZERO_2, OFFSET_TAG - OFFSET_ZERO_2, "zero"),
    (OFFSET_TAG, 32, "tag"),
    (OFFSET_CHECKSUM, 32, "checksum"),
];

const SLOT_KIND: usize = 0;
const SLOT_ZERO_1: usize = SLOT_KIND + 1;
const SLOT_MEMORY: usize = SLOT_ZERO_1 + 3;
const SLOT_PASSES: usize = SLOT_MEMORY + 4;
const SLOT_LANES: usize = SLOT_PASSES + 4;
const SLOT_SALT: usize = SLOT_LANES + 4;
const SLOT_NONCE: usize = SLOT_SALT + 16;
const SLOT_WRAPPED: usize = SLOT_NONCE + 24;
const SLOT_ZERO_2: usize = SLOT_WRAPPED + 48;

/// One key slot.
pub const SLOT_FIELDS: &[(usize, usize, &str)] = &[
    (SLOT_KIND, 1, "kind"),
    (SLOT_ZERO_1, 3, "zero"),
    (SLOT_MEMORY, 4, "Argon2id memory in KiB"),
    (SLOT_PASSES, 4, "Argon2id passes"),
    (SLOT_LANES, 4, "Argon2id lanes"),
    (SLOT_SALT, 16, "salt"),
    (SLOT_NONCE, 24, "wrap nonce"),
    (SLOT_WRAPPED, 48, "wrapped master key"),
    (SLOT_ZERO_2, SLOT_SIZE - SLOT_ZERO_2, "zero"),
];

const EPOCH_NUMBER: usize = 0;
const EPOCH_STATE: usize = EPOCH_NUMBER + 4;
const EPOCH_NONCE: usize = EPOCH_STATE + 4;
const EPOCH_WRAPPED: usize = EPOCH_NONCE + 24;

/// One entry of the epoch table.
pub const EPOCH_FIELDS: &[(usize, usize, &str)] = &[
    (EPOCH_NUMBER, 4, "epoch"),
    (EPOCH_STATE, 4, "state"),
    (EPOCH_NONCE, 24, "wrap nonce"),
    (EPOCH_WRAPPED, 48, "wrapped data key"),
];

/// What opens a key slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// Argon2id over a passphrase.
    Passphrase,
    /// A 256-bit key given as such.
    RawKey,
    /// A 256-bit key that is kept in a file; opens in the same way as a raw key.
    KeyFile,
}

impl SlotKind {
    /// The name shown to users and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SlotKind::Passphrase => "passphrase",
            SlotKind::RawKey => "raw-key",
            SlotKind::KeyFile => "key-file",
        }
    }

    fn code(self) -> u8 {
        match self {
            SlotKind::Passphrase => 1,
            SlotKind::RawKey => 2,
            SlotKind::KeyFile => 3,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [SlotKind::Passphrase, SlotKind::RawKey, SlotKind::KeyFile]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// A filled key slot: the master key, wrapped under a key derived from the user's secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The kind of secret that opens it.
    pub kind: SlotKind,
    /// Cost of the derivation; `None` for raw keys.
    pub kdf: Option<Argon2idParameters>,
    /// Salt of the derivation.
    pub salt: [u8; 16],
    /// Nonce of the wrapping.
    pub nonce: [u8; 24],
    /// The master key, sealed (XChaCha20-Poly1305).
    pub wrapped: [u8; 48],
}

impl Slot {
    fn write(&self, out: &mut [u8]) {
        out[SLOT_KIND] = self.kind.code();
        let kdf = self.kdf.unwrap_or(Argon2idParameters {
            memory_kib: 0,
            passes: 0,
            lanes: 0,
        });
        put_u32(out, SLOT_MEMORY, kdf.memory_kib);
        put_u32(out, SLOT_PASSES, kdf.passes);
        put_u32(out, SLOT_LANES, kdf.lanes);
        out[SLOT_SALT..SLOT_NONCE].copy_from_slice(&self.salt);
        out[SLOT_NONCE..SLOT_WRAPPED].copy_from_slice(&self.nonce);
        out[SLOT_WRAPPED..SLOT_ZERO_2].copy_from_slice(&self.wrapped);
    }

    fn read(bytes: &[u8]) -> Result<Option<Slot>, HeaderError> {
        if bytes[SLOT_KIND] == 0 {
            return Ok(None);
        }
        let kind = SlotKind::from_code(bytes[SLOT_KIND]).ok_or(HeaderError::Damaged)?;
        let parameters = Argon2idParameters {
            memory_kib: get_u32(bytes, SLOT_MEMORY),
            passes: get_u32(bytes, SLOT_PASSES),
            lanes: get_u32(bytes, SLOT_LANES),
        };
        let kdf = match kind {
            SlotKind::Passphrase => {
                parameters
                    .check()
                    .map_err(|_| HeaderError::DerivationCost)?;
                Some(parameters)
            }
            SlotKind::RawKey | SlotKind::KeyFile => None,
        };
        Ok(Some(Slot {
            kind,
            kdf,
            salt: get(bytes, SLOT_SALT),
            nonce: get(bytes, SLOT_NONCE),
            wrapped: get(bytes, SLOT_WRAPPED),
        }))
    }

    /// The associated data of the wrapping: this file, this slot, this cost.
    pub fn associated_data(&self, file_id: &[u8; 16], index: usize) -> Vec<u8> {
        let mut bytes = [0; SLOT_SIZE];
        self.write(&mut bytes);
        let mut data = b"strongroom key slot 1".to_vec();
        data.extend_from_slice(file_id);
        data.push(index as u8);
        data.extend_from_slice(&bytes[..SLOT_NONCE]);
        data
    }
}

/// A data key of the file, wrapped under the master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochEntry {
    /// Number of the epoch; never zero, never used twice in a file.
    pub epoch: u32,
    /// Nonce of the wrapping.
    pub nonce: [u8; 24],
    /// The data key, sealed (XChaCha20-Poly1305).
    pub wrapped: [u8; 48],
    /// Whether pages of the database carry versions in this epoch.
    pub versioned: bool,
}

impl EpochEntry {
    fn write(&self, out: &mut [u8]) {
        put_u32(out, EPOCH_NUMBER, self.epoch);
        put_u32(out, EPOCH_STATE, if self.versioned { 2 } else { 1 });
        out[EPOCH_NONCE..EPOCH_WRAPPED].copy_from_slice(&self.nonce);
        out[EPOCH_WRAPPED..EPOCH_SIZE].copy_from_slice(&self.wrapped);
    }

    fn read(bytes: &[u8]) -> Result<Option<EpochEntry>, HeaderError> {
        match (get_u32(bytes, EPOCH_STATE), get_u32(bytes, EPOCH_NUMBER)) {
            (0, 0) => Ok(None),
            (state @ (1 | 2), epoch) if epoch != 0 => Ok(Some(EpochEntry {
                epoch,
                nonce: get(bytes, EPOCH_NONCE),
                wrapped: get(bytes, EPOCH_WRAPPED),
                versioned: state == 2,
            })),
            _ => Err(HeaderError::Damaged),
        }
    }

    /// The associated data of the wrapping: this file, this epoch.
    pub fn associated_data(file_id: &[u8; 16], epoch: u32) -> Vec<u8> {
        let mut data = b"strongroom data key 1".to_vec();
        data.extend_from_slice(file_id);
        data.extend_from_slice(&epoch.to_le_bytes());
        data
    }
}

/// The fields of the header, decoded and within bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of a page: a power of two from 512 to 65,536.
    pub page_size: u32,
    /// The cipher of all pages.
    pub cipher: Cipher,
    /// Features a reader must know; see [`KNOWN_MUST_UNDERSTAND`].
    pub must_understand: u32,
    /// Features a reader may ignore.
    pub may_ignore: u32,
    /// The epoch under which pages are sealed now.
    pub current_epoch: u32,
    /// Counts header writes.
    pub generation: u64,
    /// Random identifier of the file, bound into every seal.
    pub file_id: [u8; 16],
    /// Data keys.
    pub epochs: [Option<EpochEntry>; EPOCH_COUNT],
    /// Key slots.
    pub slots: [Option<Slot>; SLOT_COUNT],
    /// HMAC-SHA256 of everything before it, under a key derived from the master key.
    pub tag: [u8; 32],
}

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    /// The file is a plain SQLite database.
    #[error(
        "this is a plain SQLite database, not an encrypted one; `strongroom encrypt` makes an \
         encrypted copy"
    )]
    PlainSqlite,
    /// The first bytes belong to no known format.
    #[error(
        "this is not a Strongroom file: its first bytes are neither a Strongroom header nor \
         SQLite's"
    )]
    NotStrongroom,
    /// Both copies are damaged.
    #[error(
        "the header of this Strongroom file is damaged in both of its copies; restore the file (or \
         its first 8,192 bytes) from a backup"
    )]
    Damaged,
    /// A later version wrote the file.
    #[error(
        "this file has Strongroom format version {0}, and this program knows version 1 only; use a \
         newer Strongroom"
    )]
    NewerVersion(u16),
    /// The file needs a feature that this version lacks.
    #[error(
        "this file needs features ({0:#x}) that this version of Strongroom does not know; use a \
         newer Strongroom"
    )]
    UnknownFeatures(u32),
    /// A key slot asks for a derivation outside the limits.
    #[error(
        "a key slot of this file asks for a key derivation outside the permitted cost; the header \
         has been altered"
    )]
    DerivationCost,
}

impl Header {
    /// Sets the feature bit that says whether any epoch keeps versions.
    pub fn note_versions(&mut self) {
        self.must_understand &= !VERSIONED_PAGES;
        if self.epochs.iter().flatten().any(|entry| entry.versioned) {
            self.must_understand |= VERSIONED_PAGES;
        }
    }

    /// Whether two headers differ at most in what the end of a creation changes.
    fn opens_the_same(&self, other: &Header) -> bool {
        let as_finished = Header {
            generation: self.generation,
            may_ignore: self.may_ignore,
            tag: self.tag,
            ..other.clone()
        };
        *self == as_finished
    }

    /// Whether pages may still be sealed under a former data key.
    pub fn is_rotating(&self) -> bool {
        self.epochs.iter().flatten().count() > 1
    }

    /// One copy without tag and checksum: the bytes that the tag covers.
    pub fn authenticated_bytes(&self) -> Vec<u8> {
        let mut out = vec![0; OFFSET_TAG];
        out[OFFSET_MAGIC..OFFSET_STOCK_PAGE_SIZE].copy_from_slice(&MAGIC);
        let stock_page_size = stock_page_size(self.page_size);
        out[OFFSET_STOCK_PAGE_SIZE..OFFSET_VERSION].copy_from_slice(&stock_page_size);
        out[OFFSET_VERSION..OFFSET_PAGE_SIZE].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        put_u32(&mut out, OFFSET_PAGE_SIZE, self.page_size);
        out[OFFSET_CIPHER] = self.cipher.code();
        out[OFFSET_TRAILER_SIZE] = crate::page::TRAILER_SIZE as u8;
        put_u32(&mut out, OFFSET_MUST_UNDERSTAND, self.must_understand);
        put_u32(&mut out, OFFSET_MAY_IGNORE, self.may_ignore);
        put_u32(&mut out, OFFSET_CURRENT_EPOCH, self.current_epoch);
        out[OFFSET_GENERATION..OFFSET_FILE_ID].copy_from_slice(&self.generation.to_le_bytes());
        out[OFFSET_FILE_ID..OFFSET_EPOCHS].copy_from_slice(&self.file_id);
        for (index, entry) in self.epochs.iter().enumerate() {
            if let Some(entry) = entry {
                entry.write(&mut out[OFFSET_EPOCHS + index * EPOCH_SIZE..][..EPOCH_SIZE]);
            }
        }
        for (index, slot) in self.slots.iter().enumerate() {
            if let Some(slot) = slot {
                slot.write(&mut out[OFFSET_SLOTS + index * SLOT_SIZE..][..SLOT_SIZE]);
            }
        }
        out
    }

    /// One whole copy, ready to be written.
    pub fn to_copy(&self) -> Vec<u8> {
        let mut out = self.authenticated_bytes();
        out.extend_from_slice(&self.tag);
        let checksum = crypto::mac::checksum(&out);
        out.extend_from_slice(&checksum);
        out
    }

    fn from_copy(bytes: &[u8]) -> Result<Header, HeaderError> {
        if bytes[..OFFSET_STOCK_PAGE_SIZE] != MAGIC {
            return Err(HeaderError::NotStrongroom);
        }
        // Every future version keeps version and checksum at these offsets, so that an old program
        // can tell a newer file from a damaged one.
        if crypto::mac::checksum(&bytes[..OFFSET_CHECKSUM]) != get::<32>(bytes, OFFSET_CHECKSUM) {
            return Err(HeaderError::Damaged);
        }
        let version = u16::from_le_bytes(get(bytes, OFFSET_VERSION));
        if version != FORMAT_VERSION {
            return Err(HeaderError::NewerVersion(version));
        }
        let must_understand = get_u32(bytes, OFFSET_MUST_UNDERSTAND);
        if must_understand & !KNOWN_MUST_UNDERSTAND != 0 {
            return Err(HeaderError::UnknownFeatures(must_understand));
        }
        let page_size = get_u32(bytes, OFFSET_PAGE_SIZE);
        if !is_page_size(page_size)
            || usize::from(bytes[OFFSET_TRAILER_SIZE]) != crate::page::TRAILER_SIZE
        {
            return Err(HeaderError::Damaged);
        }
        let mut epochs = [const { None }; EPOCH_COUNT];
        for (index, entry) in epochs.iter_mut().enumerate() {
            *entry = EpochEntry::read(&bytes[OFFSET_EPOCHS + index * EPOCH_SIZE..][..EPOCH_SIZE])?;
        }
        let mut slots = [const { None }; SLOT_COUNT];
        for (index, slot) in slots.iter_mut().enumerate() {
            *slot = Slot::read(&bytes[OFFSET_SLOTS + index * SLOT_SIZE..][..SLOT_SIZE])?;
        }
        let header = Header {
            page_size,
            cipher: Cipher::from_code(bytes[OFFSET_CIPHER]).ok_or(HeaderError::Damaged)?,
            must_understand,
            may_ignore: get_u32(bytes, OFFSET_MAY_IGNORE),
            current_epoch: get_u32(bytes, OFFSET_CURRENT_EPOCH),
            generation: u64::from_le_bytes(get(bytes, OFFSET_GENERATION)),
            file_id: get(bytes, OFFSET_FILE_ID),
            epochs,
            slots,
            tag: get(bytes, OFFSET_TAG),
        };
        // The tag is verified over the encoded fields. A byte that belongs to no field must
        // therefore be zero, as it is encoded; otherwise the tag would not cover it.
        if header.authenticated_bytes() == bytes[..OFFSET_TAG] {
            Ok(header)
        } else {
            Err(HeaderError::Damaged)
        }
    }
}

/// Both copies of the header, as read from a file.
#[derive(Clone, Debug)]
pub struct HeaderRegion {
    /// The header in force.
    pub header: Header,
    /// Which copy it came from, 0 or 1.
    pub copy_in_force: usize,
    /// Per copy, whether it is intact.
    pub intact: [bool; 2],
    /// Whether both copies are intact and open different things. A change of the header was then
    /// interrupted after its first copy, which may not be on disk yet.
    pub is_half_changed: bool,
}

impl HeaderRegion {
    /// Decodes the first [`REGION_SIZE`] bytes of a file.
    ///
    /// # Errors
    ///
    /// A [`HeaderError`] that says what the bytes are; never panics.
    pub fn parse(bytes: &[u8]) -> Result<HeaderRegion, HeaderError> {
        if bytes.len() < REGION_SIZE {
            return Err(refuse(bytes));
        }
        let copies =
            [0, 1].map(|index| Header::from_copy(&bytes[index * COPY_SIZE..][..COPY_SIZE]));
        let intact = [copies[0].is_ok(), copies[1].is_ok()];
        let is_half_changed = match &copies {
            [Ok(first), Ok(second)] => !first.opens_the_same(second),
            _ => false,
        };
        match copies {
            [Ok(first), Ok(second)] if second.generation > first.generation => Ok(HeaderRegion {
                header: second,
                copy_in_force: 1,
                intact,
                is_half_changed,
            }),
            [Ok(header), _] => Ok(HeaderRegion {
                header,
                copy_in_force: 0,
                intact,
                is_half_changed,
            }),
            [Err(_), Ok(header)] => Ok(HeaderRegion {
                header,
                copy_in_force: 1,
                intact,
                is_half_changed,
            }),
            [Err(first), Err(second)] => Err(more_telling(bytes, first, second)),
        }
    }

    /// Whether two regions hold the same headers, copy by copy. The zero padding, most of a copy,
    /// is not compared: changing a byte there only damages the copy.
    pub fn says_the_same(one: &[u8], other: &[u8]) -> bool {
        let is_same = |(one, other): (&[u8], &[u8])| {
            one[..OFFSET_ZERO_2] == other[..OFFSET_ZERO_2]
                && one[OFFSET_TAG..] == other[OFFSET_TAG..]
        };
        let mut copies = one.chunks(COPY_SIZE).zip(other.chunks(COPY_SIZE));
        one.len() == REGION_SIZE && other.len() == REGION_SIZE && copies.all(is_same)
    }

    /// A region with two copies of one header.
    pub fn to_bytes(header: &Header) -> Vec<u8> {
        let mut bytes = header.to_copy();
        bytes.extend_from_within(..);
        bytes
    }
}

/// The page size that stock SQLite finds in its own field, big-endian, which is not that of the
/// file. Where the sizes of file and log differ, stock SQLite copies no page of the log into the
/// file: it would do so with the log of a process that ended, by the index in shared memory, which
/// holds while a connection of stock SQLite has it open.
fn stock_page_size(page_size: u32) -> [u8; 2] {
    let other: u16 = if page_size == 512 { 1024 } else { 512 };
    other.to_be_bytes()
}

/// Whether SQLite allows pages of this size.
pub fn is_page_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && (512..=65_536).contains(&bytes)
}

/// Whether the first bytes of a file claim to be a Strongroom header, intact or not.
pub fn claims_to_be_strongroom(bytes: &[u8]) -> bool {
    let magic_at = |offset: usize| bytes.get(offset..offset + 16) == Some(&MAGIC[..]);
    magic_at(0) || magic_at(COPY_SIZE)
}

fn refuse(bytes: &[u8]) -> HeaderError {
    if bytes.starts_with(&PLAIN_SQLITE_MAGIC) {
        HeaderError::PlainSqlite
    } else if claims_to_be_strongroom(bytes) {
        HeaderError::Damaged
    } else {
        HeaderError::NotStrongroom
    }
}

fn more_telling(bytes: &[u8], first: HeaderError, second: HeaderError) -> HeaderError {
    let silent = [HeaderError::NotStrongroom, HeaderError::Damaged];
    match (silent.contains(&first), silent.contains(&second)) {
        (false, _) => first,
        (true, false) => second,
        (true, true) => refuse(bytes),
    }
}

fn put_u32(out: &mut [u8], offset: usize, value: u32) {
    out[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

fn get_u32(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(get(bytes, offset))
}

fn get<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[offset..offset + N]);
    out
}

#[cfg(test)]
mod tests;
