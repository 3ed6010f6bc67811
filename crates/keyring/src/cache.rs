//! Cache of derived slot keys for the files that this process has open, so that a second connection
//! with the same secret needs no second derivation.
//!
//! Invariants:
//!
//! 1. An entry exists only while a [`Lease`] on its file does; dropping the last lease wipes it.
//! 2. A secret is identified by its HMAC under a random key of this process, and is not stored.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crypto::secret::Key;

use crate::{Credential, EntropyError};

type FileId = [u8; 16];
/// The HMAC of a secret. It uses the key type, which is compared in constant time and wiped.
type Fingerprint = Key;

struct Opened {
    fingerprint: Fingerprint,
    slot: usize,
    generation_salt: [u8; 16],
    kek: Key,
}

#[derive(Default)]
struct Entry {
    leases: usize,
    opened: Vec<Opened>,
}

static ENTRIES: LazyLock<Mutex<HashMap<FileId, Entry>>> = LazyLock::new(Mutex::default);
static FINGERPRINT_KEY: Mutex<Option<Key>> = Mutex::new(None);

/// Keeps the derived keys of one file cached while it lives.
#[derive(Debug)]
pub struct Lease {
    file_id: FileId,
}

impl Lease {
    /// Registers another user of the file.
    pub fn new(file_id: FileId) -> Self {
        entries().entry(file_id).or_default().leases += 1;
        Lease { file_id }
    }

    /// Creates another lease on the same file.
    pub fn another(&self) -> Self {
        Lease::new(self.file_id)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut entries = entries();
        if let Some(entry) = entries.get_mut(&self.file_id) {
            entry.leases -= 1;
            if entry.leases == 0 {
                entries.remove(&self.file_id);
            }
        }
    }
}

/// The cached slot key for this secret and a slot with this salt, if any.
pub(crate) fn recall(
    file_id: &FileId,
    slot: usize,
    salt: &[u8; 16],
    fingerprint: &Fingerprint,
) -> Option<Key> {
    entries().get(file_id)?.opened.iter().find_map(|opened| {
        (opened.slot == slot
            && opened.generation_salt == *salt
            && opened.fingerprint.constant_time_eq(fingerprint))
        .then(|| opened.kek.duplicate())
    })
}

/// Caches a derived slot key while a lease on the file lives.
pub(crate) fn remember(
    file_id: &FileId,
    slot: usize,
    salt: &[u8; 16],
    fingerprint: &Fingerprint,
    kek: &Key,
) {
    if let Some(entry) = entries().get_mut(file_id) {
        entry.opened.retain(|opened| opened.slot != slot);
        entry.opened.push(Opened {
            fingerprint: fingerprint.duplicate(),
            slot,
            generation_salt: *salt,
            kek: kek.duplicate(),
        });
    }
}

/// The number of files with cached keys; for tests and status.
pub fn cached_files() -> usize {
    entries().len()
}

/// The fingerprint by which a secret is looked up in this process.
pub(crate) fn fingerprint(credential: &Credential) -> Result<Fingerprint, EntropyError> {
    let mut guard = FINGERPRINT_KEY
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let key = match &*guard {
        Some(key) => key.duplicate(),
        None => {
            let key = crate::random_key()?;
            *guard = Some(key.duplicate());
            key
        }
    };
    drop(guard);
    let secret = match credential {
        Credential::Passphrase(secret) => secret.expose(),
        Credential::RawKey(raw) | Credential::KeyFile(raw) => raw.expose(),
    };
    Ok(Key::from_bytes(crypto::mac::authenticate(&key, secret)))
}

fn entries() -> MutexGuard<'static, HashMap<FileId, Entry>> {
    // A poisoned lock is usable: nothing that panics runs while it is held.
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}
