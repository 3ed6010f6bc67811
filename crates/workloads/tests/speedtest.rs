//! Workload `speedtest` equals the output of SQLite's own program, byte for byte.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use sha2::{Digest, Sha256};
use workloads::speedtest::{self, published};
use workloads::{Dialect, Spec, Workload, build};

fn workload(size: u32) -> Workload {
    with_transactions(size, false)
}

fn with_transactions(size: u32, big_transactions: bool) -> Workload {
    let spec = Spec::Speedtest {
        size,
        big_transactions,
    };
    build(&spec, Dialect::Sqlite).unwrap()
}

fn hexadecimal(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Size, lines and SHA-256 of the files that the original of SQLite 3.40.1 writes; that of 3.53
/// writes the same.
const SCRIPTS: [(u32, usize, &str); 7] = [
    (
        2,
        13_453,
        "21c6bdc2124fde51375f73ed0360edc73701ac7c6934ce8eb83fe28c232d8a61",
    ),
    (
        5,
        33_253,
        "71d48df5083bdab58e91899c6cac52da4bfddc4cb5d15a732ca36f2bc8d1795e",
    ),
    (
        10,
        66_253,
        "61dfb7630ead8a5b836c37c858a8a9898a70ba06779a09c50699ffe97a4f35e0",
    ),
    (
        20,
        132_253,
        "07ca6e91ad31909fdeb7628fa987102b167dff5dc75dabd414dc57602ca137f1",
    ),
    (
        25,
        165_253,
        "fadb94eca3575ac6439354c589a856bdee49665ab02fd93e9e09fc9ddb11252d",
    ),
    (
        50,
        330_253,
        "2d98aacfb1b76f571868e55f382630a1cddf91ae8815dac98d33c79bf9aba9d3",
    ),
    (
        100,
        660_253,
        "d633301f979ffe8f4a86c7359fe7ca752080f18da8edad0954965e01c2de84df",
    ),
];

#[test]
fn every_script_equals_the_original() {
    for (size, lines, hash) in SCRIPTS {
        let script = speedtest::script(&workload(size).tests);
        assert_eq!(script.lines().count(), lines, "size {size}");
        assert_eq!(hexadecimal(&script), hash, "size {size}");
    }
}

/// The same with the option `--big-transactions`.
const BIG_SCRIPTS: [(u32, &str); 2] = [
    (
        2,
        "adf115121450983a275e8d192625aa07b7f04027c8cfa4e55d35da80594fc299",
    ),
    (
        10,
        "e5984b88921a07a9824dccdf06d884d55f8178824dfc6eb8d509b40cc08f3bae",
    ),
];

#[test]
fn scripts_with_big_transactions_are_those_of_the_original() {
    for (size, hash) in BIG_SCRIPTS {
        let script = speedtest::script(&with_transactions(size, true).tests);
        assert_eq!(hexadecimal(&script), hash, "size {size}");
    }
}

#[test]
fn there_are_as_many_statements_as_the_rule_says() {
    for size in [1, 2, 5, 10, 20, 25, 50, 100] {
        let statements: usize = workload(size)
            .tests
            .iter()
            .map(workloads::Test::statement_count)
            .sum();
        // Two settings stand before the first test.
        assert_eq!(statements as u32 + 2, 5900 * size + 126, "size {size}");
        assert_eq!(speedtest::statement_count(size), 5900 * size + 126);
    }
}

#[test]
fn tests_have_the_numbers_and_titles_of_the_original() {
    let workload = workload(100);
    let numbers: Vec<&str> = workload
        .tests
        .iter()
        .map(speedtest::original_number)
        .collect();
    assert_eq!(
        numbers.join(" "),
        "100 110 120 130 140 142 145 150 160 161 170 180 190 200 210 230 240 250 260 270 280 290 \
         300 310 320 400 410 500 510 520 980 990"
    );
    let titles = |place: usize| workload.tests[place].title.as_str();
    assert_eq!(titles(0), "100 50000 INSERTs into table with no index");
    assert_eq!(
        titles(17),
        "250 One big UPDATE of the whole 50000-row table"
    );
    assert_eq!(titles(31), "990 ANALYZE");
}

#[test]
fn the_hash_of_a_workload_is_that_of_its_statements() {
    let small = workload(2);
    let text: String = small.tests.iter().map(|test| test.script.text()).collect();
    assert_eq!(small.sha256, hexadecimal(&text));
    assert_ne!(small.sha256, workload(3).sha256);
}

#[test]
fn published_labels_count_what_the_titles_say() {
    for table in published::TABLES {
        for row in table.rows {
            assert_eq!(row.label, 7100 * row.size);
            assert_eq!(row.statements(), 5900 * row.size + 126);
            assert_eq!(row.milliseconds.len(), table.engines.len());
        }
    }
}

#[test]
fn every_published_build_has_an_engine_and_a_native_time() {
    for table in published::TABLES {
        for engine in table.engines {
            assert!(published::engine_here(engine).is_some(), "{engine}");
        }
        for row in table.rows {
            assert!(published::native(row.size).is_some(), "{}", row.size);
        }
    }
    assert_eq!(published::native(10), Some(220));
    assert_eq!(published::native(3), None);
}
