//! Sealing of long values.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::{VALUE_NONCE_SIZE, ValueNonce};
use crate::page::{NotAuthentic, TAG_SIZE, Tag};
use crate::secret::{Key, leaving_no_trace};

/// Seals long values so that equal ones differ: AES-256-GCM-SIV of RFC 8452. It derives two keys
/// for each nonce, which costs as much as to seal a few blocks. After that, blocks are sealed
/// together, while the CMAC of AES-SIV takes one after the other.
pub struct LongSealer(LessSafeKey);

impl LongSealer {
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
            .seal_in_place_scatter(whole(nonce), Aad::from(associated), content, &[], &mut tag)
            .expect("a value is shorter than the 64 GiB of the cipher");
        tag
    }

    /// Opens `sealed` into `content`, which must have the same length.
    ///
    /// # Errors
    /// [`NotAuthentic`]; `content` is then all zeros.
    pub fn open(
        &self,
        nonce: &ValueNonce,
        associated: &[u8],
        sealed: &[u8],
        tag: &Tag,
        content: &mut [u8],
    ) -> Result<(), NotAuthentic> {
        let associated = Aad::from(associated);
        let opened = self
            .0
            .open_separate_gather(whole(nonce), associated, sealed, tag, content);
        opened.map_err(|_| {
            content.fill(0);
            NotAuthentic
        })
    }
}

/// The nonce of the cipher: that of the value, and zeros.
fn whole(nonce: &ValueNonce) -> Nonce {
    let mut whole = [0; NONCE_LEN];
    whole[..VALUE_NONCE_SIZE].copy_from_slice(nonce);
    Nonce::assume_unique_for_key(whole)
}
