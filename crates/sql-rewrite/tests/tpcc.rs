//! All statements of TPC-C, as BenchBase sends them, under the rules for all of its columns. If a
//! change of a plan is meant, run the test with `STRONGROOM_WRITE_TABLES=1`.

use crate::common::{describe, tpcc};

/// Name, statement, plan.
const STATEMENTS: &str = include_str!("tpcc.plans");

#[test]
fn every_statement_has_its_plan() {
    let schema = tpcc();
    let mut found = String::new();
    for block in STATEMENTS.split("\n\n") {
        let mut lines = block.trim_start_matches('\n').lines();
        let (Some(name), Some(statement)) = (lines.next(), lines.next()) else {
            continue;
        };
        found.push_str(&format!(
            "{name}\n{statement}\n{}\n",
            describe(statement, &schema)
        ));
    }
    if std::env::var_os("STRONGROOM_WRITE_TABLES").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tpcc.plans");
        std::fs::write(path, found.trim_end().to_owned() + "\n").expect("a writable file");
        return;
    }
    assert_eq!(found.trim_end(), STATEMENTS.trim_end());
}
