//! A user's secret: a passphrase or a 256-bit key.

use crypto::secret::{Key, SecretBytes};
use page_codec::header::SlotKind;

/// A secret that opens a key slot. Wiped when dropped; never printed.
#[derive(Debug)]
pub enum Credential {
    /// Stretched by Argon2id.
    Passphrase(SecretBytes),
    /// Used directly, without stretching.
    RawKey(Key),
    /// Like `RawKey`, but read from a file; only the name of the slot kind differs.
    KeyFile(Key),
}

impl Credential {
    /// A passphrase.
    pub fn passphrase(bytes: impl Into<Vec<u8>>) -> Self {
        Credential::Passphrase(SecretBytes::new(bytes.into()))
    }

    /// A 256-bit key.
    pub fn raw_key(key: Key) -> Self {
        Credential::RawKey(key)
    }

    /// A 256-bit key that was read from a file.
    pub fn key_file(key: Key) -> Self {
        Credential::KeyFile(key)
    }

    /// The slot kind for this secret.
    pub fn slot_kind(&self) -> SlotKind {
        match self {
            Credential::Passphrase(_) => SlotKind::Passphrase,
            Credential::RawKey(_) => SlotKind::RawKey,
            Credential::KeyFile(_) => SlotKind::KeyFile,
        }
    }

    /// Copies the secret, for a second owner.
    pub fn duplicate(&self) -> Self {
        match self {
            Credential::Passphrase(secret) => Credential::Passphrase(secret.duplicate()),
            Credential::RawKey(key) => Credential::RawKey(key.duplicate()),
            Credential::KeyFile(key) => Credential::KeyFile(key.duplicate()),
        }
    }

    /// Whether this secret can open a slot of this kind.
    pub(crate) fn fits(&self, kind: SlotKind) -> bool {
        match kind {
            SlotKind::Passphrase => matches!(self, Credential::Passphrase(_)),
            SlotKind::RawKey | SlotKind::KeyFile => !matches!(self, Credential::Passphrase(_)),
        }
    }
}
