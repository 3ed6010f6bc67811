//! The facts that workloads predict are what SQLite contains after running them.

#[path = "support/facts.rs"]
mod facts;

use lab::answer::Answers;
use lab::engine::EngineOptions;
use workloads::{Dialect, Spec, build};

/// Runs the selected tests of a workload, checks every fact about the tables after each, and counts
/// each test's rows.
fn rows_of(spec: &Spec, is_run: impl Fn(u32) -> bool) -> Vec<usize> {
    let engine = lab_engines::named("sqlite-nosync", &EngineOptions::default());
    let engine = engine.expect("stock SQLite is always there");
    let workload = build(spec, Dialect::Sqlite).expect("SQLite runs every workload");
    let folder = tempfile::tempdir().expect("a folder can be made");
    engine.create(folder.path()).expect("it can be created");
    let mut connection = engine.open(folder.path()).expect("it can be opened");
    let mut rows = Vec::new();
    let mut facts = 0;
    for test in workload.tests.iter().filter(|test| is_run(test.number)) {
        let statements: Vec<&str> = test.statements().collect();
        let mut answers = Answers::default();
        let result = connection.run(&statements, &mut answers);
        result.expect("every statement runs");
        rows.push(answers.row_count());
        facts::hold(connection.as_mut(), test);
        facts += test.oracle.len();
    }
    assert!(facts > 0);
    rows
}

#[test]
fn pinger_has_its_rows_and_its_queries_find_as_many_as_on_other_engines() {
    assert_eq!(rows_of(&Spec::Pinger, |_| true), [0, 0, 0, 0, 20, 9, 8]);
}

#[test]
fn scaled_speed_tests_leave_the_tables_that_were_reckoned() {
    let rows = rows_of(&Spec::Speed { scale: 3 }, |_| true);
    assert_eq!(rows, [0, 0, 100, 100, 0, 15_000, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn in_a_long_table_test_7_does_not_reach_every_row() {
    let rows = rows_of(&Spec::Speed { scale: 11 }, |test| [1, 7].contains(&test));
    assert_eq!(rows, [0, 0]);
}
