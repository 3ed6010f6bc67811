//! Sealing of single values, and what sorts them.
//!
//! | type | is | hides |
//! |---|---|---|
//! | [`DeterministicSealer`] | AES-SIV with 256-bit keys, RFC 5297 | all but length and equality |
//! | [`LongSealer`] | AES-256-GCM-SIV, RFC 8452, with a nonce | all but the length |
//! | [`BlockSealer`] | AES key wrap with padding of at most 8 bytes, RFC 5649 | all but equality |
//! | [`NumberCipher`] | FF1 of NIST SP 800-38G over 64 bits, without a tag | all but equality |
//! | [`PrefixFunction`] | a keyed function of the first bits of a number | |
//! | [`ShortMac`] | AES-CMAC, RFC 4493, the first 8 bytes | |
//!
//! The caller derives a separate key for each purpose (column, version). To seal values so that
//! equal ones differ, it adds a random [`ValueNonce`] to the content of a [`DeterministicSealer`]:
//! AES-SIV is secure for contents that differ (Rogaway and Shrimpton, 2006). A [`LongSealer`] takes
//! the nonce beside the content.
//!
//! # Limits
//! Among 2^32 values of a key, two have the same nonce with a chance of 40 %. That reveals only
//! whether these two values are equal.

mod blocks;
mod long;
mod number;
mod prefix;

use aes::Aes256;
use aes::cipher::{Block, BlockCipherDecrypt, KeyInit};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::page::{NotAuthentic, Tag};
use crate::secret::{Key, leaving_no_trace};

use blocks::{Bytes, Chain, One, Stream, with};
pub use long::LongSealer;
pub use number::NumberCipher;
pub use prefix::PrefixFunction;

/// Size of the nonce of a value, in bytes.
pub const VALUE_NONCE_SIZE: usize = 8;

/// A random nonce, new for every sealing.
pub type ValueNonce = [u8; VALUE_NONCE_SIZE];

type AesBlock = Block<Aes256>;

/// Seals values so that equal ones have equal ciphertexts: AES-SIV of RFC 5297 with one associated
/// string. It is implemented here because that string is the same for all values of a column, so
/// its part of the work is done once. A value of fewer than 16 bytes takes two block encryptions.
pub struct DeterministicSealer(Box<SivKey>);

/// On the heap, so that moving the sealer leaves no copy behind.
struct SivKey {
    mac: Cmac,
    encryption: Aes256,
    /// S2V's state after the associated string.
    state: Zeroizing<u128>,
}

/// CMAC (RFC 4493).
struct Cmac {
    cipher: Aes256,
    /// The sub-key for a whole last block.
    whole: Zeroizing<u128>,
    /// The sub-key for a padded last block.
    padded: Zeroizing<u128>,
}

/// Doubling in GF(2^128), without a branch on the secret bit.
fn double(value: u128) -> u128 {
    (value << 1) ^ ((value >> 127) * 0x87)
}

/// Up to 16 bytes as a block; a shorter value is padded with a 1 bit and zeros.
fn padded_block(bytes: &[u8]) -> Bytes {
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(bytes);
    if let Some(end) = block.get_mut(bytes.len()) {
        *end = 0x80;
    }
    u128::from_ne_bytes(block)
}

impl DeterministicSealer {
    /// Prepares S2V with `mac`, CTR with `encryption`, and the string that is bound to every value.
    #[must_use]
    pub fn new(mac: &Key, encryption: &Key, associated: &[u8]) -> Self {
        Self(leaving_no_trace(|| {
            let mac = Cmac::new(mac);
            let state = double(mac.of(&[0; 16], 0)) ^ mac.of(associated, 0);
            Box::new(SivKey {
                mac,
                encryption: Aes256::new(encryption.expose().into()),
                state: Zeroizing::new(state),
            })
        }))
    }

    /// Seals `content` in place and returns the tag, which is also the synthetic nonce.
    pub fn seal(&self, content: &mut [u8]) -> Tag {
        let tag = self.0.s2v(content);
        self.0.apply_stream(tag, content);
        tag.to_be_bytes()
    }

    /// Opens `content` in place.
    ///
    /// # Errors
    /// [`NotAuthentic`]; `content` is then all zeros.
    pub fn open(&self, tag: &Tag, content: &mut [u8]) -> Result<(), NotAuthentic> {
        self.0.apply_stream(u128::from_be_bytes(*tag), content);
        let expected = self.0.s2v(content).to_be_bytes();
        if bool::from(expected.ct_eq(tag)) {
            return Ok(());
        }
        content.fill(0);
        Err(NotAuthentic)
    }
}

impl Cmac {
    fn new(key: &Key) -> Self {
        let cipher = Aes256::new(key.expose().into());
        let zero = Zeroizing::new(u128::from_be(with(&cipher, One(0))));
        let whole = Zeroizing::new(double(*zero));
        Self {
            cipher,
            padded: Zeroizing::new(double(*whole)),
            whole,
        }
    }

