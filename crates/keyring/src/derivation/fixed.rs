//! What a passphrase costs where it cannot be measured.

use crypto::kdf::Argon2idParameters;

use crate::unlocked::UnlockError;

/// The default: a fifth of a second in browsers of 2026 on a desk.
#[expect(clippy::unnecessary_wraps, reason = "as where it is measured")]
pub fn of_passphrase() -> Result<Argon2idParameters, UnlockError> {
    Ok(Argon2idParameters::DEFAULT)
}
