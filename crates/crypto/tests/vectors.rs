//! Runs every file of `vectors/crypto/`.
//!
//! The list of names is complete: the test fails for a file that is not on it, and for a name
//! without a file.

#![expect(
    clippy::unwrap_used,
    reason = "a test reports by panicking, helpers of it too"
)]

mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use aes::Aes256;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use crypto::cipher::Cipher;
use crypto::kdf::{self, Argon2idParameters, KdfError, XaesDerivation};
use crypto::mask::FieldMask;
use crypto::page::{NotAuthentic, PageSealer, Place};
use crypto::secret::{Key, SecretBytes};
use crypto::{mac, wrap};
use schema::{Check, Derivation, Hex, LibraryCipher, Outcome, SealedPage, Vector, Verdict};

const NAMES: [&str; 44] = [
    // Pages.
    "aegis_256_page_opens",
    "aegis_256x2_page_opens",
    "aes_256_gcm_page_opens",
    "aes_256_gcm_sub_key_per_group",
    "xchacha20_poly1305_page_opens",
    "ciphertext_bit_flipped",
    "ciphertext_cut_short",
    "ciphertext_with_a_byte_more",
    "nonce_bit_flipped",
    "page_moved_to_another_group_does_not_open",
    "page_moved_to_another_place_does_not_open",
    "page_never_written_does_not_open",
    "page_of_another_context_does_not_open",
    "page_of_another_file_does_not_open",
    "page_of_another_kind_does_not_open",
    "page_under_wrong_key",
    "tag_bit_flipped",
    // Wrapped keys.
    "wrapped_key_bit_flipped",
    "wrapped_key_nonce_bit_flipped",
    "wrapped_key_of_another_slot",
    "wrapped_key_opens",
    "wrapped_key_under_wrong_key",
    // Derivation.
    "hkdf_key_for_a_purpose",
    "passphrase_above_ceiling_is_refused",
    "passphrase_below_floor_is_refused",
    "passphrase_with_default_parameters",
    "passphrase_with_floor_parameters",
    // Masks and headers.
    "field_mask_block",
    "field_mask_word",
    "header_authentic",
    "header_bit_flipped",
    "header_tag_bit_flipped",
    // Published by others.
    "aegis_256_draft_tag_does_not_match",
    "aegis_256_draft",
    "aegis_256x2_draft",
    "aes_256_gcm_specification",
    "argon2id_rfc9106",
    "hkdf_sha256_rfc5869",
    "hmac_sha256_rfc4231",
    "sha256_fips180",
    "xaes_256_gcm_c2sp",
    "xaes_256_gcm_c2sp_with_associated_data",
    "xchacha20_poly1305_draft",
    "xts_aes_256_ieee1619",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/crypto")
}

#[test]
fn the_folder_holds_the_names_and_no_others() {
    let found: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let named: BTreeSet<String> = NAMES.iter().map(|name| format!("{name}.json")).collect();
    assert_eq!(named.len(), NAMES.len(), "a name stands twice");
    assert_eq!(found, named);
}

#[test]
fn every_vector_holds() {
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        run(&name, &vector.check);
    }
}

fn run(name: &str, check: &Check) {
    match check {
        Check::Page {
            key,
            nonce,
            kind,
            location,
            context,
            associated,
            sealed,
            outcome,
        } => {
            let place = Place {
                kind: *kind,
                location: *location,
                context: *context,
            };
            assert!(!sealed.is_empty(), "{name}: nothing to open");
            for page in sealed {
                check_page(
                    name,
                    &to_key(key),
                    &nonce.array(),
                    place,
                    &associated.0,
                    page,
                    outcome,
                );
            }
        }
        Check::SubKeys { .. } => check_sub_keys(name, check),
        Check::WrappedKey { .. } => check_wrapped_key(name, check),
        Check::Passphrase { .. } => check_passphrase(name, check),
        Check::DerivedKey { .. }
        | Check::MaskedBlock { .. }
        | Check::MaskWord { .. }
        | Check::Authentication { .. }
        | Check::Checksum { .. }
        | Check::Xaes256Gcm { .. } => run_function(name, check),
        Check::LibraryCipher { .. }
        | Check::LibraryXts { .. }
        | Check::LibraryArgon2id { .. }
        | Check::LibraryHkdf { .. }
        | Check::LibraryHmac { .. } => run_library(name, check),
    }
}

