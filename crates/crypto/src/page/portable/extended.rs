//! XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha): HChaCha20 derives a sub-key from the key and the
//! first 16 bytes of the nonce; ChaCha20-Poly1305 (RFC 8439) seals with it.

use chacha20::{R20, hchacha};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use super::chacha20::{GROUP_SIZE, Group, Stream, combine};
use super::lanes::{Lanes, Words};
use super::poly1305::Sum;
use crate::page::Tag;
use crate::secret::Key;

/// Block 0 is the Poly1305 key; the content starts with block 1.
const BLOCK_SIZE: usize = 64;
const BLOCK_VECTORS: usize = 4;

/// The first block after the first group.
const FIRST_REST: u32 = 4;

/// Seals in place: generates the keystream of each piece while the piece before is authenticated.
pub fn seal(key: &Key, nonce: &[u8; 24], associated: &[u8], content: &mut [u8]) -> Tag {
    let stream = stream(key, nonce);
    let first = stream.group::<Words>(0);
    let (head, rest) = split(content);
    combine(head, &first[BLOCK_VECTORS..]);
    let mut sum = Sum::new(&tag_key(&first), associated);
    sum.add_padded(head);
    let mut before: &[u8] = &[];
    for (counter, piece) in (FIRST_REST..).step_by(4).zip(rest.chunks_mut(GROUP_SIZE)) {
        let whole = <&[u8; GROUP_SIZE]>::try_from(before).ok();
        let keys = stream.group_beside::<Words>(counter, |round| {
            if let Some(whole) = whole {
                sum.add_part(round, whole);
            }
        });
        combine(piece, &keys);
        before = piece;
    }
    sum.add_padded(before);
    sum.tag()
}

/// Opens in place. Returns whether the content was authentic; if not, the content is unspecified.
pub fn open(key: &Key, nonce: &[u8; 24], associated: &[u8], tag: &Tag, content: &mut [u8]) -> bool {
    let stream = stream(key, nonce);
    let first = stream.group::<Words>(0);
    let (head, rest) = split(content);
    let mut sum = Sum::new(&tag_key(&first), associated);
    sum.add_padded(head);
    combine(head, &first[BLOCK_VECTORS..]);
    let (pieces, last) = rest.as_chunks_mut::<GROUP_SIZE>();
    let mut counter = FIRST_REST;
    for piece in pieces {
        let keys = stream.group_beside::<Words>(counter, |round| sum.add_part(round, piece));
        combine(piece, &keys);
        counter += 4;
    }
    sum.add_padded(last);
    combine(last, &stream.group::<Words>(counter));
    bool::from(sum.tag().ct_eq(tag))
}

fn stream(key: &Key, nonce: &[u8; 24]) -> Stream {
    let (prefix, suffix) = nonce.split_first_chunk::<16>().expect("24 bytes hold 16");
    let suffix = suffix.first_chunk().expect("8 bytes are left of 24");
    let mut sub_key = hchacha::<R20>(key.expose().into(), prefix.into());
    let stream = Stream::new(&sub_key.into(), suffix);
    sub_key.zeroize();
    stream
}

/// The Poly1305 key: the first half of block 0.
fn tag_key(first: &Group<Words>) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    for (half, words) in key.as_chunks_mut().0.iter_mut().zip(first) {
        words.store(half);
    }
    key
}

/// Splits content into the part that is XORed with the first group, after the Poly1305 key, and the
/// rest.
fn split(content: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    let size = content.len().min(GROUP_SIZE - BLOCK_SIZE);
    content.split_at_mut(size)
}
