//! A deadlock in workload `concurrent` on real servers: the server resolves it, the lab counts it,
//! and the transaction is retried until it commits. Servers that are not installed are printed and
//! skipped.

#[path = "support/databases.rs"]
mod databases;
#[path = "support/servers.rs"]
mod servers;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use lab::answer::{Answers, Value};
use lab::concurrent::run_test;
use lab::engine::{Connection, Durability, Engine, EngineError, Profile, Server};
use workloads::concurrent::{Arrivals, Kind, Step, operation};
use workloads::{Spec, build};

/// Two rows of `t1`, far apart in its index.
const ROWS: [u32; 2] = [100, 900];

/// An engine whose first two connections meet in the middle of their first transactions, which
/// update the same two rows in opposite order: each then holds what the other wants.
struct Crossing<'a> {
    engine: &'a dyn Engine,
    opened: AtomicUsize,
    middle: Arc<Barrier>,
}

struct CrossingConnection {
    connection: Box<dyn Connection>,
    /// In the order of the updates; `None` after them.
    rows: Option<[u32; 2]>,
    middle: Arc<Barrier>,
}

impl Engine for Crossing<'_> {
    fn profile(&self) -> &Profile {
        self.engine.profile()
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        self.engine.create(folder)
    }

    fn server(&self) -> Server {
        self.engine.server()
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        let [one, other] = ROWS;
        let rows = match self.opened.fetch_add(1, Ordering::Relaxed) {
            0 => [one, other],
            _ => [other, one],
        };
        Ok(Box::new(CrossingConnection {
            connection: self.engine.open(folder)?,
            rows: Some(rows),
            middle: Arc::clone(&self.middle),
        }))
    }
}

impl Connection for CrossingConnection {
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError> {
        let Some(rows) = self.rows.take() else {
            return self.connection.run(statements, answers);
        };
        assert_eq!((statements[0], statements[3]), ("BEGIN;", "COMMIT;"));
        let updates = rows.map(|row| format!("UPDATE t1 SET b=b+1 WHERE a={row};"));
        let first = self.connection.run(&["BEGIN;", &updates[0]], answers);
        // Also after a failure, or the other one would wait forever.
        self.middle.wait();
        first?;
        self.connection.run(&[&updates[1], "COMMIT;"], answers)
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        self.connection.settings()
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        self.connection.close()
    }
}

/// A test whose first two operations are updates: each of two connections takes one of them.
fn test_that_begins_with_updates() -> u32 {
    let is_update = |test, number| operation(test, number).kind == Kind::Update;
    let mut tests = 2u32..;
    let found = tests.find(|&test| is_update(test, 0) && is_update(test, 1));
    found.expect("about 2 of 100 tests begin so")
}

#[test]
fn a_deadlock_is_counted_and_its_transaction_is_tried_again() {
    let spec = Spec::named("concurrent").unwrap();
    let lets_the_disk_follow =
        |engine: &dyn Engine| engine.profile().durability != Durability::Full;
    servers::each(lets_the_disk_follow, |engine, folder| {
        let name = &engine.profile().name;
        let workload = build(&spec, engine.profile().dialect).unwrap();
        let tables: Vec<&str> = workload.tests[0].statements().collect();
        engine.create(folder).unwrap();
        databases::answers(engine, folder, &tables);
        let crossing = Crossing {
            engine,
            opened: AtomicUsize::new(0),
            middle: Arc::new(Barrier::new(2)),
        };
        let step = Step {
            connections: 2,
            rate: None,
            arrivals: Arrivals::Even,
            seconds: 1,
        };
        let test = test_that_begins_with_updates();
        let outcome = run_test(&crossing, folder, test, &step).unwrap();
        let sample = &outcome.sample;
        println!("{name}: {} deadlocks", sample.deadlocks);
        assert!(sample.deadlocks >= 1, "{name}: {sample:?}");
        assert_eq!(sample.retries, sample.deadlocks + sample.busy, "{name}");
        assert_eq!(sample.given_up, 0, "{name}");
        // Everything acknowledged is there once, and nothing that was rolled back.
        for fact in outcome.acknowledged.facts() {
            let found = databases::answers(engine, folder, &[&fact.query]);
            let known: Vec<Value> = fact.row.iter().copied().map(Value::Integer).collect();
            assert_eq!(found.values(), known, "{name}: {}", fact.query);
        }
        engine.stop().unwrap();
    });
}
