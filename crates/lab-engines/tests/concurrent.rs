//! Workload `concurrent` on real engines: exactly the acknowledged commits are in the tables.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
use std::path::Path;

use lab::answer::{Answers, Value};
use lab::concurrent::{Acknowledged, run_test};
use lab::engine::{Connection, Contention, Engine, EngineError, EngineOptions};
use workloads::concurrent::{Arrivals, Step};
use workloads::{Dialect, Spec, build};

fn engine(name: &str) -> Box<dyn Engine> {
    lab_engines::named(name, &EngineOptions::default()).unwrap()
}

fn run(connection: &mut dyn Connection, statements: &[&str]) -> Result<Answers, EngineError> {
    let mut answers = Answers::default();
    connection.run(statements, &mut answers)?;
    Ok(answers)
}

fn create(engine: &dyn Engine, folder: &Path) -> Box<dyn Connection> {
    let spec = Spec::named("concurrent").unwrap();
    let workload = build(&spec, Dialect::Sqlite).unwrap();
    engine.create(folder).unwrap();
    let mut connection = engine.open(folder).unwrap();
    let statements: Vec<&str> = workload.tests[0].statements().collect();
    run(connection.as_mut(), &statements).unwrap();
    connection
}

fn hold(connection: &mut dyn Connection, acknowledged: &Acknowledged) {
    for fact in acknowledged.facts() {
        let answers = run(connection, &[&fact.query]).unwrap();
        let known: Vec<Value> = fact.row.iter().copied().map(Value::Integer).collect();
        assert_eq!(answers.values(), known, "{}", fact.query);
    }
}

#[test]
fn sums_over_the_tables_are_those_of_the_acknowledged_commits() {
    for name in ["sqlite-nosync", "strongroom-nosync"] {
        let engine = engine(name);
        let folder = tempfile::tempdir().unwrap();
        let mut connection = create(engine.as_ref(), folder.path());
        let mut acknowledged = Acknowledged::default();
        hold(connection.as_mut(), &acknowledged);
        for (test, rate) in [(2, None), (3, Some(100))] {
            let step = Step {
                connections: 4,
                rate,
                arrivals: Arrivals::Poisson,
                seconds: 1,
            };
            let outcome = run_test(engine.as_ref(), folder.path(), test, &step).unwrap();
            assert!(outcome.sample.completed > 0, "{name}");
            assert_eq!(outcome.wrong_reads, 0, "{name}");
            acknowledged += outcome.acknowledged;
            hold(connection.as_mut(), &acknowledged);
        }
        assert!(acknowledged.updates > 0 && acknowledged.inserts > 0);
        connection.close().unwrap();
    }
}

#[test]
fn a_locked_database_is_contention_and_no_failure() {
    let engine = engine("sqlite-nosync");
    let folder = tempfile::tempdir().unwrap();
    let mut first = create(engine.as_ref(), folder.path());
    let mut second = engine.open(folder.path()).unwrap();
    run(first.as_mut(), &["BEGIN EXCLUSIVE;"]).unwrap();
    run(second.as_mut(), &["PRAGMA busy_timeout = 0;"]).unwrap();
    let refused = run(second.as_mut(), &["SELECT 1;", "DELETE FROM t1;"]).unwrap_err();
    assert!(
        matches!(
            refused,
            EngineError::Contention {
                contention: Contention::Busy,
                number: 2,
                ..
            }
        ),
        "{refused:?}"
    );
    run(first.as_mut(), &["ROLLBACK;"]).unwrap();
    run(second.as_mut(), &["DELETE FROM t1;"]).unwrap();
    first.close().unwrap();
    second.close().unwrap();
}
