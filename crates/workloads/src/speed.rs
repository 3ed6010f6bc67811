//! Workload `speed`: the 15 tests of SQLite's `tool/speedtest.tcl`, byte for byte.
//!
//! The same scripts made the comparison of SQLite with PostgreSQL and MySQL published in 2002 and
//! that of SQLcrypt with SQLite published in 2004; [`published`] holds their figures.

mod generator;
mod oracle;
pub mod published;

use crate::{Script, Test, Workload};

/// SHA-256 of the 15 scripts, one after the other.
pub const SHA256: &str = "950349cffdbb95c872f27ad438b53cb1330f69f30ea8279170c5161f2ba52a18";

const TITLES: [&str; 15] = [
    "1000 INSERTs",
    "25000 INSERTs in a transaction",
    "100 SELECTs without an index",
    "100 SELECTs on a string comparison",
    "Creating an index",
    "5000 SELECTs with an index",
    "1000 UPDATEs without an index",
    "25000 UPDATEs with an index",
    "25000 text UPDATEs with an index",
    "INSERTs from a SELECT",
    "DELETE without an index",
    "DELETE with an index",
    "A big INSERT after a big DELETE",
    "A big DELETE followed by many small INSERTs",
    "DROP TABLE",
];

/// One sentence on what it is.
pub(crate) const DESCRIPTION: &str =
    "the 15 published speed tests of SQLite (2002) and SQLcrypt (2004)";

/// The workload, ready to run.
pub fn workload() -> Workload {
    Workload {
        name: "speed".to_owned(),
        description: DESCRIPTION.to_owned(),
        tests: tests(),
        canary: "thousand".to_owned(),
        sha256: SHA256.to_owned(),
    }
}

/// The 15 tests in their order, which matters: each works on what the ones before it left.
pub fn tests() -> Vec<Test> {
    generator::scripts()
        .into_iter()
        .zip(TITLES)
        .zip(1u32..)
        .map(|((script, title), number)| Test {
            number,
            title: title.to_owned(),
            script: Script::lines(script),
            oracle: oracle::after(number),
        })
        .collect()
}
