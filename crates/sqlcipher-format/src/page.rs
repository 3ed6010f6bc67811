//! Opens one page.
//!
//! Invariants:
//!
//! 1. If the file has HMACs, a page is authenticated before any of it is decrypted.
//! 2. If a page does not open, the output is all zeros.
//! 3. Parts of page 1 that no HMAC covers are validated as far as possible: the salt is replaced by
//!    the magic; in a plaintext header, page size and reserve must be those of the file.
//! 4. Without HMACs, as in version 1, only the header in page 1 proves the key, and altered pages
//!    are not detected.

use aes::Aes256Dec;
use aes::cipher::{Array, BlockModeDecrypt, InnerIvInit, KeyInit};
use cbc::Decryptor;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use thiserror::Error;

use crate::key::PageKeys;
use crate::parameters::{Algorithm, IV_SIZE, Parameters, SALT_SIZE};

/// The bytes that replace SQLCipher's salt in plain SQLite
/// (<https://www.sqlite.org/fileformat2.html#magic_header_string>).
pub const PLAIN_MAGIC: &[u8; SALT_SIZE] = b"SQLite format 3\0";

/// Why a page does not open.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PageError {
    /// Altered, moved, torn, or written under another key or with other parameters.
    #[error("its HMAC is wrong: it was damaged or altered, or belongs to another place or key")]
    NotAuthentic,
    /// Zeros only.
    #[error("it consists of zeros: it was never written, or was wiped")]
    Zeros,
    /// Page 1 opens, but is not that of a database with these parameters.
    #[error("its header is not that of a SQLite database with pages of this size")]
    NotAHeader,
    /// The slices or the number from the caller do not fit a page.
    #[error("it has the wrong size or number for a page")]
    NotAPage,
}

/// A keyed HMAC state.
enum Authenticator {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha512(Hmac<Sha512>),
}

/// Feeds a copy of the keyed state and compares in constant time.
fn verifies<M: Mac + Clone>(keyed: &M, covered: &[u8], page_number: u32, tag: &[u8]) -> bool {
    let mut mac = keyed.clone();
    mac.update(covered);
    mac.update(&page_number.to_le_bytes());
    mac.verify_slice(tag).is_ok()
}

impl Authenticator {
    fn new(algorithm: Algorithm, keys: &PageKeys) -> Self {
        const PROOF: &str = "HMAC takes keys of any length";
        let key = keys.hmac.expose();
        match algorithm {
            Algorithm::Sha1 => Self::Sha1(KeyInit::new_from_slice(key).expect(PROOF)),
            Algorithm::Sha256 => Self::Sha256(KeyInit::new_from_slice(key).expect(PROOF)),
            Algorithm::Sha512 => Self::Sha512(KeyInit::new_from_slice(key).expect(PROOF)),
        }
    }

    fn verify(&self, covered: &[u8], page_number: u32, tag: &[u8]) -> bool {
        match self {
            Self::Sha1(keyed) => verifies(keyed, covered, page_number, tag),
            Self::Sha256(keyed) => verifies(keyed, covered, page_number, tag),
            Self::Sha512(keyed) => verifies(keyed, covered, page_number, tag),
        }
    }
}

/// Opens the pages of one file.
pub struct PageOpener {
    parameters: Parameters,
    cipher: Aes256Dec,
    authenticator: Option<Authenticator>,
    tag_size: usize,
}

impl PageOpener {
    /// An opener. `keys` must have been derived with the same parameters.
    #[must_use]
    pub fn new(parameters: Parameters, keys: &PageKeys) -> Self {
        let hmac = parameters.hmac_algorithm;
        PageOpener {
            parameters,
            cipher: Aes256Dec::new(keys.cipher.expose().into()),
            authenticator: hmac.map(|algorithm| Authenticator::new(algorithm, keys)),
            tag_size: hmac.map_or(0, Algorithm::output_size),
        }
    }

