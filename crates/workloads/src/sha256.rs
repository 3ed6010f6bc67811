//! SHA-256 (FIPS 180-4) of concatenated texts.

use sha2::{Digest, Sha256};

/// The digest in hexadecimal digits.
pub(crate) fn sha256<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
    }
    hash.finalize()
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}
