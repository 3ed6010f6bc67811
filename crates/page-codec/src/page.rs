//! One page, sealed and bound to its place: payload, then a trailer in SQLite's reserved bytes.
//!
//! Invariants:
//!
//! 1. Every byte of the page but the trailer is sealed; the trailer holds tag, nonce and epoch.
//! 2. A seal binds file id, epoch, kind of file, position in that file and page number.
//! 3. SQLite reads zeros in place of the trailer, and must write zeros there, so that its own
//!    checksums over whole pages match when it reads them again.

use crypto::cipher::Cipher;
use crypto::mask::FieldMask;
use crypto::page::{NONCE_SIZE, Nonce, PageSealer, Place, TAG_SIZE, Tag};
use crypto::secret::Key;
use thiserror::Error;

use crate::journal::{self, HEADER_SEAL_SIZE, HEADER_TAG_SIZE};

/// Bytes at the end of each page that hold tag, nonce and epoch.
///
/// 32 is the most that SQLite allows in its smallest page: 512 less 480 usable bytes.
pub const TRAILER_SIZE: usize = OFFSET_EPOCH + 4;

const OFFSET_TAG: usize = 0;
const OFFSET_NONCE: usize = OFFSET_TAG + TAG_SIZE;
const OFFSET_EPOCH: usize = OFFSET_NONCE + NONCE_SIZE;

/// The trailer, at the end of each page.
pub const TRAILER_FIELDS: &[(usize, usize, &str)] = &[
    (OFFSET_TAG, TAG_SIZE, "tag"),
    (OFFSET_NONCE, NONCE_SIZE, "nonce"),
    (OFFSET_EPOCH, 4, "epoch"),
];

/// The kinds of file that contain pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The database itself.
    Main = 1,
    /// The write-ahead log.
    Wal = 2,
    /// The rollback journal.
    Journal = 3,
    /// A temporary file, sealed in blocks under a key that lives only in memory.
    Temporary = 4,
}

/// The place of a page: where it is stored, and which page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePlace {
    place: Place,
    page_number: u32,
}

impl PagePlace {
    /// Page of the database itself. Pages count from 1.
    pub fn main(page_number: u32) -> Self {
        let place = Place {
            kind: Kind::Main as u8,
            location: page_number.into(),
            context: 0,
        };
        PagePlace { place, page_number }
    }

    /// Page in frame `frame_index` (from 0) of a log with these salts in its header.
    pub fn wal(page_number: u32, frame_index: u64, salts: [u8; 8]) -> Self {
        let place = Place {
            kind: Kind::Wal as u8,
            location: frame_index,
            context: u64::from_le_bytes(salts),
        };
        PagePlace { place, page_number }
    }

    /// Page image at byte `offset` of a rollback journal.
    pub fn journal(page_number: u32, offset: u64) -> Self {
        let place = Place {
            kind: Kind::Journal as u8,
            location: page_number.into(),
            context: offset,
        };
        PagePlace { place, page_number }
    }

    /// Block of a temporary file, counted from 0.
    pub fn temporary(block: u64) -> Self {
        let place = Place {
            kind: Kind::Temporary as u8,
            location: block,
            context: 0,
        };
        PagePlace {
            place,
            page_number: 0,
        }
    }
}

/// Orders the seals of one page of the database: by epoch, then by version. Zeros stand for a page
/// that was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// The epoch in the trailer.
    pub epoch: u32,
    /// Counts the seals of the page; zero in an epoch without versions.
    pub version: u64,
}

/// The largest version.
pub const VERSION_MAX: u64 = (1 << (8 * VERSION_SIZE)) - 1;
/// Size of the version in the stored nonce, in an epoch with versions. The other six bytes are
/// random: a version repeats only after writes were lost, as in a power cut.
const VERSION_SIZE: usize = 6;

/// A stored nonce that carries a version.
pub fn versioned_nonce(version: u64, random: &Nonce) -> Nonce {
    let mut nonce = *random;
    nonce[..VERSION_SIZE].copy_from_slice(&version.to_le_bytes()[..VERSION_SIZE]);
    nonce
}

fn version_in(nonce: &Nonce) -> u64 {
    let mut bytes = [0; 8];
    bytes[..VERSION_SIZE].copy_from_slice(&nonce[..VERSION_SIZE]);
    u64::from_le_bytes(bytes)
}

/// Why a page does not open.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PageError {
    /// Altered, moved, torn, or sealed under another key.
    #[error("it was damaged or altered, or belongs to another place, file or key")]
    NotAuthentic,
    /// The file has no such epoch.
    #[error(
        "it names key epoch {0}, which this file does not have: it was damaged or altered, or \
         comes from another file"
    )]
    UnknownEpoch(u32),
    /// Authentic, but older than a copy that this connection has seen.
    #[error(
        "it is an older copy of itself: what was written to it since has been undone behind the \
         database's back"
    )]
    Stale,
    /// The bytes reserved for the trailer are not zero.
    #[error("the last 32 bytes of the page are in use, where an encrypted page needs its trailer")]
    TrailerInUse,
}