/// Functions from bytes to bytes, or to a verdict.
fn run_function(name: &str, check: &Check) {
    match check {
        Check::DerivedKey {
            secret,
            salt,
            info,
            key,
        } => {
            let derived = kdf::derive_key(&to_key(secret), &salt.0, &info.0);
            assert_eq!(derived.expose(), &key.array(), "{name}");
        }
        Check::MaskedBlock {
            key,
            tweak,
            plaintext,
            ciphertext,
        } => {
            let mask = FieldMask::new(&to_key(key));
            let mut block = plaintext.array();
            mask.encrypt_block(tweak.array(), &mut block);
            assert_eq!(block, ciphertext.array(), "{name}");
            mask.decrypt_block(tweak.array(), &mut block);
            assert_eq!(block, plaintext.array(), "{name}");
        }
        Check::MaskWord {
            key,
            nonce,
            location,
            word,
        } => {
            let mask = FieldMask::new(&to_key(key));
            assert_eq!(mask.word(&nonce.array(), *location), *word, "{name}");
        }
        Check::Authentication {
            key,
            data,
            tag,
            outcome,
        } => {
            let is_authentic = mac::verify(&to_key(key), &data.0, &tag.array());
            assert_eq!(is_authentic, *outcome == Verdict::Authentic, "{name}");
            let computed = mac::authenticate(&to_key(key), &data.0);
            assert_eq!(computed == tag.array(), is_authentic, "{name}");
        }
        Check::Checksum { data, checksum } => {
            assert_eq!(mac::checksum(&data.0), checksum.array(), "{name}");
        }
        Check::Xaes256Gcm {
            key,
            nonce,
            associated,
            plaintext,
            ciphertext,
        } => {
            let (prefix, suffix) = nonce.0.split_at(12);
            let sub_key = XaesDerivation::new(&to_key(key)).derive(prefix.try_into().unwrap());
            let sealed = gcm_seal(
                &sub_key,
                suffix.try_into().unwrap(),
                &associated.0,
                &plaintext.0,
            );
            assert_eq!(sealed, ciphertext.0, "{name}");
        }
        _ => unreachable!("only called for functions"),
    }
}

/// Published vectors: the libraries must do what their names say.
fn run_library(name: &str, check: &Check) {
    match check {
        Check::LibraryCipher { .. } => check_library_cipher(name, check),
        Check::LibraryXts {
            key_1,
            key_2,
            tweak,
            plaintext,
            ciphertext,
        } => {
            use aes::cipher::KeyInit;
            let aes = |key: &Hex| Aes256::new(&key.array::<32>().into());
            let mut sector = plaintext.0.clone();
            xts_mode::Xts128::new(aes(key_1), aes(key_2))
                .encrypt_sector(&mut sector, tweak.array::<16>().into());
            assert_eq!(sector, ciphertext.0, "{name}");
        }
        Check::LibraryArgon2id { .. } => check_library_argon2id(name, check),
        Check::LibraryHkdf {
            secret,
            salt,
            info,
            output,
        } => {
            let mut computed = vec![0; output.0.len()];
            hkdf::Hkdf::<sha2::Sha256>::new(Some(&salt.0), &secret.0)
                .expand(&info.0, &mut computed)
                .unwrap();
            assert_eq!(computed, output.0, "{name}");
        }
        Check::LibraryHmac { key, data, tag } => {
            use hmac::{KeyInit, Mac};
            let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(&key.0).unwrap();
            mac.update(&data.0);
            assert_eq!(mac.finalize().into_bytes()[..], tag.0, "{name}");
        }
        _ => unreachable!("only called for libraries"),
    }
}

