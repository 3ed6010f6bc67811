//! Types for keys and passphrases: redacted when printed, wiped when dropped.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// Size of a [`Key`], in bytes.
pub const KEY_SIZE: usize = 32;

/// A 256-bit secret.
///
/// The bytes are on the heap, so moving a `Key` leaves no copy behind. They are overwritten when it
/// is dropped. There is no `PartialEq`, which would compare in variable time, and no `Clone`, which
/// would make copies of a secret hard to spot in the code: see [`Key::constant_time_eq`] and
/// [`Key::duplicate`].
///
/// ```compile_fail,E0369
/// # use crypto::secret::Key;
/// let key = Key::from_bytes([1; 32]);
/// assert!(key == key);
/// ```
pub struct Key(Box<[u8; KEY_SIZE]>);

impl Key {
    /// Takes the bytes of a key. The caller wipes its own copy.
    #[must_use]
    pub fn from_bytes(bytes: [u8; KEY_SIZE]) -> Self {
        Self(Box::new(bytes))
    }

    /// Takes the bytes of a key from a slice; `None` unless it holds exactly [`KEY_SIZE`] bytes.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; KEY_SIZE] = bytes.try_into().ok()?;
        let mut key = Self::zero();
        key.0.copy_from_slice(bytes);
        Some(key)
    }

    /// The bytes of the key, for handing to a cipher.
    #[must_use]
    pub fn expose(&self) -> &[u8; KEY_SIZE] {
        &self.0
    }

    /// A second copy of the key, which is wiped independently.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let mut key = Self::zero();
        key.0.copy_from_slice(&self.0[..]);
        key
    }

    /// Whether two keys are equal, in a time that does not depend on where they differ.
    #[must_use]
    pub fn constant_time_eq(&self, other: &Self) -> bool {
        self.0[..].ct_eq(&other.0[..]).into()
    }

    /// Room for a key that a function of this crate fills in place.
    pub(crate) fn zero() -> Self {
        Self(Box::new([0; KEY_SIZE]))
    }

    /// The bytes of the key, to be filled in place.
    pub(crate) fn expose_mut(&mut self) -> &mut [u8; KEY_SIZE] {
        &mut self.0
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(..)")
    }
}

/// Secret bytes of any length, such as a passphrase. Overwritten when dropped.
///
/// ```compile_fail,E0369
/// # use crypto::secret::SecretBytes;
/// let secret = SecretBytes::new(b"passphrase".to_vec());
/// assert!(secret == secret);
/// ```
pub struct SecretBytes(Vec<u8>);

impl SecretBytes {
    /// Takes over the bytes.
    ///
    /// Copies that a growing vector left in freed memory cannot be wiped here: read a passphrase
    /// into a vector that is large enough from the start.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The secret bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// A second copy, which is wiped independently.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(self.0.clone())
    }

    /// Whether two secrets are equal, in a time that reveals only their lengths.
    #[must_use]
    pub fn constant_time_eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Whether there are no bytes at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretBytes(..)")
    }
}

/// How much of the stack [`wipe_stack`] overwrites: enough for the calls that handle keys,
/// including SQLite's frames above those that read a page, and far less than any thread's stack.
const STACK_SIZE_WIPED: usize = 32 * 1024;

/// Overwrites what calls that have returned left on the stack below the caller.
///
/// Ciphers and hashes work on copies of their keys, and moving a value leaves a copy behind. The
/// code that made such a copy cannot wipe it once its frame is gone.
///
/// Zeros are written once, at the speed of memory: opening a file does this a dozen times.
#[inline(never)]
pub fn wipe_stack() {
    let mut frames = [0_u8; STACK_SIZE_WIPED];
    // Keeps the compiler from removing the writes.
    std::hint::black_box(&mut frames);
}

/// Runs `work` in a separate stack frame, and overwrites the stack that it used.
pub(crate) fn leaving_no_trace<T>(work: impl FnOnce() -> T) -> T {
    let result = in_own_frame(work);
    wipe_stack();
    result
}

/// Its frame, including inlined callees, lies below the caller's.
#[inline(never)]
fn in_own_frame<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_prints_its_bytes() {
        assert_eq!(format!("{:?}", Key::from_bytes([0xab; 32])), "Key(..)");
        let secret = SecretBytes::new(b"correct horse".to_vec());
        assert_eq!(format!("{secret:?}"), "SecretBytes(..)");
    }

    #[test]
    fn a_key_has_exactly_32_bytes() {
        assert!(Key::from_slice(&[1; 31]).is_none());
        assert!(Key::from_slice(&[1; 33]).is_none());
        assert_eq!(Key::from_slice(&[1; 32]).unwrap().expose(), &[1; 32]);
    }

    #[test]
    fn equality_sees_every_byte() {
        let key = Key::from_bytes([7; 32]);
        assert!(key.constant_time_eq(&key.duplicate()));
        for position in 0..KEY_SIZE {
            let mut bytes = [7; 32];
            bytes[position] ^= 0x80;
            assert!(
                !key.constant_time_eq(&Key::from_bytes(bytes)),
                "byte {position}"
            );
        }
    }
}