/// A data key of a file, ready for use.
pub struct EpochKey {
    /// The epoch.
    pub epoch: u32,
    /// The key from which page key and mask key are derived.
    pub data_key: Key,
    /// Whether pages of the database carry versions.
    pub versioned: bool,
}

struct Epoch {
    epoch: u32,
    versioned: bool,
    sealer: PageSealer,
    mask: FieldMask,
    /// Seals headers of rollback journals.
    journal: Key,
}

impl Epoch {
    fn stamp(&self, nonce: &Nonce) -> Stamp {
        Stamp {
            epoch: self.epoch,
            version: if self.versioned { version_in(nonce) } else { 0 },
        }
    }
}

/// Seals and opens the pages of one file. Each open file has a codec, which caches sub-keys.
pub struct PageCodec {
    file_id: [u8; 16],
    cipher: Cipher,
    current: usize,
    epochs: Vec<Epoch>,
}

impl PageCodec {
    /// A codec that seals under `current_epoch` and opens under any of `keys`.
    ///
    /// Returns `None` when `keys` lacks the current epoch.
    pub fn new(
        cipher: Cipher,
        file_id: [u8; 16],
        current_epoch: u32,
        keys: &[EpochKey],
    ) -> Option<Self> {
        let current = keys.iter().position(|key| key.epoch == current_epoch)?;
        let epochs = keys
            .iter()
            .map(|key| {
                let derive =
                    |purpose: &[u8]| crypto::kdf::derive_key(&key.data_key, &file_id, purpose);
                let page_purpose = [b"strongroom page 1 ", cipher.name().as_bytes()].concat();
                Epoch {
                    epoch: key.epoch,
                    versioned: key.versioned,
                    sealer: PageSealer::new(cipher, &derive(&page_purpose)),
                    mask: FieldMask::new(&derive(b"strongroom mask 1")),
                    journal: derive(b"strongroom journal header 1"),
                }
            })
            .collect();
        Some(PageCodec {
            file_id,
            cipher,
            current,
            epochs,
        })
    }

    /// The cipher.
    pub fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// The epoch under which pages are sealed.
    pub fn current_epoch(&self) -> u32 {
        self.epochs[self.current].epoch
    }

    /// Whether pages of the database are now sealed with a version.
    pub fn is_versioned(&self) -> bool {
        self.epochs[self.current].versioned
    }

    /// The stamp in the trailer of a page of the database; not authenticated until the page is
    /// opened.
    pub fn stamp_in(&self, trailer: &[u8]) -> Stamp {
        let epoch = trailer_epoch(trailer);
        let known = self.epochs.iter().find(|known| known.epoch == epoch);
        known.map_or(Stamp::default(), |known| {
            known.stamp(&trailer_nonce(trailer))
        })
    }

    /// Masks fields outside pages, under the current epoch.
    pub fn mask(&self) -> &FieldMask {
        &self.epochs[self.current].mask
    }

    /// The mask for the epoch in a sealed page's trailer.
    ///
    /// # Errors
    ///
    /// If the file has no such epoch.
    pub fn mask_of(&self, sealed: &[u8]) -> Result<&FieldMask, PageError> {
        let epoch = trailer_epoch(sealed);
        match self.epochs.iter().find(|known| known.epoch == epoch) {
            Some(known) => Ok(&known.mask),
            None => Err(PageError::UnknownEpoch(epoch)),
        }
    }

    /// The seal of a journal header at `offset`, under the current epoch.
    pub fn seal_journal_header(
        &self,
        offset: u64,
        header: &journal::Header,
    ) -> [u8; HEADER_SEAL_SIZE] {
        let epoch = &self.epochs[self.current];
        let tag = crypto::mac::authenticate(
            &epoch.journal,
            &journal_header_data(epoch.epoch, offset, header),
        );
        let mut seal = [0; HEADER_SEAL_SIZE];
        seal[..4].copy_from_slice(&epoch.epoch.to_le_bytes());
        seal[4..].copy_from_slice(&tag[..HEADER_TAG_SIZE]);
        seal
    }

    /// Whether the journal header at `offset` was sealed under this file's keys.
    pub fn is_journal_header_authentic(&self, offset: u64, header: &journal::Header) -> bool {
        let (number, tag) = header.seal().split_at(4);
        let known = |epoch: &&Epoch| epoch.epoch.to_le_bytes() == *number;
        self.epochs.iter().find(known).is_some_and(|epoch| {
            let data = journal_header_data(epoch.epoch, offset, header);
            crypto::mac::verify_half(&epoch.journal, &data, tag)
        })
    }

