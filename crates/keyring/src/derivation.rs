//! From a secret to the key of a slot, and what that costs on this machine.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crypto::kdf::Argon2idParameters;
use crypto::secret::{Key, SecretBytes};

use crate::Credential;
use crate::slots::UnlockError;

static STRETCHED: AtomicU64 = AtomicU64::new(0);

/// How often this process has derived a key from a passphrase for a slot; for tests and status.
pub fn passphrases_stretched() -> u64 {
    STRETCHED.load(Ordering::Relaxed)
}

/// The key that a secret gives for a slot with this salt and cost.
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

/// The cost of a new slot for this secret.
pub(crate) fn cost_for(credential: &Credential) -> Result<Option<Argon2idParameters>, UnlockError> {
    match credential {
        Credential::Passphrase(_) => Ok(Some(calibrated()?)),
        Credential::RawKey(_) | Credential::KeyFile(_) => Ok(None),
    }
}

/// Passes that take about a sixth of a second on this machine, measured once in a process; never
/// fewer than the default, which is above the floor.
fn calibrated() -> Result<Argon2idParameters, UnlockError> {
    const TARGET_MS: u128 = 160;
    // What the default limit of the work for a header allows.
    const PASSES_MAX: u32 = 12;
    static MEASURED: OnceLock<Argon2idParameters> = OnceLock::new();
    if let Some(parameters) = MEASURED.get() {
        return Ok(*parameters);
    }
    let default = Argon2idParameters::DEFAULT;
    let start = Instant::now();
    crypto::kdf::derive_from_passphrase(
        &SecretBytes::new(b"calibration".to_vec()),
        &[0; 16],
        default,
    )?;
    let pass_ms = start.elapsed().as_millis().max(1) / u128::from(default.passes);
    let passes = u32::try_from(TARGET_MS / pass_ms.max(1)).unwrap_or(PASSES_MAX);
    let passes = passes.clamp(default.passes, PASSES_MAX);
    Ok(*MEASURED.get_or_init(|| Argon2idParameters { passes, ..default }))
}
