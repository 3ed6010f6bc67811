//! Sealing of single values: at random, so that equal ones differ, and deterministically.
//!
//! | type | is | hides |
//! |---|---|---|
//! | [`RandomSealer`] | AES-256-GCM-SIV, RFC 8452 | all but the length |
//! | [`DeterministicSealer`] | AES-SIV with 256-bit keys, RFC 5297 | all but length and equality |
//! | [`PrefixFunction`] | a keyed function of the first bits of a number | |
//!
//! The caller derives a separate key for each purpose (column, version).
//!
//! # Limits
//! A nonce that repeats by chance reveals only whether two values are equal. So random nonces do
//! not limit a key to 2^32 values, as they do with plain GCM (RFC 8452, section 9).

use aes::Aes256;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};
use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce as SivNonce, UnboundKey};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::page::{NotAuthentic, TAG_SIZE, Tag};
use crate::secret::{Key, leaving_no_trace};

/// Size of the nonce of a [`RandomSealer`], in bytes.
pub const VALUE_NONCE_SIZE: usize = 12;

/// A random nonce, new for every sealing.
pub type ValueNonce = [u8; VALUE_NONCE_SIZE];

/// Seals values so that equal ones differ.
pub struct RandomSealer(LessSafeKey);

impl RandomSealer {
    /// Prepares the cipher with `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| {
            let key = UnboundKey::new(&AES_256_GCM_SIV, key.expose());
            LessSafeKey::new(key.expect("the key has 32 bytes"))
        }))
    }

    /// Seals `content` in place and returns the tag.
    pub fn seal(&self, nonce: &ValueNonce, associated: &[u8], content: &mut [u8]) -> Tag {
        let mut tag = [0; TAG_SIZE];
        self.0
            .seal_in_place_scatter(
                SivNonce::assume_unique_for_key(*nonce),
                Aad::from(associated),
                content,
                &[],
                &mut tag,
            )
            .expect("a value is shorter than the 64 GiB of the cipher");
        tag
    }

    /// Opens `sealed` into `content`, which must have the same length.
    ///
    /// # Errors
    ///
    /// [`NotAuthentic`]; `content` is then all zeros.
    pub fn open(
        &self,
        nonce: &ValueNonce,
        associated: &[u8],
        sealed: &[u8],
        tag: &Tag,
        content: &mut [u8],
    ) -> Result<(), NotAuthentic> {
        let nonce = SivNonce::assume_unique_for_key(*nonce);
        let opened =
            self.0
                .open_separate_gather(nonce, Aad::from(associated), sealed, tag, content);
        opened.map_err(|_| {
            content.fill(0);
            NotAuthentic
        })
    }
}

type AesBlock = Block<Aes256>;

/// Blocks that are encrypted together.
const BLOCKS_AT_ONCE: usize = 8;

/// Seals values so that equal ones have equal ciphertexts: AES-SIV of RFC 5297 with one associated
/// string. It is implemented here because that string is the same for all values of a column, so
/// its part of the work is done once. A value of fewer than 16 bytes takes two block encryptions.
pub struct DeterministicSealer(Box<SivKey>);

/// On the heap, so that moving the sealer leaves no copy behind.
struct SivKey {
    mac: Aes256,
    encryption: Aes256,
    /// CMAC's sub-key for a whole last block.
    whole: Zeroizing<u128>,
    /// CMAC's sub-key for a padded last block.
    padded: Zeroizing<u128>,
    /// S2V's state after the associated string.
    state: Zeroizing<u128>,
}

/// Doubling in GF(2^128), without a branch on the secret bit.
fn double(value: u128) -> u128 {
    (value << 1) ^ ((value >> 127) * 0x87)
}

