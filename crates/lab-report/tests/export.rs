//! Exports of runs and differences.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use lab::comparison::{Comparison, compare};
use lab::difference::{Difference, difference};
use lab_report::{changes, export};

#[test]
fn csv_holds_every_sample() {
    let results = common::results(3);
    let text = export::csv(&[&results, &results]).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|one| one == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2 * 3 * 5 * 15);
    let sample = results.passes[7].tests[4].sample;
    let row = rows
        .iter()
        .find(|row| {
            row[column("run")] == *"2"
                && row[column("engine")] == *results.passes[7].engine
                && row[column("round")] == *results.passes[7].round.to_string()
                && row[column("test")] == *"5"
        })
        .unwrap();
    assert_eq!(row[column("wall_ns")], *sample.wall_ns.to_string());
    assert_eq!(row[column("cpu_ns")], *sample.cpu_ns().unwrap().to_string());
    assert_eq!(row[column("title")], *"Creating an index");
}

#[test]
fn json_equals_the_evaluation() {
    let comparison = compare(&common::results(10));
    let text = export::json(&comparison).unwrap();
    let read: Comparison = serde_json::from_str(&text).unwrap();
    assert_eq!(read.engines.len(), 5);
    let (one, two) = (&read.engines[1], &comparison.engines[1]);
    assert_eq!(one.profile, two.profile);
    let value = |ratio: Option<lab::statistics::Ratio>| ratio.unwrap().value;
    assert!((value(one.wall_mean) - value(two.wall_mean)).abs() < 1e-12);
}

#[test]
fn markdown_has_tables_whose_cells_do_not_break_out() {
    let mut results = common::results(10);
    results.header.workload.tests[0] = "a | b".into();
    let text = export::markdown(&compare(&results));
    let tables: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    // Heading and rule; five engines; heading and rule; 15 tests.
    assert_eq!(tables.len(), 2 + 5 + 2 + 15);
    assert!(text.contains("| 1 a \\| b |"), "{text}");
    assert!(text.contains("strongroom took 1.20 times as long as sqlite"));
}

fn slower() -> Difference {
    let before = common::results(12);
    let mut after = before.clone();
    after.header.machine.kernel = "7.0".into();
    for pass in &mut after.passes {
        if pass.engine == "strongroom" {
            pass.tests[2].sample.wall_ns *= 2;
        }
    }
    difference(&before, &after, 0.05).unwrap()
}

#[test]
fn a_regression_is_reported_in_every_format() {
    let difference = slower();
    let table = changes::table(&difference, 80);
    assert!(table.contains("REGRESSION"), "{table}");
    assert!(table.contains("kernel: 6.1 before, 7.0 after"), "{table}");
    assert!(
        table
            .replace('\n', " ")
            .contains("1 regression of more than 5 %"),
        "{table}"
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    let markdown = export::difference_markdown(&difference);
    assert!(
        markdown.contains("| strongroom | 3 100 SELECTs without an index | 2.00"),
        "{markdown}"
    );
    let text = export::difference_csv(&difference).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 5 * 16);
    let regressions: Vec<&csv::StringRecord> =
        rows.iter().filter(|row| &row[9] == "true").collect();
    assert_eq!(regressions.len(), 1);
    assert_eq!(
        (&regressions[0][0], &regressions[0][1]),
        ("strongroom", "3")
    );
    let read: Difference = serde_json::from_str(&export::json(&difference).unwrap()).unwrap();
    assert_eq!(read.regressions().len(), 1);
}
