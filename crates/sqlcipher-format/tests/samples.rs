//! Files written by SQLCipher itself: every page opens, and no altered page does.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{Case, case, cases};
use sqlcipher_format::detect::{Candidate, DetectError};
use sqlcipher_format::page::{PLAIN_MAGIC, PageError, PageOpener};
use sqlcipher_format::parameters::Parameters;

/// Opens every page of a file, one after the other.
fn open_all(opener: &PageOpener, bytes: &[u8]) -> Vec<Result<Vec<u8>, PageError>> {
    let page_size = opener.parameters().page_size as usize;
    assert_eq!(bytes.len() % page_size, 0, "whole pages");
    let pages = bytes.chunks(page_size).zip(1..);
    pages
        .map(|(stored, number)| {
            let mut plain = vec![0xff; page_size];
            let opened = opener.open_page(number, stored, &mut plain);
            opened.map(|()| plain)
        })
        .collect()
}

/// `vectors/sqlcipher` has a file for each case, and no others.
#[test]
fn every_sample_is_a_case() {
    let mut known: BTreeSet<String> = cases()
        .iter()
        .map(|case| format!("{}.db", case.name))
        .collect();
    known.extend(["log_left.db-wal".into(), "hot_journal.db-journal".into()]);
    known.extend(["cases.json", "content.sql", "README.md"].map(str::to_owned));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sqlcipher");
    let present = fs::read_dir(folder).unwrap();
    let present: BTreeSet<String> = present
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(present, known);
}

