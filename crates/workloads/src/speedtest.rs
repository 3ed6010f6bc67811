//! Workload `speedtest`: the standard performance test of SQLite, main set, tests 100 to 990.
//!
//! The script equals, byte for byte, the output of SQLite's own program with `speedtest1 --testset
//! main --memdb --size N --script FILE`. The statements are SQLite's own SQL (`REPLACE`, `VACUUM`,
//! `PRAGMA`, `WITHOUT ROWID`): no other kind of engine can run it.
//!
//! With `--big-transactions`, an option of the original too, tests 410 and 510 are one transaction
//! each. The page on SQLite in browsers used it, because a transaction per query costs more there
//! than the query.

mod numbers;
mod oracle;
mod parts;
pub mod published;

use std::fmt::Write;

use crate::{Test, Workload, sha256};

/// Allowed sizes.
pub const SIZES: std::ops::RangeInclusive<u32> = 1..=1000;

/// The default size, as in the original.
pub const DEFAULT_SIZE: u32 = 100;

/// A one-sentence description.
pub(crate) const DESCRIPTION: &str =
    "the standard performance test of SQLite (main set); takes --size and --big-transactions";

/// Settings that the original runs before the first test for an in-memory database. The lab skips
/// them: the second has no effect, the first does not apply to a file.
const SETTINGS: [&str; 2] = ["PRAGMA temp_store=memory;", "PRAGMA threads=0;"];

/// The workload at a size from [`SIZES`].
pub(crate) fn workload(size: u32, big_transactions: bool) -> Workload {
    let oracle = oracle::Oracle::new(size);
    let tests: Vec<Test> = parts::all(size, big_transactions)
        .into_iter()
        .zip(1u32..)
        .map(|(part, number)| Test {
            number,
            title: format!("{} {}", part.number, part.title),
            script: part.script,
            oracle: oracle.after(part.number),
            step: None,
        })
        .collect();
    let sha256 = sha256(tests.iter().map(|test| test.script.text()));
    Workload {
        name: "speedtest".to_owned(),
        description: DESCRIPTION.to_owned(),
        tests,
        canary: "thousand".to_owned(),
        sha256,
    }
}

/// The number of statements in the script of that size without big transactions, including the two
/// settings at its start.
pub fn statement_count(size: u32) -> u32 {
    5900 * size + 126
}

/// The whole script as the original writes it, with a line before and after each test.
pub fn script(tests: &[Test]) -> String {
    let bytes: usize = tests
        .iter()
        .map(|test| test.script.text().len() + 128)
        .sum();
    let mut script = String::with_capacity(bytes);
    for setting in SETTINGS {
        script.push_str(setting);
        script.push('\n');
    }
    for test in tests {
        script.push_str(&marked(test));
    }
    script
}

/// The script of one test, with the lines before and after it.
pub fn marked(test: &Test) -> String {
    let number = original_number(test);
    let mut script = String::with_capacity(test.script.text().len() + 128);
    let proof = "writing to a String cannot fail";
    writeln!(script, "-- begin test {}", test.title).expect(proof);
    script.push_str(test.script.text());
    writeln!(script, "-- end test {number}").expect(proof);
    script
}

/// The original's number of a test, with which its title begins.
pub fn original_number(test: &Test) -> &str {
    test.title.split(' ').next().unwrap_or_default()
}