    /// Seals `page` into `sealed` (equal lengths). `nonce` must be fresh.
    ///
    /// # Errors
    /// [`PageError::TrailerInUse`] when the last bytes of the page are not zero.
    pub fn seal(
        &mut self,
        place: PagePlace,
        nonce: &Nonce,
        page: &[u8],
        sealed: &mut [u8],
    ) -> Result<(), PageError> {
        assert_eq!(
            page.len(),
            sealed.len(),
            "a sealed page has the size of the page"
        );
        let payload_size = page.len() - TRAILER_SIZE;
        let (payload, reserved) = page.split_at(payload_size);
        if reserved.iter().any(|byte| *byte != 0) {
            return Err(PageError::TrailerInUse);
        }
        let (out, trailer) = sealed.split_at_mut(payload_size);
        let epoch = &mut self.epochs[self.current];
        let associated = associated_data(&self.file_id, epoch.epoch, place.page_number);
        let tag = epoch
            .sealer
            .seal(nonce, place.place, &associated, payload, out);
        trailer[OFFSET_TAG..OFFSET_NONCE].copy_from_slice(&tag);
        trailer[OFFSET_NONCE..OFFSET_EPOCH].copy_from_slice(nonce);
        trailer[OFFSET_EPOCH..].copy_from_slice(&epoch.epoch.to_le_bytes());
        Ok(())
    }

    /// Opens `sealed` into `page` (equal lengths); the trailer reads as zeros. Returns the stamp,
    /// which is meaningful only for pages of the database.
    ///
    /// # Errors
    ///
    /// If the page is not authentic at this place; `page` then holds no plaintext.
    pub fn open(
        &mut self,
        place: PagePlace,
        sealed: &[u8],
        page: &mut [u8],
    ) -> Result<Stamp, PageError> {
        assert_eq!(
            page.len(),
            sealed.len(),
            "a sealed page has the size of the page"
        );
        let number = trailer_epoch(sealed);
        let Some(epoch) = self.epochs.iter_mut().find(|known| known.epoch == number) else {
            return Err(PageError::UnknownEpoch(number));
        };
        let payload_size = sealed.len() - TRAILER_SIZE;
        let (payload, trailer) = sealed.split_at(payload_size);
        let (out, reserved) = page.split_at_mut(payload_size);
        // The trailer may be in shared memory: copy it before use.
        let mut tag: Tag = [0; TAG_SIZE];
        tag.copy_from_slice(&trailer[OFFSET_TAG..OFFSET_NONCE]);
        let mut nonce: Nonce = [0; NONCE_SIZE];
        nonce.copy_from_slice(&trailer[OFFSET_NONCE..OFFSET_EPOCH]);
        let associated = associated_data(&self.file_id, number, place.page_number);
        reserved.fill(0);
        epoch
            .sealer
            .open(&nonce, place.place, &associated, payload, &tag, out)
            .map_err(|_| PageError::NotAuthentic)?;
        Ok(epoch.stamp(&nonce))
    }
}

/// The nonce in the trailer of a sealed page.
pub fn trailer_nonce(sealed: &[u8]) -> Nonce {
    let mut nonce = [0; NONCE_SIZE];
    nonce.copy_from_slice(&sealed[sealed.len() - TRAILER_SIZE..][OFFSET_NONCE..OFFSET_EPOCH]);
    nonce
}

/// The epoch in the trailer of a sealed page.
pub fn trailer_epoch(sealed: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&sealed[sealed.len() - TRAILER_SIZE..][OFFSET_EPOCH..]);
    u32::from_le_bytes(bytes)
}

/// The file id is left out: the key belongs to one file already.
fn journal_header_data(epoch: u32, offset: u64, header: &journal::Header) -> [u8; 28] {
    let mut data = [0; 28];
    data[..4].copy_from_slice(&epoch.to_le_bytes());
    data[4..12].copy_from_slice(&offset.to_le_bytes());
    data[12..].copy_from_slice(header.sealed_fields());
    data
}