    /// The parameters of the file.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Opens page `page_number` (from 1) from its stored bytes into `plain`, as plain SQLite would
    /// store it, with zeros in the reserved bytes. Both slices have the page size.
    ///
    /// # Errors
    ///
    /// If the page is not authentic, or is no page; `plain` is then all zeros.
    pub fn open_page(
        &self,
        page_number: u32,
        stored: &[u8],
        plain: &mut [u8],
    ) -> Result<(), PageError> {
        let opened = self.try_open(page_number, stored, plain);
        if opened.is_err() {
            plain.fill(0);
        }
        opened
    }

    fn try_open(&self, page_number: u32, stored: &[u8], plain: &mut [u8]) -> Result<(), PageError> {
        let page_size = self.parameters.page_size as usize;
        if stored.len() != page_size || plain.len() != page_size || page_number == 0 {
            return Err(PageError::NotAPage);
        }
        let begin = self.ciphertext_begin(page_number);
        let end = page_size - self.parameters.reserve();
        let (iv, behind) = stored[end..].split_at(IV_SIZE);
        if let Some(authenticator) = &self.authenticator {
            let covered = &stored[begin..end + IV_SIZE];
            if !authenticator.verify(covered, page_number, &behind[..self.tag_size]) {
                return Err(if stored.iter().all(|byte| *byte == 0) {
                    PageError::Zeros
                } else {
                    PageError::NotAuthentic
                });
            }
        }
        plain[..end].copy_from_slice(&stored[..end]);
        plain[end..].fill(0);
        let (blocks, _) = Array::slice_as_chunks_mut(&mut plain[begin..end]);
        let mut decryptor = Decryptor::inner_iv_slice_init(self.cipher.clone(), iv)
            .map_err(|_| PageError::NotAPage)?;
        decryptor.decrypt_blocks(blocks);
        if page_number == 1 {
            self.finish_page_one(plain)?;
        }
        Ok(())
    }

    /// Page 1 begins with the salt or the plaintext header, other pages with the ciphertext.
    fn ciphertext_begin(&self, page_number: u32) -> usize {
        match (page_number, self.parameters.plaintext_header_size) {
            (1, 0) => SALT_SIZE,
            (1, size) => size as usize,
            _ => 0,
        }
    }

    fn finish_page_one(&self, plain: &mut [u8]) -> Result<(), PageError> {
        if self.parameters.plaintext_header_size == 0 {
            plain[..SALT_SIZE].copy_from_slice(PLAIN_MAGIC);
        }
        if is_header(plain, &self.parameters) {
            Ok(())
        } else {
            Err(PageError::NotAHeader)
        }
    }
}

/// Whether `page` begins like page 1 of a database with these parameters
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
fn is_header(page: &[u8], parameters: &Parameters) -> bool {
    const PAYLOAD_FRACTIONS: [u8; 3] = [64, 32, 32];
    let page_size = match u16::from_be_bytes([page[16], page[17]]) {
        1 => 65_536,
        size => size.into(),
    };
    page.starts_with(PLAIN_MAGIC)
        && page_size == parameters.page_size
        && page[18..20].iter().all(|version| matches!(version, 1 | 2))
        // SQLCipher 4 reserves more bytes than necessary in files that it writes as version 3.
        && usize::from(page[20]) >= parameters.reserve()
        && page[21..24] == PAYLOAD_FRACTIONS
        && (parameters.hmac_algorithm.is_some() || has_decrypted(page))
}

/// If there is no HMAC and the fields above are in a plaintext header, only this distinguishes a
/// right key from a wrong one: bytes that are zero in every database, at least 12 of them
/// decrypted, and the type of the root page.
fn has_decrypted(page: &[u8]) -> bool {
    const EXPANSION: std::ops::Range<usize> = 72..92;
    const ROOT_KIND: usize = 100;
    page[EXPANSION].iter().all(|byte| *byte == 0) && matches!(page[ROOT_KIND], 5 | 13)
}
