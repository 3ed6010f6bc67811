//! Masks small fields that SQLite derives from plaintext and that have no room for a tag.
//!
//! A journal or write-ahead log stores checksums and counters of the plaintext in fields of fixed
//! size. A mask encrypts such a field without changing its size; it does not authenticate it.

use std::fmt;

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use xts_mode::Xts128;

use crate::kdf::derive_key;
use crate::page::Nonce;
use crate::secret::{Key, leaving_no_trace};

/// Masks blocks of 16 bytes and words of 4.
pub struct FieldMask(Box<Ciphers>);

/// On the heap, so that moving a mask leaves no copy of its keys behind.
struct Ciphers {
    block: Xts128<Aes256>,
    word: Aes256,
}

impl FieldMask {
    /// Derives three AES-256 keys from `key` with HKDF-SHA256: two for the blocks, one for words.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let derive = |info: &[u8]| derive_key(key, b"", info);
        let block = derive(b"strongroom field mask: xts block");
        let tweak = derive(b"strongroom field mask: xts tweak");
        let word = derive(b"strongroom field mask: word");
        let aes = |key: &Key| Aes256::new(key.expose().into());
        Self(leaving_no_trace(|| {
            Box::new(Ciphers {
                block: Xts128::new(aes(&block), aes(&tweak)),
                word: aes(&word),
            })
        }))
    }

    /// Encrypts one block in place with AES-256-XTS (IEEE 1619).
    ///
    /// Deterministic: equal blocks under the same tweak have equal ciphertexts.
    pub fn encrypt_block(&self, tweak: [u8; 16], block: &mut [u8; 16]) {
        self.0.block.encrypt_sector(block, tweak.into());
    }

    /// Reverses [`FieldMask::encrypt_block`].
    pub fn decrypt_block(&self, tweak: [u8; 16], block: &mut [u8; 16]) {
        self.0.block.decrypt_sector(block, tweak.into());
    }

    /// A word of keystream, to be combined with a 32-bit field by exclusive or: the first four
    /// bytes, little-endian, of the AES-256 encryption of `nonce` and `location` (little-endian).
    ///
    /// It is used once because the nonce is.
    #[must_use]
    pub fn word(&self, nonce: &Nonce, location: u32) -> u32 {
        let mut block = [0; 16];
        block[..12].copy_from_slice(nonce);
        block[12..].copy_from_slice(&location.to_le_bytes());
        self.0.word.encrypt_block((&mut block).into());
        let (word, _) = block.split_first_chunk().expect("16 bytes hold 4");
        u32::from_le_bytes(*word)
    }
}

impl fmt::Debug for FieldMask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FieldMask(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_only_under_its_tweak() {
        let mask = FieldMask::new(&Key::from_bytes([5; 32]));
        let plaintext = *b"sixteen bytes ok";
        let mut block = plaintext;
        mask.encrypt_block([1; 16], &mut block);
        assert_ne!(block, plaintext);
        let mut elsewhere = block;
        mask.decrypt_block([2; 16], &mut elsewhere);
        assert_ne!(elsewhere, plaintext);
        mask.decrypt_block([1; 16], &mut block);
        assert_eq!(block, plaintext);
    }

    #[test]
    fn a_word_depends_on_key_nonce_and_location() {
        let mask = FieldMask::new(&Key::from_bytes([5; 32]));
        let word = mask.word(&[1; 12], 7);
        assert_eq!(
            word,
            FieldMask::new(&Key::from_bytes([5; 32])).word(&[1; 12], 7)
        );
        assert_ne!(
            word,
            FieldMask::new(&Key::from_bytes([6; 32])).word(&[1; 12], 7)
        );
        assert_ne!(word, mask.word(&[2; 12], 7));
        assert_ne!(word, mask.word(&[1; 12], 8));
    }
}
