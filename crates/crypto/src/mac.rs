//! Checksum and message authentication, for headers and records.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::secret::{Key, leaving_no_trace};

/// SHA-256 (FIPS 180-4) of `data`. Detects accidental damage, not attacks.
#[must_use]
pub fn checksum(data: &[u8]) -> [u8; 32] {
    Sha256::digest(data).into()
}

/// SHA-256 (FIPS 180-4) of data that comes in pieces.
#[derive(Clone, Default)]
pub struct Checksum(Sha256);

impl Checksum {
    /// Adds a piece.
    pub fn add(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The checksum of all pieces, concatenated.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// HMAC-SHA256 (RFC 2104) of `data` under `key`.
#[must_use]
pub fn authenticate(key: &Key, data: &[u8]) -> [u8; 32] {
    leaving_no_trace(|| keyed(key, data).finalize().into_bytes().into())
}

/// Whether `tag` is the HMAC-SHA256 of `data` under `key`; compares in constant time.
#[must_use]
pub fn verify(key: &Key, data: &[u8], tag: &[u8; 32]) -> bool {
    leaving_no_trace(|| keyed(key, data).verify_slice(tag).is_ok())
}

/// Whether `tag` is the first half of the HMAC-SHA256 of `data` (RFC 2104, section 5); compares in
/// constant time.
#[must_use]
pub fn verify_half(key: &Key, data: &[u8], tag: &[u8]) -> bool {
    const HALF: usize = 16;
    let verified = || keyed(key, data).verify_truncated_left(tag).is_ok();
    tag.len() == HALF && leaving_no_trace(verified)
}

fn keyed(key: &Key, data: &[u8]) -> Hmac<Sha256> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.expose())
        .expect("HMAC takes keys of any length");
    mac.update(data);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_checksum_of_the_whole() {
        let mut pieces = Checksum::default();
        pieces.add(b"hea");
        pieces.add(b"der");
        assert_eq!(pieces.finish(), checksum(b"header"));
    }

    #[test]
    fn a_tag_verifies_only_with_its_key_and_data() {
        let key = Key::from_bytes([3; 32]);
        let mut tag = authenticate(&key, b"header");
        assert!(verify(&key, b"header", &tag));
        assert!(!verify(&key, b"heades", &tag));
        assert!(!verify(&Key::from_bytes([4; 32]), b"header", &tag));
        tag[31] ^= 1;
        assert!(verify_half(&key, b"header", &tag[..16]));
        assert!(!verify_half(&key, b"header", &tag[..15]));
        assert!(!verify_half(&key, b"headet", &tag[..16]));
        assert!(!verify(&key, b"header", &tag));
    }
}
