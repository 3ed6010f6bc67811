//! AES-SIV against another implementation, and inputs that must not open.

use aes_siv::KeyInit;
use aes_siv::siv::Aes256Siv;

use super::*;

const MAC: [u8; 32] = [7; 32];
const ENCRYPTION: [u8; 32] = [9; 32];

fn deterministic(associated: &[u8]) -> DeterministicSealer {
    let (mac, encryption) = (Key::from_bytes(MAC), Key::from_bytes(ENCRYPTION));
    DeterministicSealer::new(&mac, &encryption, associated)
}

/// Bytes that differ from each other and between sizes.
fn content(size: usize) -> Vec<u8> {
    (0..size)
        .map(|index| (index * 37 + size * 11) as u8)
        .collect()
}

#[test]
fn aes_siv_agrees_with_another_implementation() {
    let mut key = [0; 64];
    key[..32].copy_from_slice(&MAC);
    key[32..].copy_from_slice(&ENCRYPTION);
    for size in (0..=70).chain([127, 128, 129, 500, 4096]) {
        for associated in [&b""[..], b"\x02\x01", &[3; 16], &[5; 40]] {
            let mut sealed = content(size);
            let tag = deterministic(associated).seal(&mut sealed);
            let expected = Aes256Siv::new(&key.into())
                .encrypt([associated], &content(size))
                .unwrap();
            assert_eq!(expected[..16], tag, "tag of {size} bytes");
            assert_eq!(expected[16..], sealed, "{size} bytes");
            deterministic(associated).open(&tag, &mut sealed).unwrap();
            assert_eq!(sealed, content(size));
        }
    }
}

#[test]
fn a_changed_bit_does_not_open_and_leaves_nothing() {
    let sealer = deterministic(b"associated");
    for size in [1, 8, 16, 40] {
        let mut sealed = content(size);
        let tag = sealer.seal(&mut sealed);
        for bit in 0..8 * (16 + size) {
            let mut changed = [&tag[..], &sealed].concat();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (tag, content) = changed.split_at_mut(16);
            let tag: Tag = (&*tag).try_into().unwrap();
            assert_eq!(sealer.open(&tag, content), Err(NotAuthentic));
            assert!(content.iter().all(|byte| *byte == 0));
        }
        let mut elsewhere = sealed.clone();
        let other = deterministic(b"another");
        assert_eq!(other.open(&tag, &mut elsewhere), Err(NotAuthentic));
    }
}

#[test]
fn random_sealing_opens_and_refuses_changes() {
    let sealer = RandomSealer::new(&Key::from_bytes(MAC));
    let nonce = [4; VALUE_NONCE_SIZE];
    for size in [0, 1, 16, 33, 500] {
        let mut sealed = content(size);
        let tag = sealer.seal(&nonce, b"head", &mut sealed);
        let mut opened = vec![0; size];
        sealer
            .open(&nonce, b"head", &sealed, &tag, &mut opened)
            .unwrap();
        assert_eq!(opened, content(size));
        let wrong = sealer.open(&nonce, b"heap", &sealed, &tag, &mut opened);
        assert_eq!(wrong, Err(NotAuthentic));
        assert!(opened.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn aes_256_gcm_siv_matches_the_rfc() {
    // RFC 8452, appendix C.2: key 01 00…, nonce 03 00…, no associated data, plaintext 01 and
    // seven zeros.
    let mut key = [0; 32];
    key[0] = 1;
    let mut nonce = [0; VALUE_NONCE_SIZE];
    nonce[0] = 3;
    let mut content = [1, 0, 0, 0, 0, 0, 0, 0];
    let tag = RandomSealer::new(&Key::from_bytes(key)).seal(&nonce, b"", &mut content);
    assert_eq!(content, [0xc2, 0xef, 0x32, 0x8e, 0x5c, 0x71, 0xc8, 0x3b]);
    let expected = 0x8431_2213_0f73_64b7_61e0_b974_27e3_df28_u128;
    assert_eq!(u128::from_be_bytes(tag), expected);
}

#[test]
fn masks_depend_on_the_bits_before_and_on_nothing_else() {
    let function = PrefixFunction::new(&Key::from_bytes(MAC));
    let masks = |number, bits| {
        let mut masks = Vec::new();
        function.masks(number, bits, 4095, |mask| masks.push(mask));
        masks
    };
    let (left, right) = (masks(0b1011_0110, 8), masks(0b1011_1001, 8));
    assert_eq!(left.len(), 8);
    // The numbers differ first in bit 4: the masks of bits 0 to 4 see the same bits before them.
    assert_eq!(left[..5], right[..5]);
    assert_ne!(left[5..], right[5..]);
    assert!(left.iter().all(|mask| *mask < 4095));
    assert_ne!(masks(0, 8)[..8], masks(0, 16)[..8]);
    assert_eq!(masks(u64::MAX, 64).len(), 64);
}
