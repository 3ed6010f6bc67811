//! Writes our own vectors into `vectors/crypto/`: `cargo run --example write_crypto_vectors`.
//!
//! The output is the same on every run. If it differs from what is committed, files of older
//! versions no longer open: the change needs a new cipher code or format version, not new vectors.
//! Published vectors are not written here; they were copied from their sources.

#[path = "../tests/schema/mod.rs"]
mod schema;

use std::fs;
use std::path::Path;

use anyhow::Context;
use crypto::cipher::Cipher;
use crypto::kdf::{self, Argon2idParameters, XaesDerivation};
use crypto::mask::FieldMask;
use crypto::page::{PageSealer, Place};
use crypto::secret::{Key, SecretBytes};
use crypto::{mac, wrap};
use schema::{Check, Derivation, Hex, Outcome, SealedPage, SubKey, Vector, Verdict};

const PLACE: Place = Place {
    kind: 1,
    location: 5000,
    context: 0x0001_2345_6789_abcd,
};

fn main() -> anyhow::Result<()> {
    pages()?;
    damaged_pages()?;
    sub_keys()?;
    wrapped_keys()?;
    derivations()?;
    passphrases()?;
    masks_and_headers()
}

fn write(name: &str, proves: &str, check: Check) -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/crypto");
    let vector = Vector {
        proves: proves.to_owned(),
        source: None,
        check,
    };
    let text = serde_json::to_string_pretty(&vector)? + "\n";
    let path = folder.join(name).with_extension("json");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn hex(bytes: impl AsRef<[u8]>) -> Hex {
    Hex(bytes.as_ref().to_vec())
}

/// Counting bytes, so that no two inputs are equal.
fn counting<const SIZE: usize>(first: u8) -> [u8; SIZE] {
    std::array::from_fn(|index| first.wrapping_add(index as u8))
}

/// The inputs with which a page is opened.
struct Presented {
    key: [u8; 32],
    nonce: [u8; 12],
    place: Place,
    associated: Vec<u8>,
    sealed: Vec<SealedPage>,
}

impl Presented {
    /// A page of 77 bytes, no multiple of any block, sealed with each of `ciphers`.
    fn new(ciphers: &[Cipher]) -> Self {
        let (key, nonce, associated) = (counting(0x10), counting(0x40), counting::<20>(0x80));
        let sealed = ciphers.iter().map(|cipher| {
            let mut ciphertext = plaintext();
            let tag = PageSealer::new(*cipher, &Key::from_bytes(key)).seal(
                &nonce,
                PLACE,
                &associated,
                &plaintext(),
                &mut ciphertext,
            );
            SealedPage {
                cipher: cipher.name().to_owned(),
                ciphertext: Hex(ciphertext),
                tag: hex(tag),
            }
        });
        Self {
            key,
            nonce,
            place: PLACE,
            associated: associated.to_vec(),
            sealed: sealed.collect(),
        }
    }

    fn check(self, outcome: Outcome) -> Check {
        Check::Page {
            key: hex(self.key),
            nonce: hex(self.nonce),
            kind: self.place.kind,
            location: self.place.location,
            context: self.place.context,
            associated: Hex(self.associated),
            sealed: self.sealed,
            outcome,
        }
    }
}

fn plaintext() -> Vec<u8> {
    counting::<77>(0xc0).to_vec()
}

fn pages() -> anyhow::Result<()> {
    for cipher in Cipher::ALL {
        write(
            &format!("{}_page_opens", cipher.name().replace('-', "_")),
            &format!("A page opens that {} sealed.", cipher.name()),
            Presented::new(&[cipher]).check(Outcome::Opens {
                plaintext: Hex(plaintext()),
            }),
        )?;
    }
    Ok(())
}

/// A name, what it proves, and the change that keeps a valid page from opening.
type Damage = (&'static str, &'static str, fn(&mut Presented));