fn check_page(
    name: &str,
    key: &Key,
    nonce: &[u8; 12],
    place: Place,
    associated: &[u8],
    page: &SealedPage,
    outcome: &Outcome,
) {
    let cipher = Cipher::from_name(&page.cipher).unwrap();
    let mut sealer = PageSealer::new(cipher, key);
    let mut opened = vec![0xff; page.ciphertext.0.len()];
    let tag = page.tag.array();
    let result = sealer.open(
        nonce,
        place,
        associated,
        &page.ciphertext.0,
        &tag,
        &mut opened,
    );
    match outcome {
        Outcome::Opens { plaintext } => {
            assert_eq!(result, Ok(()), "{name} {cipher:?}");
            assert_eq!(opened, plaintext.0, "{name} {cipher:?}");
            let mut resealed = vec![0; opened.len()];
            let again = sealer.seal(nonce, place, associated, &opened, &mut resealed);
            assert_eq!(again, tag, "{name} {cipher:?}");
            assert_eq!(resealed, page.ciphertext.0, "{name} {cipher:?}");
        }
        Outcome::NotAuthentic => {
            assert_eq!(result, Err(NotAuthentic), "{name} {cipher:?}");
            assert!(
                opened.iter().all(|byte| *byte == 0),
                "{name} {cipher:?}: plaintext left"
            );
        }
    }
}

/// A page must equal the output of AES-256-GCM under the sub-key of its group.
fn check_sub_keys(name: &str, check: &Check) {
    let Check::SubKeys {
        key,
        nonce,
        associated,
        plaintext,
        groups,
    } = check
    else {
        unreachable!()
    };
    let derivation = XaesDerivation::new(&to_key(key));
    for group in groups {
        let mut prefix = [0; 12];
        prefix[..8].copy_from_slice(&(group.location >> 10).to_le_bytes());
        prefix[8] = group.kind;
        let sub_key = derivation.derive(&prefix);
        assert_eq!(
            sub_key.expose(),
            &group.sub_key.array(),
            "{name} {}",
            group.location
        );

        let place = Place {
            kind: group.kind,
            location: group.location,
            context: 0,
        };
        let mut sealed = vec![0; plaintext.0.len()];
        let tag = PageSealer::new(Cipher::Aes256Gcm, &to_key(key)).seal(
            &nonce.array(),
            place,
            &associated.0,
            &plaintext.0,
            &mut sealed,
        );
        sealed.extend(tag);
        let associated = [&associated.0[..], &place.to_bytes()].concat();
        let expected = gcm_seal(&sub_key, &nonce.array(), &associated, &plaintext.0);
        assert_eq!(sealed, expected, "{name} {}", group.location);
    }
}

fn check_wrapped_key(name: &str, check: &Check) {
    let Check::WrappedKey {
        key_encryption_key,
        nonce,
        associated,
        wrapped,
        outcome,
    } = check
    else {
        unreachable!()
    };
    let kek = to_key(key_encryption_key);
    let result = wrap::unwrap_key(&kek, &nonce.array(), &associated.0, &wrapped.array());
    match outcome {
        Outcome::Opens { plaintext } => {
            let key = result.unwrap();
            assert_eq!(key.expose(), &plaintext.array(), "{name}");
            let again = wrap::wrap_key(&kek, &nonce.array(), &associated.0, &key);
            assert_eq!(again, wrapped.array(), "{name}");
        }
        Outcome::NotAuthentic => assert_eq!(result.unwrap_err(), NotAuthentic, "{name}"),
    }
}

fn check_passphrase(name: &str, check: &Check) {
    let Check::Passphrase {
        passphrase,
        salt,
        memory_kib,
        passes,
        lanes,
        outcome,
    } = check
    else {
        unreachable!()
    };
    let parameters = Argon2idParameters {
        memory_kib: *memory_kib,
        passes: *passes,
        lanes: *lanes,
    };
    let passphrase = SecretBytes::new(passphrase.0.clone());
    let result = kdf::derive_from_passphrase(&passphrase, &salt.array(), parameters);
    match outcome {
        Derivation::Derives { key } => {
            assert_eq!(result.unwrap().expose(), &key.array(), "{name}");
        }
        Derivation::BelowFloor => assert_eq!(result.unwrap_err(), KdfError::BelowFloor, "{name}"),
        Derivation::AboveCeiling => {
            assert_eq!(result.unwrap_err(), KdfError::AboveCeiling, "{name}");
        }
    }
}

