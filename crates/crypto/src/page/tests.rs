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

#[test]
fn any_change_is_refused_and_leaves_no_plaintext() {
    let plaintext = page(512);
    for cipher in Cipher::ALL {
        let (ciphertext, tag) = sealed(cipher, &plaintext);
        let mut sealer = PageSealer::new(cipher, &key());
        let mut refused = |nonce: &Nonce, place, associated: &[u8], text: &[u8], tag: &Tag| {
            let mut opened = vec![0xff; text.len()];
            let outcome = sealer.open(nonce, place, associated, text, tag, &mut opened);
            outcome == Err(NotAuthentic) && opened.iter().all(|byte| *byte == 0)
        };

        for bit in 0..plaintext.len() * 8 {
            let mut damaged = ciphertext.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                refused(&NONCE, PLACE, b"file", &damaged, &tag),
                "{cipher:?} bit {bit}"
            );
        }
        for bit in 0..TAG_SIZE * 8 {
            let mut damaged = tag;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                refused(&NONCE, PLACE, b"file", &ciphertext, &damaged),
                "{cipher:?} {bit}"
            );
        }
        for bit in 0..NONCE_SIZE * 8 {
            let mut damaged = NONCE;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                refused(&damaged, PLACE, b"file", &ciphertext, &tag),
                "{cipher:?} {bit}"
            );
        }
        for elsewhere in [
            Place { kind: 2, ..PLACE },
            Place {
                location: PLACE.location ^ 1,
                ..PLACE
            },
            Place {
                location: PLACE.location ^ (1 << 63),
                ..PLACE
            },
            Place {
                context: PLACE.context ^ 1,
                ..PLACE
            },
            Place {
                context: PLACE.context ^ (1 << 63),
                ..PLACE
            },
        ] {
            assert!(
                refused(&NONCE, elsewhere, b"file", &ciphertext, &tag),
                "{elsewhere:?}"
            );
        }
        for other in [&b"filf"[..], b"fil", b"file\0", b""] {
            assert!(
                refused(&NONCE, PLACE, other, &ciphertext, &tag),
                "{cipher:?} {other:?}"
            );
        }
        assert!(
            refused(&NONCE, PLACE, b"file", &ciphertext[..511], &tag),
            "{cipher:?}"
        );
    }
}

#[test]
fn a_cipher_does_not_open_what_another_sealed() {
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

/// More groups than the table of sub-keys has slots, in an order that evicts and derives again.
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
