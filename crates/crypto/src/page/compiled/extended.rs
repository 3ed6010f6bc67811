//! XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha): HChaCha20 derives a sub-key from the key and the
//! first 16 bytes of the nonce; ChaCha20-Poly1305 (RFC 8439) seals with it.
//!
//! The two parts come from different libraries because the second is several times faster than the
//! complete construction of the first (`examples/page_cost.rs`).

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce as ChaChaNonce, UnboundKey};
use chacha20::{R20, hchacha};
use zeroize::Zeroize;

use crate::page::{TAG_SIZE, Tag};
use crate::secret::Key;

/// Seals in place.
pub fn seal(key: &Key, nonce: &[u8; 24], associated: &[u8], content: &mut [u8]) -> Tag {
    let (key, nonce) = inner(key, nonce);
    let mut tag = [0; TAG_SIZE];
    key.seal_in_place_scatter(nonce, Aad::from(associated), content, &[], &mut tag)
        .expect("a unit is shorter than the 256 GiB of the cipher");
    tag
}

/// Opens in place. Returns whether the content was authentic; if not, the content is unspecified.
pub fn open(key: &Key, nonce: &[u8; 24], associated: &[u8], tag: &Tag, content: &mut [u8]) -> bool {
    let (key, nonce) = inner(key, nonce);
    key.open_in_place_separate_tag(nonce, Aad::from(associated), tag, content)
        .is_ok()
}

/// Sub-key and nonce of ChaCha20-Poly1305: four zeros and the last 8 bytes.
fn inner(key: &Key, nonce: &[u8; 24]) -> (LessSafeKey, ChaChaNonce) {
    let (prefix, suffix) = nonce.split_first_chunk::<16>().expect("24 bytes hold 16");
    let mut sub_key = hchacha::<R20>(key.expose().into(), prefix.into());
    let inner_key = UnboundKey::new(&CHACHA20_POLY1305, &sub_key).expect("the key has 32 bytes");
    sub_key.zeroize();
    let mut inner_nonce = [0; 12];
    inner_nonce[4..].copy_from_slice(suffix);
    (
        LessSafeKey::new(inner_key),
        ChaChaNonce::assume_unique_for_key(inner_nonce),
    )
}

#[cfg(test)]
mod tests {
    use chacha20poly1305::aead::AeadInOut;
    use chacha20poly1305::{KeyInit, XChaCha20Poly1305};

    use super::*;

    /// That library is proven against the draft's vector in `tests/vectors.rs`.
    #[test]
    fn the_two_halves_make_xchacha20_poly1305() {
        for size in [0_u8, 1, 63, 64, 65, 200] {
            let key = [size ^ 0x55; 32];
            let nonce = std::array::from_fn(|index| size.wrapping_mul(3) ^ index as u8);
            let plaintext: Vec<u8> = (0..size).collect();

            let mut expected = plaintext.clone();
            let expected_tag = XChaCha20Poly1305::new(&key.into())
                .encrypt_inout_detached(&nonce.into(), b"data", expected.as_mut_slice().into())
                .unwrap();

            let mut content = plaintext.clone();
            let key = Key::from_bytes(key);
            let tag = seal(&key, &nonce, b"data", &mut content);
            assert_eq!(
                (&content, &tag[..]),
                (&expected, &expected_tag[..]),
                "{size} bytes"
            );
            assert!(
                open(&key, &nonce, b"data", &tag, &mut content),
                "{size} bytes"
            );
            assert_eq!(content, plaintext, "{size} bytes");
        }
    }
}