fn check_library_cipher(name: &str, check: &Check) {
    let Check::LibraryCipher {
        name: cipher,
        key,
        nonce,
        associated,
        ciphertext,
        tag,
        outcome,
    } = check
    else {
        unreachable!()
    };
    let opened = library_open(cipher, key, nonce, &associated.0, &ciphertext.0, tag);
    match outcome {
        Outcome::Opens { plaintext } => assert_eq!(opened.as_ref(), Some(&plaintext.0), "{name}"),
        Outcome::NotAuthentic => assert_eq!(opened, None, "{name}"),
    }
}

fn library_open(
    cipher: &LibraryCipher,
    key: &Hex,
    nonce: &Hex,
    associated: &[u8],
    ciphertext: &[u8],
    tag: &Hex,
) -> Option<Vec<u8>> {
    use chacha20poly1305::aead::{Aead, Payload};
    use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
    match cipher {
        LibraryCipher::Aegis256X2 => {
            aegis::aegis256x2::Aegis256X2::<16>::new(&key.array(), &nonce.array())
                .decrypt(ciphertext, &tag.array(), associated)
                .ok()
        }
        LibraryCipher::Aegis256 => {
            aegis::aegis256::Aegis256::<16>::new(&key.array(), &nonce.array())
                .decrypt(ciphertext, &tag.array(), associated)
                .ok()
        }
        LibraryCipher::Aes256Gcm => {
            let mut content = ciphertext.to_vec();
            gcm_key(&Key::from_bytes(key.array()))
                .open_in_place_separate_tag(
                    Nonce::assume_unique_for_key(nonce.array()),
                    Aad::from(associated),
                    &tag.0,
                    &mut content,
                )
                .is_ok()
                .then_some(content)
        }
        LibraryCipher::XChaCha20Poly1305 => {
            let sealed = [ciphertext, &tag.0].concat();
            XChaCha20Poly1305::new(&key.array::<32>().into())
                .decrypt(
                    &nonce.array::<24>().into(),
                    Payload {
                        msg: &sealed,
                        aad: associated,
                    },
                )
                .ok()
        }
    }
}

fn check_library_argon2id(name: &str, check: &Check) {
    use argon2::{Algorithm, Argon2, AssociatedData, ParamsBuilder, Version};
    let Check::LibraryArgon2id {
        password,
        salt,
        secret,
        associated,
        memory_kib,
        passes,
        lanes,
        tag,
    } = check
    else {
        unreachable!()
    };
    let params = ParamsBuilder::new()
        .m_cost(*memory_kib)
        .t_cost(*passes)
        .p_cost(*lanes)
        .data(AssociatedData::new(&associated.0).unwrap())
        .output_len(tag.0.len())
        .build()
        .unwrap();
    let mut computed = vec![0; tag.0.len()];
    Argon2::new_with_secret(&secret.0, Algorithm::Argon2id, Version::V0x13, params)
        .unwrap()
        .hash_password_into(&password.0, &salt.0, &mut computed)
        .unwrap();
    assert_eq!(computed, tag.0, "{name}");
}

impl Hex {
    /// The bytes as an array, for operations with a fixed size.
    fn array<const SIZE: usize>(&self) -> [u8; SIZE] {
        self.0.as_slice().try_into().unwrap()
    }
}

fn to_key(bytes: &Hex) -> Key {
    Key::from_bytes(bytes.array())
}

fn gcm_key(key: &Key) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.expose()).unwrap())
}

/// Ciphertext and tag.
fn gcm_seal(key: &Key, nonce: &[u8; 12], associated: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let mut sealed = plaintext.to_vec();
    gcm_key(key)
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(*nonce),
            Aad::from(associated),
            &mut sealed,
        )
        .unwrap();
    sealed
}
