//! Workload `pinger` gives the answers that its rules foresee.

use lab::answer::{Answers, Value};
use lab::engine::EngineOptions;
use workloads::{Dialect, Spec, build};

#[test]
fn the_three_queries_find_as_many_rows_as_on_other_engines() {
    let engine = lab_engines::named("sqlite-nosync", &EngineOptions::default()).unwrap();
    let workload = build(&Spec::Pinger, Dialect::Sqlite).unwrap();
    let folder = tempfile::tempdir().unwrap();
    engine.create(folder.path()).unwrap();
    let mut connection = engine.open(folder.path()).unwrap();
    let mut rows = Vec::new();
    for test in &workload.tests {
        let mut answers = Answers::default();
        let statements: Vec<&str> = test.statements().collect();
        connection.run(&statements, &mut answers).unwrap();
        rows.push(answers.row_count());
        for fact in &test.oracle {
            let mut answers = Answers::default();
            connection
                .run(&[fact.query.as_str()], &mut answers)
                .unwrap();
            let known: Vec<Value> = fact.row.iter().copied().map(Value::Integer).collect();
            assert_eq!(answers.values(), known, "{}: {}", test.title, fact.query);
        }
    }
    connection.close().unwrap();
    assert_eq!(rows, [0, 0, 0, 0, 20, 9, 8]);
}
