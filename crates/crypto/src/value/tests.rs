//! Each cipher against another implementation, and inputs that must not open.

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
fn long_values_are_sealed_as_another_implementation_does() {
    use aes_gcm_siv::Aes256GcmSiv;
    use aes_gcm_siv::aead::{Aead, Payload};

    let own = LongSealer::new(&Key::from_bytes(MAC));
    let other = Aes256GcmSiv::new(&MAC.into());
    let nonce = [1, 2, 3, 4, 5, 6, 7, 8];
    for size in (0..=70).chain([127, 128, 129, 500, 4096]) {
        let mut sealed = content(size);
        let tag = own.seal(&nonce, b"associated", &mut sealed);
        let payload = Payload {
            msg: &content(size),
            aad: b"associated",
        };
        let whole_nonce = [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0];
        let expected = other.encrypt(&whole_nonce.into(), payload).unwrap();
        assert_eq!(expected, [&sealed[..], &tag].concat(), "{size} bytes");
        let mut opened = vec![1; size];
        own.open(&nonce, b"associated", &sealed, &tag, &mut opened)
            .unwrap();
        assert_eq!(opened, content(size));
    }
}

#[test]
fn a_changed_bit_of_a_long_value_does_not_open_and_leaves_nothing() {
    let sealer = LongSealer::new(&Key::from_bytes(MAC));
    let mut sealed = content(80);
    let tag = sealer.seal(&[5; 8], b"associated", &mut sealed);
    let whole = [&[5; 8][..], &tag, &sealed].concat();
    let open = |whole: &[u8], associated: &[u8]| {
        let (nonce, rest) = whole.split_first_chunk().unwrap();
        let (tag, sealed) = rest.split_first_chunk().unwrap();
        let mut content = vec![1; sealed.len()];
        let opened = sealer.open(nonce, associated, sealed, tag, &mut content);
        assert!(opened.is_ok() || content.iter().all(|byte| *byte == 0));
        opened
    };
    assert_eq!(open(&whole, b"associated"), Ok(()));
    assert_eq!(open(&whole, b"another"), Err(NotAuthentic));
    for bit in 0..8 * whole.len() {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(open(&changed, b"associated"), Err(NotAuthentic), "{bit}");
    }
}

/// The other one takes digits of any radix.
#[test]
fn numbers_are_encrypted_as_another_implementation_does() {
    use fpe::ff1::{FF1, FlexibleNumeralString};

    let digits = |number: u64| -> Vec<u16> {
        (0..64)
            .rev()
            .map(|place| (number >> place & 1) as u16)
            .collect()
    };
    let own = NumberCipher::new(&Key::from_bytes(MAC));
    let other = FF1::<Aes256>::new(&MAC, 2).unwrap();
    let some = (0..64).map(|place| 1_u64 << place);
    let some = some.chain((0..200).map(|index| u64::MAX / 199 * index));
    for number in some.chain([0, u64::MAX, u64::MAX - 1]) {
        let encrypted = own.encrypt(number);
        let text = FlexibleNumeralString::from(digits(number));
        let expected: Vec<u16> = other.encrypt(&[], &text).unwrap().into();
        assert_eq!(digits(encrypted), expected, "{number}");
        assert_eq!(own.decrypt(encrypted), number);
    }
    let another = NumberCipher::new(&Key::from_bytes(ENCRYPTION));
    assert_ne!(another.encrypt(1), own.encrypt(1));
}

/// `aws-lc-rs` has key wrap with padding, too.
#[test]
fn short_values_are_wrapped_as_another_implementation_does() {
    use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrapPadded};

    let own = BlockSealer::new(&Key::from_bytes(MAC));
    for size in 1..=BLOCK_CONTENT_SIZE_MAX {
        let sealed = own.seal(&content(size));
        let other = AesKek::new(&AES_256, &MAC).unwrap();
        let mut expected = [0; 16];
        other
            .wrap_with_padding(&content(size), &mut expected)
            .unwrap();
        assert_eq!(sealed, expected, "{size} bytes");
        let mut opened = vec![0; size];
        own.open(&sealed, &mut opened).unwrap();
        assert_eq!(opened, content(size));
        for wrong in (1..=BLOCK_CONTENT_SIZE_MAX).filter(|wrong| *wrong != size) {
            assert_eq!(own.open(&sealed, &mut vec![0; wrong]), Err(NotAuthentic));
        }
        for bit in 0..128 {
            let mut changed = sealed;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(own.open(&changed, &mut opened), Err(NotAuthentic));
        }
    }
}

/// NIST SP 800-38B, appendix D.3: AES-256.
#[test]
fn short_codes_are_the_beginning_of_cmac() {
    let key: [u8; 32] = [
        0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77,
        0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14,
        0xdf, 0xf4,
    ];
    let message = [
        0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17,
        0x2a,
    ];
    let mac = ShortMac::new(&Key::from_bytes(key));
    assert_eq!(mac.of(&message), 0x28a7_023f_452e_8f82_u64.to_be_bytes());
    assert_eq!(mac.of(&[]), 0x0289_62f6_1b7b_f89e_u64.to_be_bytes());
    let token = TokenMac::new(&Key::from_bytes(key)).of(&message);
    assert_eq!(token[..8], mac.of(&message));
    assert!(mac.is_of(&message, &mac.of(&message)));
    assert!(!mac.is_of(&message[1..], &mac.of(&message)));
}

#[test]
fn a_number_is_found_by_the_sums_of_masks_and_bits() {
    let function = PrefixFunction::new(&Key::from_bytes(MAC));
    for (number, bits) in [
        (0, 1),
        (1, 1),
        (0b10, 2),
        (0xab_cdef, 24),
        (0, 37),
        (0x1f_ffff_ffff, 37),
        (u64::MAX, 64),
        (0x0123_4567_89ab_cdef, 64),
    ] {
        let mut sums = Vec::new();
        function.masks::<4095>(number, bits, |mask| {
            let left = u32::from(bits) - 1 - sums.len() as u32;
            sums.push(mask + (number >> left & 1) as u16);
        });
        let found = function.number::<4095>(bits, |place| sums[usize::from(place)]);
        assert_eq!(found, Some(number), "{bits} bits");
        for place in 0..sums.len() {
            for change in [2, 4094] {
                let mut changed = sums.clone();
                changed[place] = (changed[place] + change) % 4096;
                let found = function.number::<4095>(bits, |place| changed[usize::from(place)]);
                assert_ne!(found, Some(number), "{bits} bits, {place}");
            }
        }
    }
}

#[test]
fn masks_depend_on_the_bits_before_and_on_nothing_else() {
    let function = PrefixFunction::new(&Key::from_bytes(MAC));
    let masks = |number, bits| {
        let mut masks = Vec::new();
        function.masks::<4095>(number, bits, |mask| masks.push(mask));
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