fn associated_data(file_id: &[u8; 16], epoch: u32, page_number: u32) -> [u8; 24] {
    let mut data = [0; 24];
    data[..16].copy_from_slice(file_id);
    data[16..20].copy_from_slice(&epoch.to_le_bytes());
    data[20..].copy_from_slice(&page_number.to_le_bytes());
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codec(cipher: Cipher, file: u8) -> PageCodec {
        let keys = [EpochKey {
            epoch: 7,
            data_key: Key::from_bytes([9; 32]),
            versioned: false,
        }];
        PageCodec::new(cipher, [file; 16], 7, &keys).expect("the epoch is there")
    }

    fn page(size: usize) -> Vec<u8> {
        let mut page: Vec<u8> = (0..size).map(|index| index as u8).collect();
        page[size - TRAILER_SIZE..].fill(0);
        page
    }

    #[test]
    fn opens_only_at_its_place_in_its_file() {
        for cipher in Cipher::ALL {
            for size in [512, 4096, 65_536] {
                let (plain, mut sealed, mut out) = (page(size), vec![1; size], vec![1; size]);
                let mut codec_a = codec(cipher, 1);
                let place = PagePlace::main(5);
                codec_a
                    .seal(place, &[3; 12], &plain, &mut sealed)
                    .expect("seals");
                assert!(!sealed.windows(16).any(|window| window == &plain[..16]));
                codec_a.open(place, &sealed, &mut out).expect("opens");
                assert_eq!(out, plain);
                for wrong in [
                    PagePlace::main(6),
                    PagePlace::wal(5, 5, [0; 8]),
                    PagePlace::journal(5, 0),
                    PagePlace::temporary(5),
                ] {
                    assert_eq!(
                        codec_a.open(wrong, &sealed, &mut out),
                        Err(PageError::NotAuthentic)
                    );
                    assert!(out.iter().all(|byte| *byte == 0), "no plaintext is left");
                }
                assert_eq!(
                    codec(cipher, 2).open(place, &sealed, &mut out),
                    Err(PageError::NotAuthentic)
                );
            }
        }
    }

    #[test]
    fn every_byte_of_the_sealed_page_matters() {
        let (plain, mut sealed, mut out) = (page(512), vec![0; 512], vec![0; 512]);
        let mut codec = codec(Cipher::Aegis256X2, 1);
        codec
            .seal(PagePlace::main(1), &[3; 12], &plain, &mut sealed)
            .expect("seals");
        for offset in 0..sealed.len() {
            sealed[offset] ^= 1;
            assert!(
                codec.open(PagePlace::main(1), &sealed, &mut out).is_err(),
                "{offset}"
            );
            sealed[offset] ^= 1;
        }
    }

    #[test]
    fn a_version_comes_back_with_the_page_and_is_part_of_the_seal() {
        let keys = [EpochKey {
            epoch: 7,
            data_key: Key::from_bytes([9; 32]),
            versioned: true,
        }];
        let mut codec = PageCodec::new(Cipher::Aegis256X2, [1; 16], 7, &keys).expect("a codec");
        let (plain, mut sealed, mut out) = (page(512), vec![0; 512], vec![0; 512]);
        let place = PagePlace::main(1);
        for version in [1, 256, VERSION_MAX] {
            let nonce = versioned_nonce(version, &[0xaa; 12]);
            codec
                .seal(place, &nonce, &plain, &mut sealed)
                .expect("seals");
            let stamp = Stamp { epoch: 7, version };
            assert_eq!(codec.stamp_in(&sealed), stamp);
            assert_eq!(codec.open(place, &sealed, &mut out), Ok(stamp));
            sealed[512 - TRAILER_SIZE + OFFSET_NONCE] ^= 1;
            assert_eq!(
                codec.open(place, &sealed, &mut out),
                Err(PageError::NotAuthentic)
            );
        }
    }

    #[test]
    fn a_journal_header_is_authentic_at_its_place_with_its_fields() {
        let codec_1 = codec(Cipher::Aegis256X2, 1);
        let mut bytes = [7; journal::HEADER_FIELDS_SIZE + HEADER_SEAL_SIZE];
        let seal = codec_1.seal_journal_header(512, &journal::Header(bytes));
        bytes[journal::HEADER_FIELDS_SIZE..].copy_from_slice(&seal);
        let authentic =
            |offset, bytes| codec_1.is_journal_header_authentic(offset, &journal::Header(bytes));
        assert!(authentic(512, bytes));
        assert!(!authentic(1024, bytes));
        assert!(
            !codec(Cipher::Aegis256X2, 2).is_journal_header_authentic(512, &journal::Header(bytes))
        );
        for index in 0..bytes.len() {
            let mut altered = bytes;
            altered[index] ^= 1;
            // SQLite rewrites magic and count when it syncs.
            assert_eq!(authentic(512, altered), index < 12, "{index}");
        }
    }

    #[test]
    fn reserved_bytes_in_use_are_refused() {
        let mut plain = page(512);
        plain[511] = 1;
        assert_eq!(
            codec(Cipher::Aegis256, 1).seal(
                PagePlace::main(1),
                &[3; 12],
                &plain,
                &mut vec![0; 512]
            ),
            Err(PageError::TrailerInUse)
        );
    }
}
