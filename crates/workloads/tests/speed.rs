//! Workload `speed` is what was published, to the byte.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use sha2::{Digest, Sha256};
use workloads::speed::{self, published};

fn hexadecimal(text: &[u8]) -> String {
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn all_scripts_together_have_the_known_hash_and_size() {
    let text: String = speed::tests()
        .iter()
        .map(|test| test.script.text())
        .collect();
    assert_eq!(text.len(), 5_949_814);
    assert_eq!(text.lines().count(), 85_224);
    assert_eq!(hexadecimal(text.as_bytes()), speed::SHA256);
    assert_eq!(speed::workload().sha256, speed::SHA256);
}

#[test]
fn each_script_has_its_known_hash() {
    let known = [
        "5404c9a5feb19d7c",
        "d266d950251b29ae",
        "a2ecddd6091773a3",
        "6fc00ff86242fd9a",
        "9dc0bd7209a9b2bb",
        "e8fa02346861ab4d",
        "5931c958a6c7457e",
        "e65e0f247467e2fd",
        "49023785ff5e182b",
        "5662f66417adf4f9",
        "e3d3c6eb7ccd57b1",
        "aa7ebc8aac509c34",
        "d8e952e93473a28a",
        "830541df60d5c3d1",
        "3473df8703eff8d5",
    ];
    let tests = speed::tests();
    assert_eq!(tests.len(), known.len());
    for (test, prefix) in tests.iter().zip(known) {
        let hash = hexadecimal(test.script.text().as_bytes());
        assert_eq!(&hash[..16], prefix, "test {}", test.number);
    }
}

/// What one page shows of one test.
struct Shown {
    number: u32,
    before: Vec<&'static str>,
    omitted: Option<usize>,
    after: Vec<&'static str>,
}

/// Reads a file of visible lines: `# N` begins a test, `... N` stands for lines left out.
fn shown(text: &'static str) -> Vec<Shown> {
    let mut tests: Vec<Shown> = Vec::new();
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("# ") {
            let number = number.parse().unwrap();
            tests.push(Shown {
                number,
                before: vec![],
                omitted: None,
                after: vec![],
            });
            continue;
        }
        let test = tests.last_mut().unwrap();
        if let Some(count) = line.strip_prefix("... ") {
            test.omitted = Some(count.parse().unwrap());
        } else if test.omitted.is_some() {
            test.after.push(line);
        } else {
            test.before.push(line);
        }
    }
    tests
}

/// True when the lines occur in that order, perhaps with others between them.
fn in_order(shown: &[&str], script: &[&str]) -> bool {
    let mut script = script.iter();
    shown
        .iter()
        .all(|line| script.any(|candidate| candidate == line))
}

#[test]
fn every_line_shown_in_2004_stands_where_it_should() {
    let pages = shown(include_str!("visible/speed-2004.txt"));
    let tests = speed::tests();
    assert_eq!(pages.len(), 15);
    let mut seen = 0;
    for page in pages {
        let script: Vec<&str> = tests[page.number as usize - 1].statements().collect();
        let (head, tail) = (page.before.len(), page.after.len());
        assert_eq!(page.before, script[..head], "test {}", page.number);
        assert_eq!(
            page.after,
            script[script.len() - tail..],
            "test {}",
            page.number
        );
        assert_eq!(
            page.omitted.unwrap_or(0),
            script.len() - head - tail,
            "test {}",
            page.number
        );
        seen += head + tail;
    }
    assert_eq!(seen, 56);
}

#[test]
fn every_line_shown_in_2002_stands_in_the_first_or_last_three() {
    let pages = shown(include_str!("visible/speed-2002.txt"));
    let tests = speed::tests();
    assert_eq!(pages.len(), 15);
    let mut seen = 0;
    for page in pages {
        let script: Vec<&str> = tests[page.number as usize - 1].statements().collect();
        seen += page.before.len() + page.after.len();
        let Some(omitted) = page.omitted else {
            assert!(in_order(&page.before, &script), "test {}", page.number);
            continue;
        };
        // Three lines were shown at each end; some of them were lost from the page since.
        assert_eq!(omitted, script.len() - 6, "test {}", page.number);
        assert!(in_order(&page.before, &script[..3]), "test {}", page.number);
        assert!(
            in_order(&page.after, &script[script.len() - 3..]),
            "test {}",
            page.number
        );
    }
    assert_eq!(seen, 45);
}

#[test]
fn the_oracle_speaks_after_eight_tests() {
    let spoken: Vec<u32> = speed::tests()
        .iter()
        .filter(|t| !t.oracle.is_empty())
        .map(|t| t.number)
        .collect();
    assert_eq!(spoken, [2, 7, 9, 10, 11, 12, 13, 14]);
}

#[test]
fn published_pages_are_complete() {
    for page in [published::SQLITE_2002, published::SQLCRYPT_2004] {
        assert_eq!(page.seconds.len(), 15);
        assert!(
            page.seconds
                .iter()
                .all(|row| row.len() == page.engines.len())
        );
    }
    let encrypted = published::SQLCRYPT_2004.ratio(
        3,
        published::SQLCRYPT_2004_ENCRYPTED,
        published::SQLCRYPT_2004_PLAIN,
    );
    assert!((encrypted.unwrap() - 70.546 / 9.100).abs() < 1e-12);
    assert_eq!(published::SQLCRYPT_2004.ratio(16, 0, 1), None);
    assert_eq!(published::SQLCRYPT_2004.ratio(0, 0, 1), None);
}
