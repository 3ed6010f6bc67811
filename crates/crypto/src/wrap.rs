//! A key encrypted under another key, with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha).
//!
//! The nonce has 192 bits, so a random one per wrapping never repeats in practice.

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};

use crate::page::{NotAuthentic, TAG_SIZE};
use crate::secret::{KEY_SIZE, Key, leaving_no_trace};

/// Size of a wrapped key, in bytes: 32 of ciphertext, 16 of tag.
pub const WRAPPED_KEY_SIZE: usize = KEY_SIZE + TAG_SIZE;

/// Nonce of one wrapping. Random, and never used twice with one key-encryption key.
pub type WrapNonce = [u8; 24];

/// Encrypts `key` under `kek`, the key-encryption key. `associated` is authenticated, not kept.
#[must_use]
pub fn wrap_key(
    kek: &Key,
    nonce: &WrapNonce,
    associated: &[u8],
    key: &Key,
) -> [u8; WRAPPED_KEY_SIZE] {
    let mut wrapped = [0; WRAPPED_KEY_SIZE];
    let (body, tag) = wrapped.split_at_mut(KEY_SIZE);
    body.copy_from_slice(key.expose());
    let computed = leaving_no_trace(|| {
        XChaCha20Poly1305::new(kek.expose().into())
            .encrypt_inout_detached(nonce.into(), associated, body.into())
            .expect("a key is shorter than the limit of the cipher")
    });
    tag.copy_from_slice(&computed);
    wrapped
}

/// Decrypts a key that [`wrap_key`] encrypted.
///
/// # Errors
/// [`NotAuthentic`] if the key-encryption key, the nonce, the associated data or the wrapped key
/// is not the one of the wrapping.
pub fn unwrap_key(
    kek: &Key,
    nonce: &WrapNonce,
    associated: &[u8],
    wrapped: &[u8; WRAPPED_KEY_SIZE],
) -> Result<Key, NotAuthentic> {
    let (body, tag) = wrapped.split_at(KEY_SIZE);
    let tag: &[u8; TAG_SIZE] = tag.try_into().expect("48 - 32 = 16");
    let mut key = Key::zero();
    key.expose_mut().copy_from_slice(body);
    let outcome = leaving_no_trace(|| {
        XChaCha20Poly1305::new(kek.expose().into()).decrypt_inout_detached(
            nonce.into(),
            associated,
            key.expose_mut().as_mut_slice().into(),
            tag.into(),
        )
    });
    outcome.map(|()| key).map_err(|_| NotAuthentic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_key_comes_back() {
        let (kek, key) = (Key::from_bytes([1; 32]), Key::from_bytes([2; 32]));
        let wrapped = wrap_key(&kek, &[3; 24], b"slot 0", &key);
        let unwrapped = unwrap_key(&kek, &[3; 24], b"slot 0", &wrapped).unwrap();
        assert!(unwrapped.constant_time_eq(&key));
    }

    #[test]
    fn any_flipped_bit_is_refused() {
        let (kek, key) = (Key::from_bytes([1; 32]), Key::from_bytes([2; 32]));
        let wrapped = wrap_key(&kek, &[3; 24], b"slot 0", &key);
        for bit in 0..WRAPPED_KEY_SIZE * 8 {
            let mut damaged = wrapped;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let outcome = unwrap_key(&kek, &[3; 24], b"slot 0", &damaged);
            assert!(outcome.is_err(), "bit {bit}");
        }
        assert!(unwrap_key(&kek, &[3; 24], b"slot 1", &wrapped).is_err());
        assert!(unwrap_key(&kek, &[4; 24], b"slot 0", &wrapped).is_err());
        assert!(unwrap_key(&key, &[3; 24], b"slot 0", &wrapped).is_err());
    }
}
