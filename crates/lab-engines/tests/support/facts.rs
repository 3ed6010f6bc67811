//! Checks the known facts about the tables after a test.

use lab::answer::{Answers, Value};
use lab::engine::Connection;
use workloads::Test;

/// Checks every fact that is known after the test; each must hold.
#[track_caller]
pub fn hold(connection: &mut dyn Connection, test: &Test) {
    for fact in &test.oracle {
        let mut answers = Answers::default();
        let result = connection.run(&[fact.query.as_str()], &mut answers);
        result.expect("the query runs");
        let known: Vec<Value> = fact.row.iter().copied().map(Value::Integer).collect();
        assert_eq!(answers.values(), known, "{}: {}", test.title, fact.query);
    }
}
