//! What the workloads foresee is what SQLite holds when it has run them.

use lab::answer::{Answers, Value};
use lab::engine::EngineOptions;
use workloads::{Dialect, Spec, build};

/// Runs those tests of a workload, looks up every fact about their tables after each, and counts
/// the rows of each.
fn rows_of(spec: &Spec, is_run: impl Fn(u32) -> bool) -> Vec<usize> {
    let engine = lab_engines::named("sqlite-nosync", &EngineOptions::default());
    let engine = engine.expect("stock SQLite is always there");
    let workload = build(spec, Dialect::Sqlite).expect("SQLite runs every workload");
    let folder = tempfile::tempdir().expect("a folder can be made");
    engine.create(folder.path()).expect("it can be created");
    let mut connection = engine.open(folder.path()).expect("it can be opened");
    let mut run = |statements: &[&str]| {
        let mut answers = Answers::default();
        let result = connection.run(statements, &mut answers);
        result.expect("every statement runs");
        answers
    };
    let mut rows = Vec::new();
    let mut facts = 0;
    for test in workload.tests.iter().filter(|test| is_run(test.number)) {
        let statements: Vec<&str> = test.statements().collect();
        rows.push(run(&statements).row_count());
        for fact in &test.oracle {
            let known: Vec<Value> = fact.row.iter().copied().map(Value::Integer).collect();
            let answers = run(&[&fact.query]);
            assert_eq!(answers.values(), known, "{}: {}", test.title, fact.query);
            facts += 1;
        }
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