const DAMAGES: [Damage; 12] = [
    (
        "ciphertext_bit_flipped",
        "One flipped bit of the ciphertext shows.",
        |page| {
            page.sealed
                .iter_mut()
                .for_each(|sealed| sealed.ciphertext.0[33] ^= 4);
        },
    ),
    (
        "ciphertext_cut_short",
        "A missing last byte shows.",
        |page| {
            page.sealed
                .iter_mut()
                .for_each(|sealed| sealed.ciphertext.0.truncate(76));
        },
    ),
    (
        "ciphertext_with_a_byte_more",
        "An added zero byte shows.",
        |page| {
            page.sealed
                .iter_mut()
                .for_each(|sealed| sealed.ciphertext.0.push(0));
        },
    ),
    (
        "tag_bit_flipped",
        "One flipped bit of the tag shows.",
        |page| {
            page.sealed
                .iter_mut()
                .for_each(|sealed| sealed.tag.0[15] ^= 0x80);
        },
    ),
    (
        "nonce_bit_flipped",
        "One flipped bit of the stored nonce shows.",
        |page| {
            page.nonce[0] ^= 1;
        },
    ),
    (
        "page_moved_to_another_place_does_not_open",
        "A page copied over its neighbour does not open there.",
        |page| page.place.location += 1,
    ),
    (
        "page_moved_to_another_group_does_not_open",
        "A page moved by 1,024 places does not open there.",
        |page| page.place.location += 1024,
    ),
    (
        "page_of_another_kind_does_not_open",
        "A page does not open as a unit of another kind.",
        |page| page.place.kind = 2,
    ),
    (
        "page_of_another_context_does_not_open",
        "A unit of an earlier log does not open in a later one.",
        |page| page.place.context += 1,
    ),
    (
        "page_of_another_file_does_not_open",
        "A page does not open under the associated data of another file.",
        |page| page.associated[0] ^= 1,
    ),
    (
        "page_under_wrong_key",
        "A page does not open under a key one bit off.",
        |page| {
            page.key[31] ^= 1;
        },
    ),
    (
        "page_never_written_does_not_open",
        "A page of zeros is not a page.",
        |page| {
            page.nonce = [0; 12];
            for sealed in &mut page.sealed {
                sealed.ciphertext.0.fill(0);
                sealed.tag.0.fill(0);
            }
        },
    ),
];

fn damaged_pages() -> anyhow::Result<()> {
    for (name, proves, damage) in DAMAGES {
        let mut page = Presented::new(&Cipher::ALL);
        damage(&mut page);
        write(name, proves, page.check(Outcome::NotAuthentic))?;
    }
    Ok(())
}

fn sub_keys() -> anyhow::Result<()> {
    let key = counting(0x10);
    let derivation = XaesDerivation::new(&Key::from_bytes(key));
    let places = [
        (1, 0),
        (1, 1023),
        (1, 1024),
        (2, 1024),
        (1, 5000),
        (1, u64::from(u32::MAX)),
        (1, 1 << 50),
    ];
    let groups = places.into_iter().map(|(kind, location): (u8, u64)| {
        let mut prefix = [0; 12];
        prefix[..8].copy_from_slice(&(location >> 10).to_le_bytes());
        prefix[8] = kind;
        SubKey {
            kind,
            location,
            sub_key: hex(derivation.derive(&prefix).expose()),
        }
    });
    write(
        "aes_256_gcm_sub_key_per_group",
        "AES-256-GCM has a sub-key for each 1,024 places of a kind.",
        Check::SubKeys {
            key: hex(key),
            nonce: hex(counting::<12>(0x40)),
            associated: hex(counting::<20>(0x80)),
            plaintext: Hex(plaintext()),
            groups: groups.collect(),
        },
    )
}

/// Key-encryption key, nonce, associated data, wrapped key.
type Inputs = ([u8; 32], [u8; 24], Vec<u8>, [u8; 48]);

/// A name, what it proves, and the change that keeps a valid wrapped key from opening.
type WrapDamage = (&'static str, &'static str, fn(&mut Inputs));

fn wrapped_keys() -> anyhow::Result<()> {
    let (kek, nonce, associated) = (counting(0x20), counting(0x50), b"slot 3 of a file".to_vec());
    let key = counting(0x90);
    let wrapped = wrap::wrap_key(
        &Key::from_bytes(kek),
        &nonce,
        &associated,
        &Key::from_bytes(key),
    );
    let write_one = |name, proves, change: fn(&mut Inputs), outcome| {
        let mut inputs = (kek, nonce, associated.clone(), wrapped);
        change(&mut inputs);
        let (kek, nonce, associated, wrapped) = inputs;
        let check = Check::WrappedKey {
            key_encryption_key: hex(kek),
            nonce: hex(nonce),
            associated: Hex(associated),
            wrapped: hex(wrapped),
            outcome,
        };
        write(name, proves, check)
    };
    write_one(
        "wrapped_key_opens",
        "A wrapped key comes back.",
        |_| (),
        Outcome::Opens {
            plaintext: hex(key),
        },
    )?;
    let damages: [WrapDamage; 4] = [
        (
            "wrapped_key_under_wrong_key",
            "A wrong passphrase shows.",
            |inputs| inputs.0[0] ^= 1,
        ),
        (
            "wrapped_key_nonce_bit_flipped",
            "A damaged nonce shows.",
            |inputs| inputs.1[23] ^= 1,
        ),
        (
            "wrapped_key_of_another_slot",
            "A key does not open in another slot.",
            |inputs| {
                inputs.2[5] = b'4';
            },
        ),
        (
            "wrapped_key_bit_flipped",
            "A damaged key shows.",
            |inputs| inputs.3[7] ^= 0x10,
        ),
    ];
    for (name, proves, change) in damages {
        write_one(name, proves, change, Outcome::NotAuthentic)?;
    }
    Ok(())
}

