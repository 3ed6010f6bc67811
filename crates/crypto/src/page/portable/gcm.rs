//! AES-256-GCM (NIST SP 800-38D) with a prepared key.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit};

use crate::page::{Nonce, Tag};
use crate::secret::Key;

/// A prepared key, on the heap, so that moving it leaves no copy behind.
pub struct GcmKey(Box<Aes256Gcm>);

impl GcmKey {
    pub fn new(key: &Key) -> Self {
        Self(Box::new(Aes256Gcm::new(key.expose().into())))
    }

    /// Seals in place.
    pub fn seal(&self, nonce: &Nonce, associated: &[u8], content: &mut [u8]) -> Tag {
        self.0
            .encrypt_inout_detached(nonce.into(), associated, content.into())
            .expect("a unit is shorter than the 64 GiB of the cipher")
            .into()
    }

    /// Opens in place. Returns whether the content was authentic; if not, the content is
    /// unspecified.
    pub fn open(&self, nonce: &Nonce, associated: &[u8], tag: &Tag, content: &mut [u8]) -> bool {
        self.0
            .decrypt_inout_detached(nonce.into(), associated, content.into(), tag.into())
            .is_ok()
    }
}