#[test]
fn every_page_of_every_sample_opens() {
    for case in cases() {
        let bytes = case.bytes();
        let opener = case
            .detect(&bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let pages = open_all(&opener, &bytes);
        assert!(pages.len() > 4, "{}", case.name);
        for (page, number) in pages.iter().zip(1..) {
            let page = page
                .as_ref()
                .unwrap_or_else(|error| panic!("{}, page {number}: {error}", case.name));
            let reserve = opener.parameters().reserve();
            assert!(page[page.len() - reserve..].iter().all(|byte| *byte == 0));
        }
        assert!(pages[0].as_ref().unwrap().starts_with(PLAIN_MAGIC));
    }
}

#[test]
fn each_version_is_recognised() {
    for version in 1..=4 {
        let case = case(&format!("version_{version}"));
        let opener = case.detect(&case.bytes()).expect("opens");
        assert_eq!(Some(*opener.parameters()), Parameters::of_version(version));
    }
}

/// One altered byte of each kind, in page 1 and in a later page.
#[test]
fn an_altered_byte_of_any_kind_is_found() {
    for case in cases() {
        let bytes = case.bytes();
        let opener = case.detect(&bytes).unwrap();
        let parameters = *opener.parameters();
        let Some(algorithm) = parameters.hmac_algorithm else {
            continue;
        };
        let page_size = parameters.page_size as usize;
        let end = page_size - parameters.reserve();
        let begin = parameters.plaintext_header_size.max(16) as usize;
        let places = [
            ("first of the ciphertext", begin),
            ("last of the ciphertext", end - 1),
            ("IV", end),
            ("last of the IV", end + 15),
            ("HMAC", end + 16),
            ("last of the HMAC", end + 16 + algorithm.output_size() - 1),
        ];
        for page in [1, 2, bytes.len() / page_size] {
            for (what, place) in places {
                let mut altered = bytes.clone();
                altered[(page - 1) * page_size + place] ^= 1;
                let opened = open_all(&opener, &altered);
                for (result, number) in opened.iter().zip(1..) {
                    let expected = if number == page {
                        Some(PageError::NotAuthentic)
                    } else {
                        None
                    };
                    let found = result.as_ref().err().copied();
                    assert_eq!(found, expected, "{}: {what} of page {page}", case.name);
                }
            }
        }
    }
}

#[test]
fn pages_that_changed_places_do_not_open() {
    let case = case("version_4");
    let mut bytes = case.bytes();
    let opener = case.detect(&bytes).unwrap();
    let page_size = opener.parameters().page_size as usize;
    let (second, third) = bytes[page_size..3 * page_size].split_at_mut(page_size);
    second.swap_with_slice(third);
    let opened = open_all(&opener, &bytes);
    assert_eq!(opened[1], Err(PageError::NotAuthentic));
    assert_eq!(opened[2], Err(PageError::NotAuthentic));
}

#[test]
fn a_page_of_zeros_is_reported_as_such_and_leaves_zeros() {
    let case = case("version_4");
    let bytes = case.bytes();
    let opener = case.detect(&bytes).unwrap();
    let page_size = opener.parameters().page_size as usize;
    let mut plain = vec![0xff; page_size];
    let opened = opener.open_page(2, &vec![0; page_size], &mut plain);
    assert_eq!(opened, Err(PageError::Zeros));
    assert!(plain.iter().all(|byte| *byte == 0));
    let mut plain = vec![0xff; page_size];
    let opened = opener.open_page(3, &bytes[page_size..2 * page_size], &mut plain);
    assert_eq!(opened, Err(PageError::NotAuthentic));
    assert!(plain.iter().all(|byte| *byte == 0));
}

#[test]
fn a_wrong_key_is_distinguished_from_a_damaged_page_one() {
    for name in ["version_4", "version_3", "raw_key", "plaintext_header"] {
        let case = case(name);
        let bytes = case.bytes();
        let wrong = Case {
            key: "incorrect horse".to_owned(),
            ..self::case(name)
        };
        let error = wrong.detect(&bytes).err().expect(name);
        assert!(matches!(error, DetectError::WrongKey { .. }), "{error}");
        let mut damaged = bytes.clone();
        damaged[200] ^= 1;
        let error = case.detect(&damaged).err().expect(name);
        let DetectError::PageOneDamaged { reason, .. } = error else {
            panic!("{name}: {error}");
        };
        assert_eq!(reason, PageError::NotAuthentic);
    }
}

/// The header that would prove the key is not encrypted, and there is no HMAC.
#[test]
fn a_plaintext_header_does_not_prove_a_key() {
    let mut case = case("plaintext_header");
    let options = &mut case.options;
    options.insert("cipher-use-hmac".to_owned(), "off".to_owned());
    case.key = "incorrect horse".to_owned();
    let error = case.detect(&case.bytes()).err().unwrap();
    assert!(matches!(error, DetectError::WrongKey { .. }), "{error}");
}

#[test]
fn the_error_names_what_was_tried() {
    let case = Case {
        key: "incorrect horse".to_owned(),
        ..case("version_2")
    };
    let text = case.detect(&case.bytes()).err().unwrap().to_string();
    for part in [
        "version 4",
        "version 3",
        "version 2",
        "version 1",
        "256000",
        "64000",
        "HMAC_SHA1",
        "no HMAC",
        "pages of any size",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// No HMAC covers a plaintext header, but some of its fields can be validated.
#[test]
fn an_altered_plaintext_header_is_found_where_it_matters() {
    let case = case("plaintext_header");
    let bytes = case.bytes();
    let damaged = |place: usize| {
        let mut bytes = bytes.clone();
        bytes[place] ^= 4;
        case.detect(&bytes).err()
    };
    assert_eq!(damaged(3), Some(DetectError::NoPlaintextHeader));
    for place in [16, 17, 18, 19, 21, 22, 23] {
        let error = damaged(place).unwrap();
        let is_right = matches!(
            error,
            DetectError::PageOneDamaged {
                reason: PageError::NotAHeader,
                ..
            }
        );
        assert!(is_right, "byte {place}: {error}");
    }
}

#[test]
fn without_its_salt_a_plaintext_header_says_so() {
    let case = case("plaintext_header");
    let (key, bytes) = (common::key(&case.key), case.bytes());
    let detect = |candidates: &[Candidate]| {
        sqlcipher_format::detect::detect(&key, None, candidates, &bytes).err()
    };
    assert_eq!(detect(&case.candidates()), Some(DetectError::NoSalt));
    let usual = self::case("version_4").candidates();
    assert_eq!(detect(&usual), Some(DetectError::Plain));
}
