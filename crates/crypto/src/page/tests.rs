//! Properties of sealing that hold for every cipher.

use super::*;

const PLACE: Place = Place {
    kind: 1,
    location: 5000,
    context: 9,
};
const NONCE: Nonce = [0x4e; NONCE_SIZE];

fn key() -> Key {
    Key::from_bytes([0x6b; 32])
}

fn page(size: usize) -> Vec<u8> {
    (0..size)
        .map(|index| (index * 7 + index / 251) as u8)
        .collect()
}

fn sealed(cipher: Cipher, plaintext: &[u8]) -> (Vec<u8>, Tag) {
    let mut ciphertext = vec![0; plaintext.len()];
    let tag =
        PageSealer::new(cipher, &key()).seal(&NONCE, PLACE, b"file", plaintext, &mut ciphertext);
    (ciphertext, tag)
}

#[test]
fn a_sealer_can_go_to_another_thread() {
    fn needs_send<T: Send>(_: T) {}
    for cipher in Cipher::ALL {
        let sealer = PageSealer::new(cipher, &key());
        assert_eq!(sealer.cipher(), cipher);
        needs_send(sealer);
    }
}

#[test]
fn pages_of_every_size_come_back() {
    for cipher in Cipher::ALL {
        let mut sealer = PageSealer::new(cipher, &key());
        for size in [
            0, 1, 15, 16, 17, 31, 32, 33, 480, 512, 4064, 4096, 65_504, 65_536,
        ] {
            let plaintext = page(size);
            let (ciphertext, tag) = sealed(cipher, &plaintext);
            assert!(size < 16 || ciphertext != plaintext, "{cipher:?} {size}");
            let mut opened = vec![0xff; size];
            let outcome = sealer.open(&NONCE, PLACE, b"file", &ciphertext, &tag, &mut opened);
            assert_eq!(outcome, Ok(()), "{cipher:?} {size}");
            assert_eq!(opened, plaintext, "{cipher:?} {size}");
        }
    }
}

/// Whether opening fails and leaves no plaintext behind.
fn is_refused(
    sealer: &mut PageSealer,
    nonce: &Nonce,
    place: Place,
    associated: &[u8],
    ciphertext: &[u8],
    tag: &Tag,
) -> bool {
    let mut opened = vec![0xff; ciphertext.len()];
    let outcome = sealer.open(nonce, place, associated, ciphertext, tag, &mut opened);
    outcome == Err(NotAuthentic) && opened.iter().all(|byte| *byte == 0)
}

fn with_flipped_bit(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    damaged[bit / 8] ^= 1 << (bit % 8);
    damaged
}

#[test]
fn any_flipped_bit_is_refused() {
    let plaintext = page(512);
    for cipher in Cipher::ALL {
        let (text, tag) = sealed(cipher, &plaintext);
        let mut sealer = PageSealer::new(cipher, &key());
        for bit in 0..text.len() * 8 {
            let damaged = with_flipped_bit(&text, bit);
            let refused = is_refused(&mut sealer, &NONCE, PLACE, b"file", &damaged, &tag);
            assert!(refused, "{cipher:?} ciphertext bit {bit}");
        }
        for bit in 0..TAG_SIZE * 8 {
            let damaged = with_flipped_bit(&tag, bit).try_into().unwrap();
            let refused = is_refused(&mut sealer, &NONCE, PLACE, b"file", &text, &damaged);
            assert!(refused, "{cipher:?} tag bit {bit}");
        }
        for bit in 0..NONCE_SIZE * 8 {
            let damaged = with_flipped_bit(&NONCE, bit).try_into().unwrap();
            let refused = is_refused(&mut sealer, &damaged, PLACE, b"file", &text, &tag);
            assert!(refused, "{cipher:?} nonce bit {bit}");
        }
    }
}

