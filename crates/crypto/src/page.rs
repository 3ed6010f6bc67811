//! Sealing and opening of one page (or frame, or record), bound to its place.
//!
//! # Nonces
//! A unit is stored with a nonce of 12 bytes, which the caller draws at random for every sealing.
//! The cipher's nonce is taken from a longer string: the stored nonce followed by the 20 bytes of
//! [`Place`].
//!
//! | cipher | nonce | key |
//! |---|---|---|
//! | AEGIS-256, AEGIS-256X2 | all 32 bytes | the key |
//! | XChaCha20-Poly1305 | the first 24 bytes | the key |
//! | AES-256-GCM | the stored 12 bytes | a sub-key of kind and `location >> 10` |
//!
//! The AES-256-GCM sub-key and nonce are those of XAES-256-GCM (C2SP) for the 24-byte nonce
//! `location >> 10` (8 bytes, little-endian), kind, three zeros, stored nonce.
//!
//! # Limits
//! A nonce may repeat neither within one place nor, with AES-256-GCM, within one group of 1,024
//! places of one kind. NIST SP 800-38D, section 8.3, allows 2^32 sealings with random 96-bit nonces
//! per key, here per group: change the key before a group of 1,024 pages has been written that
//! often. With the other ciphers the place is part of the nonce and the same count holds for each
//! single place.
//!
//! The associated data is the caller's, followed by the bytes of the place; so the context is bound
//! even if the nonce has no room for it.
//!
//! # The source is read once
//! Sealing and opening copy the unit to its destination and work there. So the source may be memory
//! that another process writes to, such as a map of the file: what was authenticated is what was
//! decrypted. The copy is nearly free: without it, AEGIS was measured to seal 2 to 6 % faster and
//! to open pages as fast from the cache, and from memory between 3 % faster (AEGIS-256) and 10 %
//! slower (AEGIS-256X2), on Zen 5 (`examples/page_cost.rs`).

// The only place that chooses between the two: there is no C in WebAssembly.
#[cfg(not(any(target_arch = "wasm32", feature = "portable")))]
use self::compiled as library;
#[cfg(any(target_arch = "wasm32", feature = "portable"))]
use self::portable as library;

#[cfg(not(target_arch = "wasm32"))]
#[cfg_attr(
    all(feature = "portable", not(test)),
    expect(dead_code, reason = "what the other is compared with, in tests")
)]
mod compiled;
mod group;
#[cfg(any(target_arch = "wasm32", feature = "portable", test))]
mod portable;

use std::fmt;

use aegis::aegis256::Aegis256;
use aegis::aegis256x2::Aegis256X2;
use zeroize::Zeroize;

use self::group::GroupKeys;
use self::library::extended;
use crate::cipher::Cipher;
use crate::secret::Key;

/// The fastest cipher with these libraries, for new files (`docs/benchmarks.md`).
pub const FASTEST: Cipher = if cfg!(any(target_arch = "wasm32", feature = "portable")) {
    Cipher::XChaCha20Poly1305
} else {
    Cipher::Aegis256X2
};

/// Size of a stored nonce, in bytes.
pub const NONCE_SIZE: usize = 12;

/// Size of a tag, in bytes.
pub const TAG_SIZE: usize = 16;

/// The stored part of a nonce: random, new for every sealing.
pub type Nonce = [u8; NONCE_SIZE];

/// Authenticates a sealed unit, its place and its key.
pub type Tag = [u8; TAG_SIZE];

/// The most associated data that a caller may add, in bytes.
pub const ASSOCIATED_SIZE_MAX: usize = 64;

const PLACE_SIZE: usize = 20;

/// A sealed unit did not open: key, place, associated data, nonce, tag or ciphertext differs from
/// the sealing. It is not possible to say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not authentic: wrong key, or damaged or moved data; check the key or restore a backup")]
pub struct NotAuthentic;

/// Identifies where a sealed unit is stored. It is part of nonce and associated data, so a unit
/// that was moved does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of unit: page, frame, record.
    pub kind: u8,
    /// Its number among the units of its kind.
    pub location: u64,
    /// Further identification, such as the salt of a log; zero if there is none.
    pub context: u64,
}

impl Place {
    /// Location (8 bytes, little-endian), kind, three zeros, context (8 bytes, little-endian).
    #[must_use]
    pub fn to_bytes(self) -> [u8; PLACE_SIZE] {
        let mut bytes = [0; PLACE_SIZE];
        bytes[..8].copy_from_slice(&self.location.to_le_bytes());
        bytes[8] = self.kind;
        bytes[12..].copy_from_slice(&self.context.to_le_bytes());
        bytes
    }
}

/// Seals and opens units under one key. Each file handle has one.
///
/// Its methods take `&mut self` because it caches derived sub-keys of AES-256-GCM.
pub struct PageSealer(Engine);

enum Engine {
    Aegis256X2(Key),
    Aegis256(Key),
    Aes256Gcm(Box<GroupKeys>),
    XChaCha20Poly1305(Key),
}

impl PageSealer {
    /// Prepares `cipher` with `key`.
    #[must_use]
    pub fn new(cipher: Cipher, key: &Key) -> Self {
        Self(match cipher {
            Cipher::Aegis256X2 => Engine::Aegis256X2(key.duplicate()),
            Cipher::Aegis256 => Engine::Aegis256(key.duplicate()),
            Cipher::Aes256Gcm => Engine::Aes256Gcm(Box::new(GroupKeys::new(key))),
            Cipher::XChaCha20Poly1305 => Engine::XChaCha20Poly1305(key.duplicate()),
        })
    }

