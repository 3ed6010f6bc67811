//! Several connections at once, on a mock engine: what is counted and what waits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lab::answer::{Answers, Value};
use lab::concurrent::{RETRIES_MAX, run_test};
use lab::engine::{Connection, Contention, Durability, Engine, EngineError, Profile};
use workloads::Dialect;
use workloads::concurrent::{Arrivals, DueTimes, Kind, Step};

/// How the mock engine behaves: the time per call, and how often it reports that something is
/// locked.
#[derive(Clone, Copy, Default)]
struct Behaviour {
    pause: Duration,
    contention_each: Option<u64>,
    fails_at: Option<u64>,
    finds_nothing: bool,
}

struct MadeUp {
    profile: Profile,
    behaviour: Behaviour,
    calls: Arc<AtomicU64>,
}

struct MadeUpConnection {
    behaviour: Behaviour,
    calls: Arc<AtomicU64>,
}

impl MadeUp {
    fn new(behaviour: Behaviour) -> Self {
        let profile = Profile {
            name: "made up".into(),
            description: String::new(),
            family: String::new(),
            dialect: Dialect::Postgres,
            base: None,
            durability: Durability::None,
            cipher: None,
            control: false,
        };
        Self {
            profile,
            behaviour,
            calls: Arc::default(),
        }
    }
}

impl Engine for MadeUp {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn create(&self, _folder: &Path) -> Result<(), EngineError> {
        Ok(())
    }

    fn open(&self, _folder: &Path) -> Result<Box<dyn Connection>, EngineError> {
        Ok(Box::new(MadeUpConnection {
            behaviour: self.behaviour,
            calls: Arc::clone(&self.calls),
        }))
    }
}

impl Connection for MadeUpConnection {
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError> {
        if statements == ["ROLLBACK;"] {
            return Ok(());
        }
        thread::sleep(self.behaviour.pause);
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let (number, statement) = (1, statements[0].to_owned());
        if self.behaviour.fails_at == Some(call) {
            return Err(EngineError::Statement {
                number,
                statement,
                source: "on purpose".into(),
            });
        }
        if self
            .behaviour
            .contention_each
            .is_some_and(|each| call.is_multiple_of(each))
        {
            let contention = [Contention::Busy, Contention::Deadlock][(call / 2 % 2) as usize];
            return Err(EngineError::Contention {
                contention,
                number,
                statement,
                source: "on purpose".into(),
            });
        }
        if !self.behaviour.finds_nothing {
            answers.push(Value::Integer(1));
            answers.end_row();
        }
        answers.end_statement();
        Ok(())
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        Ok(vec![])
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

fn step(connections: u32, rate: Option<u32>) -> Step {
    Step {
        connections,
        rate,
        arrivals: Arrivals::Even,
        seconds: 1,
    }
}

const FOLDER: &str = "/nowhere";

#[test]
fn waiting_behind_a_slow_engine_is_not_hidden() {
    // It can do 10 operations a second, and 100 per second are due.
    let engine = MadeUp::new(Behaviour {
        pause: Duration::from_millis(100),
        ..Behaviour::default()
    });
    let outcome = run_test(&engine, Path::new(FOLDER), 2, &step(1, Some(100))).unwrap();
    let sample = outcome.sample;
    // 100 are counted: few complete, the others are never started, and half of all wait a second or
    // more.
    assert_eq!(sample.completed + sample.not_begun, 100);
    assert!(sample.not_begun >= 50, "{sample:?}");
    assert!(sample.latency.p50_ns >= 1_000_000_000, "{sample:?}");
    assert!(sample.latency.max_ns >= sample.latency.p99_ns);
}

#[test]
fn an_open_step_with_time_to_spare_completes_everything_due() {
    let engine = MadeUp::new(Behaviour::default());
    let outcome = run_test(&engine, Path::new(FOLDER), 2, &step(4, Some(50))).unwrap();
    let sample = outcome.sample;
    assert_eq!((sample.completed, sample.not_begun), (50, 0));
    assert_eq!(
        sample.kinds.iter().map(|kind| kind.completed).sum::<u64>(),
        50
    );
    assert_eq!(sample.step.connections, 4);
    assert!(sample.throughput() <= 50.0);
}

#[test]
fn operations_that_come_at_random_are_all_done() {
    const SECOND_NS: u64 = 1_000_000_000;
    let engine = MadeUp::new(Behaviour::default());
    let at_random = Step {
        arrivals: Arrivals::Poisson,
        ..step(4, Some(50))
    };
    let outcome = run_test(&engine, Path::new(FOLDER), 2, &at_random).unwrap();
    // The second of the warm-up, and the measured one.
    let times: Vec<u64> = DueTimes::new(2, 50, Arrivals::Poisson)
        .take_while(|&due_ns| due_ns < 2 * SECOND_NS)
        .collect();
    let counted = times.iter().filter(|&&due_ns| due_ns >= SECOND_NS).count();
    assert_ne!(counted, 50, "as evenly");
    let sample = outcome.sample;
    assert_eq!((sample.completed, sample.not_begun), (counted as u64, 0));
    assert_eq!(engine.calls.load(Ordering::Relaxed), times.len() as u64);
}

#[test]
fn contention_is_tried_again_and_counted() {
    let engine = MadeUp::new(Behaviour {
        pause: Duration::from_millis(1),
        contention_each: Some(3),
        ..Behaviour::default()
    });
    let outcome = run_test(&engine, Path::new(FOLDER), 2, &step(2, None)).unwrap();
    let sample = outcome.sample;
    assert!(sample.busy > 0 && sample.deadlocks > 0, "{sample:?}");
    assert_eq!(sample.retries, sample.busy + sample.deadlocks);
    assert_eq!(sample.given_up, 0);
    assert!(sample.completed > 0);
    let changed = outcome.acknowledged;
    assert!(changed.updates >= kind_count(&sample.kinds, Kind::Update));
    assert!(changed.inserts >= kind_count(&sample.kinds, Kind::Insert));
}

fn kind_count(kinds: &[lab::concurrent::KindSample], kind: Kind) -> u64 {
    kinds
        .iter()
        .find(|sample| sample.kind == kind)
        .map_or(0, |sample| sample.completed)
}

#[test]
fn an_operation_that_never_succeeds_is_given_up() {
    let engine = MadeUp::new(Behaviour {
        contention_each: Some(1),
        ..Behaviour::default()
    });
    let outcome = run_test(&engine, Path::new(FOLDER), 2, &step(1, Some(5))).unwrap();
    let sample = outcome.sample;
    // Five in the warm-up and five counted.
    assert_eq!((sample.completed, sample.given_up), (0, 10));
    assert_eq!(sample.retries, 10 * u64::from(RETRIES_MAX));
    assert_eq!(
        outcome.acknowledged.updates + outcome.acknowledged.inserts,
        0
    );
}

#[test]
fn another_failure_ends_the_step() {
    let engine = MadeUp::new(Behaviour {
        fails_at: Some(7),
        ..Behaviour::default()
    });
    let error = run_test(&engine, Path::new(FOLDER), 2, &step(4, None)).unwrap_err();
    assert!(matches!(error, EngineError::Statement { .. }), "{error:?}");
}

#[test]
fn reads_that_find_nothing_are_reported() {
    let engine = MadeUp::new(Behaviour {
        finds_nothing: true,
        pause: Duration::from_millis(1),
        ..Behaviour::default()
    });
    let outcome = run_test(&engine, Path::new(FOLDER), 2, &step(1, None)).unwrap();
    assert!(outcome.wrong_reads > 0);
}
