//! Workload `pinger` has the expected rows, including the published ones.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use sha2::{Digest, Sha256};
use workloads::{Dialect, Spec, Workload, build, pinger};

const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql];

fn workload(dialect: Dialect) -> Workload {
    build(&Spec::Pinger, dialect).unwrap()
}

fn hexadecimal<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    texts.into_iter().for_each(|text| hash.update(text));
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn the_loads_are_the_known_ones_in_every_dialect() {
    for dialect in DIALECTS {
        let workload = workload(dialect);
        let pairs = &workload.tests[1].script;
        assert_eq!(pairs.statements().len(), 210);
        assert_eq!(hexadecimal([pairs.text()]), pinger::SHA256_PAIRS);
        let load: Vec<&str> = workload.tests[3].statements().collect();
        assert_eq!(load.len(), 325_722);
        let rows = &load[1..load.len() - 1];
        let lines = rows.iter().flat_map(|&line| [line, "\n"]);
        assert_eq!(hexadecimal(lines), pinger::SHA256_MEASUREMENTS);
    }
}

#[test]
fn the_hash_is_that_of_the_scripts_for_sqlite() {
    let workload = workload(Dialect::Sqlite);
    let scripts = workload.tests.iter().map(|test| test.script.text());
    assert_eq!(workload.sha256, hexadecimal(scripts));
    assert_eq!(workload.sha256, pinger::SHA256);
}

/// The five rows that the page shows.
const SHOWN: [&str; 5] = [
    "(390,19,21,NULL,31,1007194529,NULL,NULL,NULL,NULL,NULL,NULL,NULL,10,NULL,NULL);",
    "(390,19,22,NULL,49,1007196329,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL);",
    "(390,19,20,NULL,21,1007198127,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL);",
    "(390,19,19,NULL,20,1007199920,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL);",
    "(390,19,20,NULL,23,1007201718,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL);",
];

#[test]
fn the_rows_that_were_shown_are_among_the_rows() {
    let workload = workload(Dialect::Sqlite);
    for row in SHOWN {
        let found = workload.tests[3]
            .statements()
            .filter(|statement| statement.ends_with(row))
            .count();
        assert_eq!(found, 1, "{row}");
    }
}

#[test]
fn dialects_differ_in_tables_and_transactions_alone() {
    let [sqlite, postgres, mysql] = DIALECTS.map(workload);
    for other in [&postgres, &mysql] {
        for place in [1, 2, 4, 5, 6] {
            assert_eq!(sqlite.tests[place].script, other.tests[place].script);
        }
        assert_eq!(sqlite.sha256, other.sha256);
        // Answers are compared statement by statement.
        for (one, another) in sqlite.tests.iter().zip(&other.tests) {
            assert_eq!(one.statement_count(), another.statement_count());
        }
        assert_eq!(
            sqlite.tests[3].statements().nth(1),
            other.tests[3].statements().nth(1)
        );
    }
    assert!(!postgres.tests[0].script.text().contains('"'));
    assert!(mysql.tests[0].script.text().contains("KEY meanRtt"));
}