    /// The cipher that this sealer was made for.
    #[must_use]
    pub fn cipher(&self) -> Cipher {
        match self.0 {
            Engine::Aegis256X2(_) => Cipher::Aegis256X2,
            Engine::Aegis256(_) => Cipher::Aegis256,
            Engine::Aes256Gcm(_) => Cipher::Aes256Gcm,
            Engine::XChaCha20Poly1305(_) => Cipher::XChaCha20Poly1305,
        }
    }

    /// Encrypts `plaintext` into `ciphertext` and returns the tag.
    ///
    /// `nonce` must be fresh. `associated` is authenticated and not stored; this function appends
    /// the place to it.
    ///
    /// # Panics
    ///
    /// If the two buffers differ in length, or `associated` is longer than [`ASSOCIATED_SIZE_MAX`].
    #[must_use]
    pub fn seal(
        &mut self,
        nonce: &Nonce,
        place: Place,
        associated: &[u8],
        plaintext: &[u8],
        ciphertext: &mut [u8],
    ) -> Tag {
        assert_eq!(
            plaintext.len(),
            ciphertext.len(),
            "a sealed unit keeps its length"
        );
        ciphertext.copy_from_slice(plaintext);
        let nonce = LongNonce::new(nonce, place);
        let associated = Associated::new(associated, place);
        let associated = associated.bytes();
        match &mut self.0 {
            Engine::Aegis256X2(key) => {
                Aegis256X2::new(key.expose(), nonce.all()).encrypt_in_place(ciphertext, associated)
            }
            Engine::Aegis256(key) => {
                Aegis256::new(key.expose(), nonce.all()).encrypt_in_place(ciphertext, associated)
            }
            Engine::Aes256Gcm(keys) => keys.seal(place, nonce.stored(), associated, ciphertext),
            Engine::XChaCha20Poly1305(key) => {
                extended::seal(key, nonce.extended(), associated, ciphertext)
            }
        }
    }

    /// Decrypts `ciphertext` into `plaintext` if it is authentic.
    ///
    /// `ciphertext` may be memory that another process writes to: it is read once.
    ///
    /// # Errors
    /// [`NotAuthentic`]; `plaintext` is then all zeros.
    ///
    /// # Panics
    /// If the two buffers differ in length, or `associated` is longer than
    /// [`ASSOCIATED_SIZE_MAX`].
    pub fn open(
        &mut self,
        nonce: &Nonce,
        place: Place,
        associated: &[u8],
        ciphertext: &[u8],
        tag: &Tag,
        plaintext: &mut [u8],
    ) -> Result<(), NotAuthentic> {
        assert_eq!(
            ciphertext.len(),
            plaintext.len(),
            "a sealed unit keeps its length"
        );
        plaintext.copy_from_slice(ciphertext);
        let nonce = LongNonce::new(nonce, place);
        let associated = Associated::new(associated, place);
        let associated = associated.bytes();
        let is_authentic = match &mut self.0 {
            Engine::Aegis256X2(key) => Aegis256X2::new(key.expose(), nonce.all())
                .decrypt_in_place(plaintext, tag, associated)
                .is_ok(),
            Engine::Aegis256(key) => Aegis256::new(key.expose(), nonce.all())
                .decrypt_in_place(plaintext, tag, associated)
                .is_ok(),
            Engine::Aes256Gcm(keys) => keys.open(place, nonce.stored(), associated, tag, plaintext),
            Engine::XChaCha20Poly1305(key) => {
                extended::open(key, nonce.extended(), associated, tag, plaintext)
            }
        };
        if is_authentic {
            return Ok(());
        }
        plaintext.zeroize();
        Err(NotAuthentic)
    }
}

impl fmt::Debug for PageSealer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PageSealer({}, ..)", self.cipher().name())
    }
}

/// Stored nonce and place; each cipher uses as many bytes as its nonce has.
struct LongNonce([u8; NONCE_SIZE + PLACE_SIZE]);

impl LongNonce {
    fn new(stored: &Nonce, place: Place) -> Self {
        let mut bytes = [0; NONCE_SIZE + PLACE_SIZE];
        bytes[..NONCE_SIZE].copy_from_slice(stored);
        bytes[NONCE_SIZE..].copy_from_slice(&place.to_bytes());
        Self(bytes)
    }

    fn all(&self) -> &[u8; 32] {
        &self.0
    }

    fn extended(&self) -> &[u8; 24] {
        self.0.first_chunk().expect("32 bytes hold 24")
    }

    fn stored(&self) -> &Nonce {
        self.0.first_chunk().expect("32 bytes hold 12")
    }
}

/// The caller's associated data and the place, side by side on the stack.
struct Associated {
    bytes: [u8; ASSOCIATED_SIZE_MAX + PLACE_SIZE],
    size: usize,
}

impl Associated {
    fn new(given: &[u8], place: Place) -> Self {
        assert!(
            given.len() <= ASSOCIATED_SIZE_MAX,
            "associated data of at most 64 bytes"
        );
        let size = given.len() + PLACE_SIZE;
        let mut bytes = [0; ASSOCIATED_SIZE_MAX + PLACE_SIZE];
        bytes[..given.len()].copy_from_slice(given);
        bytes[given.len()..size].copy_from_slice(&place.to_bytes());
        Self { bytes, size }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }
}

#[cfg(test)]
mod tests;
