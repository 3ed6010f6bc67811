//! Known answers for the Rust ciphers, and comparison with the native libraries.

use ::poly1305::Poly1305;
use ::poly1305::universal_hash::{KeyInit, UniversalHash};

use super::poly1305::{PARTS_SIZE, Sum};
use super::{extended, gcm};
use crate::page::compiled;
use crate::secret::Key;

/// Pseudo-random bytes that are the same in every run.
struct Bytes(u64);

impl Bytes {
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            *byte = (self.0 >> 32) as u8;
        }
    }

    fn array<const SIZE: usize>(&mut self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        self.fill(&mut bytes);
        bytes
    }

    fn vec(&mut self, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        self.fill(&mut bytes);
        bytes
    }
}

/// Every length around the boundaries of blocks and groups, and page sizes.
fn sizes() -> impl Iterator<Item = usize> {
    (0..=600).chain([4064, 4096, 65_504])
}

#[test]
fn xchacha20_poly1305_agrees_with_the_native_library() {
    let mut bytes = Bytes(0x9e37_79b9_7f4a_7c15);
    for size in sizes() {
        let key = Key::from_bytes(bytes.array());
        let nonce = bytes.array();
        let associated = bytes.vec(size % 85);
        let plaintext = bytes.vec(size);

        let (mut one, mut other) = (plaintext.clone(), plaintext.clone());
        let tag = extended::seal(&key, &nonce, &associated, &mut one);
        let expected = compiled::extended::seal(&key, &nonce, &associated, &mut other);
        assert_eq!((&one, tag), (&other, expected), "{size} bytes");

        assert!(extended::open(&key, &nonce, &associated, &tag, &mut one));
        assert_eq!(one, plaintext, "{size} bytes");
        let mut damaged = tag;
        damaged[size % 16] ^= 1 << (size % 8);
        let refused = !extended::open(&key, &nonce, &associated, &damaged, &mut other);
        assert!(refused, "{size} bytes");
    }
}

#[test]
fn aes_256_gcm_agrees_with_the_native_library() {
    let mut bytes = Bytes(0xd1b5_4a32_d192_ed03);
    for size in sizes() {
        let key = Key::from_bytes(bytes.array());
        let nonce = bytes.array();
        let associated = bytes.vec(size % 85);
        let plaintext = bytes.vec(size);

        let (mut one, mut other) = (plaintext.clone(), plaintext.clone());
        let ours = gcm::GcmKey::new(&key);
        let tag = ours.seal(&nonce, &associated, &mut one);
        let theirs = compiled::gcm::GcmKey::new(&key);
        let expected = theirs.seal(&nonce, &associated, &mut other);
        assert_eq!((&one, tag), (&other, expected), "{size} bytes");
        for opens in [
            ours.open(&nonce, &associated, &tag, &mut one),
            theirs.open(&nonce, &associated, &tag, &mut other),
        ] {
            assert!(opens, "{size} bytes");
        }
        assert_eq!((&one, &other), (&plaintext, &plaintext), "{size} bytes");
    }
}

/// The library's tag of associated data and content.
fn expected_tag(key: &[u8; 32], associated: &[u8], content: &[u8]) -> [u8; 16] {
    let mut poly = Poly1305::new(key.into());
    poly.update_padded(associated);
    poly.update_padded(content);
    let sizes = [associated.len() as u64, content.len() as u64].map(u64::to_le_bytes);
    poly.update_padded(sizes.as_flattened());
    poly.finalize().into()
}

/// The tag of content that is added at once, which must equal that of content added in parts.
fn tag(key: &[u8; 32], associated: &[u8], content: &[u8]) -> [u8; 16] {
    let mut whole = Sum::new(key, associated);
    whole.add_padded(content);
    let mut parted = Sum::new(key, associated);
    let (pieces, rest) = content.as_chunks::<PARTS_SIZE>();
    for piece in pieces {
        (0..10).for_each(|part| parted.add_part(part, piece));
    }
    parted.add_padded(rest);
    let tag = whole.tag();
    assert_eq!(parted.tag(), tag);
    tag
}

#[test]
fn poly1305_agrees_with_the_library() {
    let mut bytes = Bytes(0x2545_f491_4f6c_dd1d);
    for size in sizes() {
        let key = bytes.array();
        let (associated, content) = (bytes.vec(size % 85), bytes.vec(size));
        let tag = tag(&key, &associated, &content);
        assert_eq!(tag, expected_tag(&key, &associated, &content), "{size}");
    }
}

/// Blocks and keys of all ones and zeros reach the limits of limbs and carries.
#[test]
fn poly1305_agrees_with_the_library_at_the_limits_of_its_limbs() {
    let mut bytes = Bytes(0x6c62_272e_07bb_0142);
    for _ in 0..4096 {
        let extreme = |byte: u8| match byte % 4 {
            0 => 0x00,
            1 => 0xff,
            2 => 0xfe,
            _ => 0x01,
        };
        let key = bytes.array::<32>().map(extreme);
        let size = usize::from(bytes.array::<1>()[0]) * 3;
        let content: Vec<u8> = bytes.vec(size).into_iter().map(extreme).collect();
        let tag = tag(&key, &[], &content);
        assert_eq!(
            tag,
            expected_tag(&key, &[], &content),
            "{key:x?} {content:x?}"
        );
    }
}

/// RFC 8439, 2.8.2, which differs only in its nonce: its Poly1305 key and ciphertext.
#[test]
fn poly1305_gives_the_tag_of_the_rfc() {
    let key = "7bac2b252db447af09b67a55a4e955840ae1d6731075d9eb2a9375783ed553ff";
    let associated = "50515253c0c1c2c3c4c5c6c7";
    let content = "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6\
                   3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36\
                   92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
                   3ff4def08e4b7a9de576d26586cec64b6116";
    let tag = tag(
        &hex(key).try_into().expect("32 bytes"),
        &hex(associated),
        &hex(content),
    );
    assert_eq!(tag.to_vec(), hex("1ae10b594f09e26a7e902ecbd0600691"));
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(|pair| byte(pair).expect("digits")).collect()
}
