//! Derivation of slot keys from secrets, and its cost on this machine.

// WebAssembly has no clock to measure the cost with.
#[cfg_attr(target_arch = "wasm32", path = "derivation/fixed.rs")]
#[cfg_attr(not(target_arch = "wasm32"), path = "derivation/measured.rs")]
mod cost;

use std::sync::atomic::{AtomicU64, Ordering};

use crypto::kdf::Argon2idParameters;
use crypto::secret::Key;

use crate::Credential;
use crate::unlocked::UnlockError;

static STRETCHED: AtomicU64 = AtomicU64::new(0);

/// How often this process has derived a slot key from a passphrase; for tests and status.
pub fn passphrases_stretched() -> u64 {
    STRETCHED.load(Ordering::Relaxed)
}

/// Derives the key of a slot with this salt and cost from a secret.
pub(crate) fn slot_key(
    credential: &Credential,
    kdf: Option<Argon2idParameters>,
    salt: &[u8; 16],
) -> Result<Key, UnlockError> {
    match (credential, kdf) {
        (Credential::Passphrase(secret), Some(parameters)) => {
            STRETCHED.fetch_add(1, Ordering::Relaxed);
            Ok(crypto::kdf::derive_from_passphrase(
                secret, salt, parameters,
            )?)
        }
        (Credential::RawKey(key) | Credential::KeyFile(key), None) => Ok(crypto::kdf::derive_key(
            key,
            salt,
            b"strongroom raw key slot 1",
        )),
        (Credential::Passphrase(_), None)
        | (Credential::RawKey(_) | Credential::KeyFile(_), Some(_)) => Err(UnlockError::WrongKey),
    }
}

/// The derivation cost for a new slot with this secret.
pub(crate) fn cost_for(credential: &Credential) -> Result<Option<Argon2idParameters>, UnlockError> {
    match credential {
        Credential::Passphrase(_) => Ok(Some(cost::of_passphrase()?)),
        Credential::RawKey(_) | Credential::KeyFile(_) => Ok(None),
    }
}