fn encrypt(cipher: &Aes256, block: u128) -> u128 {
    let mut block = AesBlock::from(block.to_be_bytes());
    cipher.encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

/// Up to 16 bytes as a block; a shorter value is padded with a 1 bit and zeros.
fn padded_block(bytes: &[u8]) -> u128 {
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(bytes);
    if let Some(end) = block.get_mut(bytes.len()) {
        *end = 0x80;
    }
    u128::from_be_bytes(block)
}

impl DeterministicSealer {
    /// Prepares S2V with `mac`, CTR with `encryption`, and the string that is bound to every value.
    #[must_use]
    pub fn new(mac: &Key, encryption: &Key, associated: &[u8]) -> Self {
        Self(leaving_no_trace(|| {
            let cipher = Aes256::new(mac.expose().into());
            let zero = Zeroizing::new(encrypt(&cipher, 0));
            let whole = Zeroizing::new(double(*zero));
            let mut key = SivKey {
                mac: cipher,
                encryption: Aes256::new(encryption.expose().into()),
                padded: Zeroizing::new(double(*whole)),
                whole,
                state: Zeroizing::new(0),
            };
            let of_zero = key.cmac(&[0; 16], 0);
            *key.state = double(of_zero) ^ key.cmac(associated, 0);
            Box::new(key)
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

impl SivKey {
    /// CMAC (RFC 4493) of `bytes`, with `mask` XORed into their last 16 bytes; a mask needs at
    /// least 16.
    fn cmac(&self, bytes: &[u8], mask: u128) -> u128 {
        let last_size = match bytes.len() % 16 {
            0 if !bytes.is_empty() => 16,
            rest => rest,
        };
        let (head, last) = bytes.split_at(bytes.len() - last_size);
        let mut state = 0;
        // The mask straddles the last block and the one before it.
        let shift = 8 * last_size as u32;
        let mut blocks = head.as_chunks::<16>().0.iter().peekable();
        while let Some(block) = blocks.next() {
            state ^= u128::from_be_bytes(*block);
            if blocks.peek().is_none() {
                state ^= mask.checked_shr(shift).unwrap_or(0);
            }
            state = encrypt(&self.mac, state);
        }
        let over_last = mask.checked_shl(128 - shift).unwrap_or(0);
        let sub_key = if last_size == 16 {
            &self.whole
        } else {
            &self.padded
        };
        encrypt(
            &self.mac,
            state ^ padded_block(last) ^ over_last ^ **sub_key,
        )
    }

    /// S2V (RFC 5297, section 2.4).
    fn s2v(&self, content: &[u8]) -> u128 {
        if content.len() >= 16 {
            return self.cmac(content, *self.state);
        }
        let block = double(*self.state) ^ padded_block(content);
        encrypt(&self.mac, block ^ *self.whole)
    }

    /// CTR mode starting at the tag, with two bits cleared as in RFC 5297.
    fn apply_stream(&self, tag: u128, content: &mut [u8]) {
        const CLEARED: u128 = !(1 << 63 | 1 << 31);
        let mut counter = tag & CLEARED;
        for chunk in content.chunks_mut(16 * BLOCKS_AT_ONCE) {
            let mut blocks = [AesBlock::default(); BLOCKS_AT_ONCE];
            let count = chunk.len().div_ceil(16);
            for block in &mut blocks[..count] {
                *block = counter.to_be_bytes().into();
                counter = counter.wrapping_add(1);
            }
            self.encryption.encrypt_blocks(&mut blocks[..count]);
            for (bytes, pad) in chunk.chunks_mut(16).zip(&blocks) {
                for (byte, pad) in bytes.iter_mut().zip(pad) {
                    *byte ^= pad;
                }
            }
        }
    }
}

/// A keyed function of the first bits of a number, for every length of prefix. It masks the digits
/// of order-revealing encryption.
pub struct PrefixFunction(Box<Aes256>);

impl PrefixFunction {
    /// Prepares the function with `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(leaving_no_trace(|| {
            Box::new(Aes256::new(key.expose().into()))
        }))
    }

    /// For each bit of `number`, which has `bits` bits: the function of the bits before it, from 0
    /// to `range` - 1. It is one block of AES-256 over the index of the bit, the bit count and the
    /// bits before, modulo the range.
    pub fn masks(&self, number: u64, bits: u8, range: u16, mut give: impl FnMut(u16)) {
        debug_assert!((1..=64).contains(&bits), "a number has 1 to 64 bits");
        let mut place = 0;
        while place < bits {
            let count = usize::from(bits - place).min(BLOCKS_AT_ONCE);
            let mut blocks = [AesBlock::default(); BLOCKS_AT_ONCE];
            for block in &mut blocks[..count] {
                let before = number.checked_shr(u32::from(bits - place)).unwrap_or(0);
                block[0] = place;
                block[1] = bits;
                block[8..].copy_from_slice(&before.to_be_bytes());
                place += 1;
            }
            self.0.encrypt_blocks(&mut blocks[..count]);
            for block in &blocks[..count] {
                let [.., a, b, c, d, e, f, g, h] = <[u8; 16]>::from(*block);
                let random = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
                let mask = random % u64::from(range);
                give(u16::try_from(mask).expect("less than the range, which is a u16"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