    /// The code of `bytes`, with `mask` XORed into their last 16 bytes; a mask needs at
    /// least 16.
    fn of(&self, bytes: &[u8], mask: u128) -> u128 {
        let last_size = match bytes.len() % 16 {
            0 if !bytes.is_empty() => 16,
            rest => rest,
        };
        let (head, last) = bytes.split_at(bytes.len() - last_size);
        // The mask straddles the last block and the one before it.
        let shift = 8 * last_size as u32;
        let over_last = mask.checked_shl(128 - shift).unwrap_or(0);
        let sub_key = if last_size == 16 {
            &self.whole
        } else {
            &self.padded
        };
        let chain = Chain {
            head: head.as_chunks().0,
            mask: mask.checked_shr(shift).unwrap_or(0).to_be(),
            last: padded_block(last) ^ (over_last ^ **sub_key).to_be(),
        };
        u128::from_be(with(&self.cipher, chain))
    }
}

impl SivKey {
    /// S2V (RFC 5297, section 2.4).
    fn s2v(&self, content: &[u8]) -> u128 {
        if content.len() >= 16 {
            return self.mac.of(content, *self.state);
        }
        let added = double(*self.state) ^ *self.mac.whole;
        let block = padded_block(content) ^ added.to_be();
        u128::from_be(with(&self.mac.cipher, One(block)))
    }

    /// CTR mode starting at the tag, with two bits cleared as in RFC 5297.
    fn apply_stream(&self, tag: u128, content: &mut [u8]) {
        const CLEARED: u128 = !(1 << 63 | 1 << 31);
        let counter = tag & CLEARED;
        with(&self.encryption, Stream { counter, content });
    }
}

/// Content of a [`BlockSealer`] in bytes, at most.
pub const BLOCK_CONTENT_SIZE_MAX: usize = 8;

/// Seals a short value into one block, equal ones equally: AES key wrap with padding (KWP of NIST
/// SP 800-38F, RFC 5649) for a content of 1 to 8 bytes. The block has 8 bytes that are known, so a
/// forged one opens once in 2^64. The caller knows the size of the content.
pub struct BlockSealer(Box<Aes256>);

impl BlockSealer {
    /// Prepares the cipher with `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| {
            Box::new(Aes256::new(key.expose().into()))
        }))
    }

    /// The sealed `content`.
    pub fn seal(&self, content: &[u8]) -> Tag {
        debug_assert!((1..=BLOCK_CONTENT_SIZE_MAX).contains(&content.len()));
        let mut block = known_half(content.len());
        block[8..][..content.len()].copy_from_slice(content);
        with(&self.0, One(u128::from_ne_bytes(block))).to_ne_bytes()
    }

    /// Opens into `content`, which has the size of what was sealed.
    ///
    /// # Errors
    /// [`NotAuthentic`]; `content` is then unchanged.
    pub fn open(&self, sealed: &Tag, content: &mut [u8]) -> Result<(), NotAuthentic> {
        let mut block = AesBlock::from(*sealed);
        self.0.decrypt_block(&mut block);
        let block = <[u8; 16]>::from(block);
        let mut expected = known_half(content.len());
        expected[8..][..content.len()].copy_from_slice(&block[8..][..content.len()]);
        if !bool::from(expected.ct_eq(&block)) {
            return Err(NotAuthentic);
        }
        content.copy_from_slice(&block[8..][..content.len()]);
        Ok(())
    }
}

/// The first half of a block (RFC 5649, section 3), and zeros.
fn known_half(size: usize) -> [u8; 16] {
    let mut block = [0; 16];
    block[..4].copy_from_slice(&[0xa6, 0x59, 0x59, 0xa6]);
    block[7] = size as u8;
    block
}

/// Size of a [`ShortMac`]'s code, in bytes.
pub const SHORT_MAC_SIZE: usize = 8;

/// Authenticates short values that are kept beside their code: AES-CMAC, cut to 64 bits as NIST SP
/// 800-38B allows.
pub struct ShortMac(Box<Cmac>);

impl ShortMac {
    /// Prepares the cipher with `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| Box::new(Cmac::new(key))))
    }

    /// The code of `bytes`.
    pub fn of(&self, bytes: &[u8]) -> [u8; SHORT_MAC_SIZE] {
        ((self.0.of(bytes, 0) >> 64) as u64).to_be_bytes()
    }

    /// Whether it is the code of `bytes`; compares in constant time.
    pub fn is_of(&self, bytes: &[u8], code: &[u8; SHORT_MAC_SIZE]) -> bool {
        self.of(bytes).ct_eq(code).into()
    }
}

/// Size of a token, in bytes.
pub const TOKEN_SIZE: usize = 16;

/// Makes *tokens*: equal strings have equal ones, and nobody without the key learns more. AES-CMAC.
pub struct TokenMac(Box<Cmac>);

impl TokenMac {
    /// Prepares the cipher with `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| Box::new(Cmac::new(key))))
    }

    /// The token of `bytes`.
    pub fn of(&self, bytes: &[u8]) -> [u8; TOKEN_SIZE] {
        self.0.of(bytes, 0).to_be_bytes()
    }
}

#[cfg(test)]
mod tests;
