//! The cost of a passphrase on targets without a clock.

use crypto::kdf::Argon2idParameters;

use crate::unlocked::UnlockError;

/// The default: about 0.2 seconds in desktop browsers of 2026.
#[expect(clippy::unnecessary_wraps, reason = "as where it is measured")]
pub fn of_passphrase() -> Result<Argon2idParameters, UnlockError> {
    Ok(Argon2idParameters::DEFAULT)
}
