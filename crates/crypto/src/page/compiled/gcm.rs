//! AES-256-GCM (NIST SP 800-38D) with a prepared key.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce as GcmNonce, UnboundKey};

use crate::page::{Nonce, TAG_SIZE, Tag};
use crate::secret::Key;

/// A prepared key.
pub struct GcmKey(LessSafeKey);

impl GcmKey {
    pub fn new(key: &Key) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key.expose()).expect("the key has 32 bytes");
        Self(LessSafeKey::new(key))
    }

    /// Seals in place.
    pub fn seal(&self, nonce: &Nonce, associated: &[u8], content: &mut [u8]) -> Tag {
        let mut tag = [0; TAG_SIZE];
        let nonce = GcmNonce::assume_unique_for_key(*nonce);
        self.0
            .seal_in_place_scatter(nonce, Aad::from(associated), content, &[], &mut tag)
            .expect("a unit is shorter than the 64 GiB of the cipher");
        tag
    }

    /// Opens in place. Returns whether the content was authentic; if not, the content is
    /// unspecified.
    pub fn open(&self, nonce: &Nonce, associated: &[u8], tag: &Tag, content: &mut [u8]) -> bool {
        let nonce = GcmNonce::assume_unique_for_key(*nonce);
        self.0
            .open_in_place_separate_tag(nonce, Aad::from(associated), tag, content)
            .is_ok()
    }
}
