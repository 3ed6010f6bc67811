//! XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha): HChaCha20 makes a sub-key of the key and the
//! first 16 bytes of the nonce, ChaCha20-Poly1305 (RFC 8439) seals with it.

use chacha20::{R20, hchacha};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::chacha20::{GROUP_SIZE, Group, Stream, combine};
use super::lanes::{Lanes, Words};
use super::poly1305;
use crate::page::Tag;
use crate::secret::Key;

/// Block 0 is the key of the tag; the content begins at block 1.
const BLOCK_SIZE: usize = 64;
const BLOCK_VECTORS: usize = 4;

/// Seals in place.
pub fn seal(key: &Key, nonce: &[u8; 24], associated: &[u8], content: &mut [u8]) -> Tag {
    let stream = stream(key, nonce);
    let first = stream.group::<Words>(0);
    apply(&stream, &first, content);
    poly1305::tag(&tag_key(&first), associated, content)
}

/// Opens in place; whether the content was authentic. If not, it is unspecified.
pub fn open(key: &Key, nonce: &[u8; 24], associated: &[u8], tag: &Tag, content: &mut [u8]) -> bool {
    let stream = stream(key, nonce);
    let first = stream.group::<Words>(0);
    let expected = poly1305::tag(&tag_key(&first), associated, content);
    let is_authentic = bool::from(expected.ct_eq(tag));
    if is_authentic {
        apply(&stream, &first, content);
    }
    is_authentic
}

fn stream(key: &Key, nonce: &[u8; 24]) -> Stream {
    let (prefix, suffix) = nonce.split_first_chunk::<16>().expect("24 bytes hold 16");
    let suffix = suffix.first_chunk().expect("8 bytes are left of 24");
    let mut sub_key = hchacha::<R20>(key.expose().into(), prefix.into());
    let stream = Stream::new(&sub_key.into(), suffix);
    sub_key.zeroize();
    stream
}

/// The first half of block 0.
fn tag_key(first: &Group<Words>) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    for (half, words) in key.as_chunks_mut().0.iter_mut().zip(first) {
        words.store(half);
    }
    key
}

/// Combines with the keystream from block 1 on, of which the first group is there already.
fn apply(stream: &Stream, first: &Group<Words>, content: &mut [u8]) {
    let size = content.len().min(GROUP_SIZE - BLOCK_SIZE);
    let (head, rest) = content.split_at_mut(size);
    combine(head, &first[BLOCK_VECTORS..]);
    stream.apply::<Words>(4, rest);
}
