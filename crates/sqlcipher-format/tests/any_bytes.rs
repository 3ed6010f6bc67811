//! Arbitrary bytes: every call returns, without a panic and without unauthenticated content.

mod common;

use std::sync::LazyLock;

use common::key;
use crypto::secret::SecretBytes;
use proptest::prelude::*;
use sqlcipher_format::detect::{Candidate, detect};
use sqlcipher_format::key::{PageKeys, SourceKey, parse_salt};
use sqlcipher_format::page::PageOpener;
use sqlcipher_format::parameters::{Algorithm, PAGE_SIZES, Parameters};

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL.to_vec())
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let sizes = prop::sample::select(PAGE_SIZES.to_vec());
    let fields = (
        sizes,
        1..3u32,
        algorithm(),
        prop::option::of(algorithm()),
        0..7u32,
    );
    fields.prop_map(|(page_size, iterations, kdf, hmac, header)| Parameters {
        page_size,
        kdf_iterations: iterations,
        kdf_algorithm: kdf,
        hmac_algorithm: hmac,
        plaintext_header_size: 16 * header,
    })
}

static VERSION_4: LazyLock<(Vec<u8>, PageOpener)> = LazyLock::new(|| {
    let case = common::case("version_4");
    let bytes = case.bytes();
    let opener = case.detect(&bytes).expect("opens");
    (bytes, opener)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_beginning_is_answered(
        parameters in parameters(),
        known in any::<bool>(),
        plain_begin in any::<bool>(),
        mut bytes in prop::collection::vec(any::<u8>(), 0..5000),
    ) {
        if plain_begin && bytes.len() > 100 {
            bytes[..16].copy_from_slice(b"SQLite format 3\0");
        }
        let candidate = Candidate { version: 4, parameters, page_size_known: known };
        let found = detect(&key("pass"), Some([7; 16]), &[candidate], &bytes);
        prop_assert!(found.is_err());
    }

    #[test]
    fn any_page_is_answered(
        parameters in parameters(),
        number in any::<u32>(),
        size in prop::option::of(0..5000usize),
        seed in any::<u8>(),
    ) {
        let keys = PageKeys::derive(&key("pass"), &[7; 16], &parameters);
        let opener = PageOpener::new(parameters, &keys);
        let size = size.unwrap_or(parameters.page_size as usize);
        let stored: Vec<u8> = (0..size).map(|index| (index as u8).wrapping_mul(seed | 1)).collect();
        let mut plain = vec![0xff; size];
        let opened = opener.open_page(number, &stored, &mut plain);
        let without_proof = parameters.hmac_algorithm.is_none() && number > 1;
        if size == parameters.page_size as usize && without_proof {
            prop_assert!(opened.is_ok());
        } else {
            prop_assert!(opened.is_err());
            prop_assert!(plain.iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn any_change_of_an_authentic_page_is_found(
        page in 1..8u32,
        place in 16..4096usize,
        change in 1..=255u8,
    ) {
        let (bytes, opener) = &*VERSION_4;
        let mut stored = bytes[(page as usize - 1) * 4096..page as usize * 4096].to_vec();
        stored[place] ^= change;
        let mut plain = vec![0; 4096];
        // The padding after the HMAC would be an exception, but this version has none.
        prop_assert!(opener.open_page(page, &stored, &mut plain).is_err());
    }

    #[test]
    fn any_text_is_a_key(text in prop::collection::vec(any::<u8>(), 0..120)) {
        let parsed = SourceKey::from_pragma(SecretBytes::new(text.clone()));
        if let SourceKey::Passphrase(passphrase) = parsed {
            prop_assert_eq!(passphrase.expose(), &text[..]);
        }
        let _ = parse_salt(&String::from_utf8_lossy(&text));
    }
}
