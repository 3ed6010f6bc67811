//! Key slots of a file, and the sources that keys are read from. Independent of SQLite.
#![forbid(unsafe_code)]

pub mod cache;
mod credential;
mod derivation;
mod key_file;
pub mod rotation;
pub mod slots;
pub mod source;
mod unlock;
mod unlocked;
pub mod work;
mod wrapping;

pub use credential::Credential;
use crypto::secret::Key;
use thiserror::Error;
use zeroize::Zeroize;

/// The operating system's random number generator failed.
#[derive(Debug, Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct EntropyError(#[from] getrandom::Error);

/// Random bytes for a nonce, a salt or a name.
///
/// # Errors
/// When the operating system's generator fails.
pub fn random_array<const N: usize>() -> Result<[u8; N], EntropyError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// A random 256-bit key.
///
/// # Errors
/// When the operating system's generator fails.
pub fn random_key() -> Result<Key, EntropyError> {
    let mut bytes = random_array::<32>()?;
    let key = Key::from_bytes(bytes);
    bytes.zeroize();
    Ok(key)
}
