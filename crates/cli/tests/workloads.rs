//! `strongroom workload`, and the output of `compare` about workloads.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod support;

use std::fs;
use std::process::Output;

use support::{Place, program};

fn run(place: &Place, arguments: &[&str]) -> Output {
    program(place.folder()).args(arguments).output().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn refused(place: &Place, arguments: &[&str]) -> String {
    let output = run(place, arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The results file after one round of a workload; none of its passes failed.
#[track_caller]
fn results(place: &Place, workload: &str, options: &[&str]) -> String {
    let fixed = ["--workload", workload, "--repetitions", "1", "--out", "out"];
    let output = run(place, &[&["compare"], &fixed[..], options].concat());
    assert!(output.status.success(), "{output:?}");
    let results = fs::read_to_string(place.folder().join("out/results.jsonl")).unwrap();
    assert!(!results.contains("\"failure\":\""), "{results}");
    results
}

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/my-app");

#[test]
fn the_sql_of_a_workload_is_printed_for_each_dialect() {
    let place = Place::new();
    let whole = printed(&run(&place, &["workload", "speedtest", "--size", "2"]));
    assert_eq!(whole.lines().count(), 13_453);
    assert!(whole.starts_with("PRAGMA temp_store=memory;\n"));
    for test in ["31", "980"] {
        let one = printed(&run(
            &place,
            &["workload", "speedtest", "--size", "2", "--test", test],
        ));
        assert_eq!(
            one,
            "-- begin test 980 PRAGMA integrity_check\nPRAGMA integrity_check;\n-- end test 980\n"
        );
    }
    let mysql = &["workload", "pinger", "--dialect", "mysql", "--test", "1"];
    assert!(printed(&run(&place, mysql)).contains("KEY meanRtt"));
    let scaled = &["workload", "speed", "--scale", "2", "--test", "1"];
    assert_eq!(printed(&run(&place, scaled)).lines().count(), 2001);
    let step = printed(&run(&place, &["workload", "concurrent", "--test", "2"]));
    assert!(step.starts_with("-- 1 connection, as fast"), "{step}");
    assert_eq!(step.lines().count(), 102);
    let own = &["workload", EXAMPLE, "--test", "9"];
    assert_eq!(printed(&run(&place, own)), "VACUUM;\n");
}

#[test]
fn impossible_requests_are_refused_with_a_reason() {
    let place = Place::new();
    let message = refused(&place, &["workload", "sped"]);
    assert!(message.contains("there is no workload `sped`"), "{message}");
    assert!(message.contains("./sped"), "{message}");
    let message = refused(&place, &["workload", "pinger", "--size", "3"]);
    assert!(message.contains("has no parameter --size"), "{message}");
    let message = refused(&place, &["workload", "speedtest", "--size", "0"]);
    assert!(message.contains("not within 1 to 1000"), "{message}");
    let message = refused(&place, &["workload", "speedtest", "--dialect", "postgres"]);
    assert!(message.contains("SQLite's SQL"), "{message}");
    let message = refused(
        &place,
        &["workload", "speedtest", "--size", "1", "--test", "33"],
    );
    assert!(message.contains("it has 100, 110,"), "{message}");
    let message = refused(&place, &["compare", "--workload", "./nowhere"]);
    assert!(
        message.starts_with("strongroom: ./nowhere: no such file or folder; "),
        "{message}"
    );
    place.write("queries.sql", "SELECT 1;\nSELECT 'a;\n");
    place.write("schema.sql", "CREATE TABLE t(a);");
    let message = refused(&place, &["compare", "--workload", "./"]);
    assert!(message.contains("queries.sql, line 2:"), "{message}");
    // Nothing was started.
    assert!(!place.folder().join("report").exists());
}

#[test]
fn a_folder_of_sql_is_compared() {
    let place = Place::new();
    let engines = ["--engines", "sqlite-nosync,strongroom-nosync"];
    let results = results(&place, EXAMPLE, &engines);
    assert!(results.contains("Tickets on fire"));
}

#[test]
fn connections_work_at_once_and_their_latencies_are_kept() {
    let place = Place::new();
    let pace = ["--seconds", "1", "--rate", "50"];
    let options = [&pace[..], &["--engines", "sqlite-nosync"]].concat();
    let results = results(&place, "concurrent", &options);
    assert!(!results.contains("\"contradiction\":\""), "{results}");
    assert_eq!(results.matches("\"measured_ns\"").count(), 8, "{results}");
}
