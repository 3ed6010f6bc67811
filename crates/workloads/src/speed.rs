//! Workload `speed`: the 15 tests of SQLite's `tool/speedtest.tcl`, byte for byte.
//!
//! The comparison of SQLite with PostgreSQL and MySQL published in 2002, and that of SQLcrypt with
//! SQLite published in 2004, used the same scripts; [`published`] has their figures.

mod generator;
mod oracle;
pub mod published;

use crate::{Script, Test, Workload, sha256};
use generator::Sizes;

/// SHA-256 of the 15 scripts, one after the other.
pub const SHA256: &str = "950349cffdbb95c872f27ad438b53cb1330f69f30ea8279170c5161f2ba52a18";

/// Allowed scales: row counts and limits fit in 32 bits, and the largest script fits in the memory
/// of a small machine.
pub const SCALES: std::ops::RangeInclusive<u32> = 1..=100;

/// A one-sentence description.
pub(crate) const DESCRIPTION: &str =
    "the 15 published speed tests of SQLite (2002) and SQLcrypt (2004); takes --scale";

/// The workload as published.
pub fn workload() -> Workload {
    scaled(1)
}

/// The workload at a scale from [`SCALES`].
pub(crate) fn scaled(scale: u32) -> Workload {
    let tests = scaled_tests(scale);
    let sha256 = if scale == 1 {
        SHA256.to_owned()
    } else {
        sha256(tests.iter().map(|test| test.script.text()))
    };
    Workload {
        name: "speed".to_owned(),
        description: DESCRIPTION.to_owned(),
        tests,
        canary: "thousand".to_owned(),
        sha256,
    }
}

/// The 15 tests as published. Their order matters: each works on the results of those before.
pub fn tests() -> Vec<Test> {
    scaled_tests(1)
}

/// The statements that create and fill the larger table, as in test 2.
pub(crate) fn filling() -> Vec<String> {
    let [_, script, ..] = generator::scripts(1);
    script
        .lines()
        .filter(|line| !["BEGIN;", "COMMIT;"].contains(line))
        .map(str::to_owned)
        .collect()
}

fn scaled_tests(scale: u32) -> Vec<Test> {
    let facts = oracle::facts(scale);
    generator::scripts(scale)
        .into_iter()
        .zip(titles(scale))
        .zip(facts)
        .zip(1u32..)
        .map(|(((script, title), oracle), number)| Test {
            number,
            title,
            script: Script::lines(script),
            oracle,
            step: None,
        })
        .collect()
}

fn titles(scale: u32) -> [String; 15] {
    let sizes = Sizes::new(scale);
    let (small, rows, queries) = (sizes.small_rows, sizes.rows, sizes.queries);
    [
        format!("{small} INSERTs"),
        format!("{rows} INSERTs in a transaction"),
        "100 SELECTs without an index".to_owned(),
        "100 SELECTs on a string comparison".to_owned(),
        "Creating an index".to_owned(),
        format!("{queries} SELECTs with an index"),
        "1000 UPDATEs without an index".to_owned(),
        format!("{rows} UPDATEs with an index"),
        format!("{rows} text UPDATEs with an index"),
        "INSERTs from a SELECT".to_owned(),
        "DELETE without an index".to_owned(),
        "DELETE with an index".to_owned(),
        "A big INSERT after a big DELETE".to_owned(),
        "A big DELETE followed by many small INSERTs".to_owned(),
        "DROP TABLE".to_owned(),
    ]
}
