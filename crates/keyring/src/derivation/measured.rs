//! The cost of a passphrase, measured on this machine.

use std::sync::OnceLock;
use std::time::Instant;

use crypto::kdf::Argon2idParameters;
use crypto::secret::SecretBytes;

use crate::unlocked::UnlockError;

/// As many passes as take about a sixth of a second here, measured once per process; never fewer
/// than the default, which is above the floor.
pub fn of_passphrase() -> Result<Argon2idParameters, UnlockError> {
    const TARGET_MS: u128 = 160;
    // The most passes that the default work limit for a header allows.
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