fn derivations() -> anyhow::Result<()> {
    let (secret, salt, info) = (counting(0x30), counting::<16>(0x60), b"page key, epoch 1");
    let key = kdf::derive_key(&Key::from_bytes(secret), &salt, info);
    let check = Check::DerivedKey {
        secret: hex(secret),
        salt: hex(salt),
        info: hex(info),
        key: hex(key.expose()),
    };
    write(
        "hkdf_key_for_a_purpose",
        "One secret gives a key for a named purpose.",
        check,
    )
}

fn passphrases() -> anyhow::Result<()> {
    let salt = counting::<16>(0x60);
    let passphrase = "correct horse battery staple, \u{e4}\u{df}\u{20ac}".as_bytes();
    let write_one = |name, proves, parameters: Argon2idParameters, outcome| {
        let check = Check::Passphrase {
            passphrase: hex(passphrase),
            salt: hex(salt),
            memory_kib: parameters.memory_kib,
            passes: parameters.passes,
            lanes: parameters.lanes,
            outcome,
        };
        write(name, proves, check)
    };
    for (name, proves, parameters) in [
        (
            "passphrase_with_floor_parameters",
            "The weakest parameters allowed give this key.",
            Argon2idParameters::FLOOR,
        ),
        (
            "passphrase_with_default_parameters",
            "The parameters of new files give this key.",
            Argon2idParameters::DEFAULT,
        ),
    ] {
        let secret = SecretBytes::new(passphrase.to_vec());
        let key = kdf::derive_from_passphrase(&secret, &salt, parameters)?;
        write_one(
            name,
            proves,
            parameters,
            Derivation::Derives {
                key: hex(key.expose()),
            },
        )?;
    }
    write_one(
        "passphrase_below_floor_is_refused",
        "A header may not ask for a derivation that is cheap to guess.",
        Argon2idParameters {
            memory_kib: 19 * 1024 - 1,
            passes: 64,
            lanes: 1,
        },
        Derivation::BelowFloor,
    )?;
    write_one(
        "passphrase_above_ceiling_is_refused",
        "A header may not ask for all the memory of a machine.",
        Argon2idParameters {
            memory_kib: u32::MAX,
            passes: 3,
            lanes: 1,
        },
        Derivation::AboveCeiling,
    )
}

fn masks_and_headers() -> anyhow::Result<()> {
    let (key, tweak, block) = (counting(0x70), counting::<16>(0x05), counting::<16>(0xa0));
    let mask = FieldMask::new(&Key::from_bytes(key));
    let mut masked = block;
    mask.encrypt_block(tweak, &mut masked);
    let check = Check::MaskedBlock {
        key: hex(key),
        tweak: hex(tweak),
        plaintext: hex(block),
        ciphertext: hex(masked),
    };
    write(
        "field_mask_block",
        "A block is masked under a tweak.",
        check,
    )?;

    let (nonce, location) = (counting(0x40), 0x0102_0304);
    let word = mask.word(&nonce, location);
    let check = Check::MaskWord {
        key: hex(key),
        nonce: hex(nonce),
        location,
        word,
    };
    write(
        "field_mask_word",
        "A field of 32 bits has this mask.",
        check,
    )?;

    let data: Vec<u8> = counting::<100>(0x01).to_vec();
    let tag = mac::authenticate(&Key::from_bytes(key), &data);
    let write_one = |name, proves, data: &[u8], tag: [u8; 32], outcome| {
        let check = Check::Authentication {
            key: hex(key),
            data: hex(data),
            tag: hex(tag),
            outcome,
        };
        write(name, proves, check)
    };
    write_one(
        "header_authentic",
        "A header bears its tag.",
        &data,
        tag,
        Verdict::Authentic,
    )?;
    let mut damaged = data.clone();
    damaged[50] ^= 8;
    let proves = "A flipped bit of the header shows.";
    write_one(
        "header_bit_flipped",
        proves,
        &damaged,
        tag,
        Verdict::NotAuthentic,
    )?;
    let mut damaged = tag;
    damaged[31] ^= 1;
    let proves = "A flipped bit of the header's tag shows.";
    write_one(
        "header_tag_bit_flipped",
        proves,
        &data,
        damaged,
        Verdict::NotAuthentic,
    )
}