#[test]
fn a_unit_at_another_place_does_not_open() {
    let plaintext = page(512);
    for cipher in Cipher::ALL {
        let (text, tag) = sealed(cipher, &plaintext);
        let mut sealer = PageSealer::new(cipher, &key());
        let mut refused = |place, associated: &[u8]| {
            is_refused(&mut sealer, &NONCE, place, associated, &text, &tag)
        };
        for bit in 0..64 {
            let location = Place {
                location: PLACE.location ^ (1 << bit),
                ..PLACE
            };
            assert!(refused(location, b"file"), "{cipher:?} {location:?}");
            let context = Place {
                context: PLACE.context ^ (1 << bit),
                ..PLACE
            };
            assert!(refused(context, b"file"), "{cipher:?} {context:?}");
        }
        for bit in 0..8 {
            let kind = Place {
                kind: PLACE.kind ^ (1 << bit),
                ..PLACE
            };
            assert!(refused(kind, b"file"), "{cipher:?} {kind:?}");
        }
        for associated in [&b"filf"[..], b"fil", b"file\0", b""] {
            assert!(refused(PLACE, associated), "{cipher:?} {associated:?}");
        }
    }
}

#[test]
fn another_length_is_refused() {
    let plaintext = page(512);
    for cipher in Cipher::ALL {
        let (text, tag) = sealed(cipher, &plaintext);
        let mut sealer = PageSealer::new(cipher, &key());
        for other in [&text[..511], &text[..496], &[], &[&text[..], &[0]].concat()] {
            let refused = is_refused(&mut sealer, &NONCE, PLACE, b"file", other, &tag);
            assert!(refused, "{cipher:?} {} bytes", other.len());
        }
    }
}

#[test]
fn a_cipher_does_not_open_units_of_another() {
    let plaintext = page(512);
    for one in Cipher::ALL {
        let (ciphertext, tag) = sealed(one, &plaintext);
        for other in Cipher::ALL.into_iter().filter(|other| *other != one) {
            let mut opened = vec![0xff; 512];
            let outcome = PageSealer::new(other, &key()).open(
                &NONCE,
                PLACE,
                b"file",
                &ciphertext,
                &tag,
                &mut opened,
            );
            assert_eq!(outcome, Err(NotAuthentic), "{one:?} {other:?}");
        }
    }
}

/// More groups than the cache has slots, in an order that evicts and derives again.
#[test]
fn evicted_sub_keys_are_derived_again() {
    let plaintext = page(64);
    let mut sealer = PageSealer::new(Cipher::Aes256Gcm, &key());
    let places: Vec<Place> = (0..200_u64)
        .map(|group| Place {
            kind: (group % 3) as u8,
            location: group * 1024 + 7,
            context: 0,
        })
        .collect();
    let sealed: Vec<_> = places
        .iter()
        .map(|place| {
            let mut ciphertext = vec![0; plaintext.len()];
            let tag = sealer.seal(&NONCE, *place, b"", &plaintext, &mut ciphertext);
            (ciphertext, tag)
        })
        .collect();
    for (place, (ciphertext, tag)) in places.iter().zip(&sealed) {
        let mut opened = vec![0; plaintext.len()];
        let outcome = sealer.open(&NONCE, *place, b"", ciphertext, tag, &mut opened);
        assert_eq!(outcome, Ok(()), "{place:?}");
        assert_eq!(opened, plaintext, "{place:?}");
    }
    let distinct: std::collections::HashSet<_> = sealed.iter().map(|(text, _)| text).collect();
    assert_eq!(
        distinct.len(),
        places.len(),
        "each group has a key of its own"
    );
}

#[test]
fn places_are_laid_out_as_documented() {
    let place = Place {
        kind: 3,
        location: 0x0102_0304_0506_0708,
        context: 0x1112_1314_1516_1718,
    };
    let expected = [
        8, 7, 6, 5, 4, 3, 2, 1, 3, 0, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
    ];
    assert_eq!(place.to_bytes(), expected);
}
