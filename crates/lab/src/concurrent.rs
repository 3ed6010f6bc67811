//! Several connections working at once, in the threads of one worker.
//!
//! When an operation is due: in a closed step, when its connection has finished the one before; in
//! an open step, at times fixed in advance ([`DueTimes`]), and the next free connection takes it.
//! Latency is the time from when an operation was due, through all retries, to its commit.
//! Operations due within the warm-up are run but not counted.
//!
//! An operation that meets contention is rolled back and retried at once; only commits count. After
//! the end of an open step its connections have as long again as the step to work off what is still
//! due. Operations not started by then are counted separately, and the time they have waited so far
//! goes into the latencies, so that an engine that falls behind cannot look fast.

pub(crate) mod sample;

use std::ops::AddAssign;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use workloads::concurrent::{DueTimes, Kind, Operation, Step, WARM_UP_SECONDS, facts, operation};

use crate::answer::Answers;
use crate::engine::{Connection, Contention, Engine, EngineError};
use crate::measure::{Meter, Sample};
use crate::results::TestSample;

pub use sample::{ConcurrentSample, KindSample, Latency};

/// The most retries of an operation that meets contention each time.
pub const RETRIES_MAX: u32 = 100;

/// Commits that were acknowledged since the tables were created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Transactions that update.
    pub updates: u64,
    /// Inserts.
    pub inserts: u64,
}

impl Acknowledged {
    fn note(&mut self, kind: Kind) {
        match kind {
            Kind::PointRead | Kind::RangeRead => {}
            Kind::Update => self.updates += 1,
            Kind::Insert => self.inserts += 1,
        }
    }

    /// The facts that must hold in the tables now.
    pub fn facts(&self) -> [workloads::Fact; 2] {
        facts(self.updates, self.inserts)
    }
}

impl AddAssign for Acknowledged {
    fn add_assign(&mut self, other: Self) {
        self.updates += other.updates;
        self.inserts += other.inserts;
    }
}

/// The result of a step.
#[derive(Debug)]
pub struct StepOutcome {
    /// The cost of the whole step, from opening the first connection to closing the last.
    pub cost: Sample,
    /// The measurements.
    pub sample: ConcurrentSample,
    /// Commits in the step, including the warm-up.
    pub acknowledged: Acknowledged,
    /// Reads that did not find the one existing row.
    pub wrong_reads: u64,
}

impl StepOutcome {
    /// Stores the result in the sample of its test, with the result of checking the tables
    /// afterwards.
    pub fn record(self, sample: &mut TestSample, facts: usize, contradiction: Option<String>) {
        let wrong_reads = (self.wrong_reads > 0)
            .then(|| format!("{} reads did not find their one row", self.wrong_reads));
        sample.sample = self.cost;
        sample.facts = facts;
        sample.contradiction = contradiction.or(wrong_reads);
        sample.concurrent = Some(self.sample);
    }
}

/// Runs a step; all connections are opened before the first operation is due.
///
/// # Errors
///
/// If a connection cannot be opened, or fails for any reason but contention.
pub fn run_test(
    engine: &dyn Engine,
    folder: &Path,
    test: u32,
    step: &Step,
) -> Result<StepOutcome, EngineError> {
    let meter = Meter::with(engine.server());
    let mut connections = Vec::new();
    for _ in 0..step.connections {
        connections.push(engine.open(folder)?);
    }
    let clock = Clock::start(step);
    let shared = Shared {
        test,
        clock,
        next: Mutex::new(Next {
            number: 0,
            due_times: step
                .rate
                .map(|rate| DueTimes::new(test, rate, step.arrivals)),
        }),
        failed: AtomicBool::new(false),
    };
    let ends: Vec<Result<Tally, EngineError>> = thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .map(|connection| scope.spawn(|| work(connection, &shared)))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let mut total = Tally::new();
    for end in ends {
        total.add(&end?);
    }
    Ok(total.outcome(step, &clock, meter.stop()))
}

/// The times of a step: start, warm-up, end.
#[derive(Debug, Clone, Copy)]
struct Clock {
    begin: Instant,
    /// Operations due from here on are counted.
    counted: Instant,
    /// No operation is due from here on.
    end: Instant,
    /// No operation is started from here on.
    last_begin: Instant,
}

impl Clock {
    fn start(step: &Step) -> Self {
        let begin = Instant::now();
        let counted = begin + Duration::from_secs(u64::from(WARM_UP_SECONDS));
        let duration = Duration::from_secs(u64::from(step.seconds));
        let end = counted + duration;
        Self {
            begin,
            counted,
            end,
            last_begin: end + duration,
        }
    }
}

/// State shared by the threads of a step.
struct Shared {
    test: u32,
    clock: Clock,
    next: Mutex<Next>,
    /// Another connection has failed: there is no point in going on.
    failed: AtomicBool,
}

/// The next operation.
struct Next {
    number: u64,
    /// `None` in a closed step.
    due_times: Option<DueTimes>,
}

impl Shared {
    /// Takes the next operation: its number, and when it is due.
    fn take(&self) -> (u64, Instant) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = next.number;
        next.number += 1;
        let due_ns = next.due_times.as_mut().and_then(Iterator::next);
        let due = due_ns.map(|ns| self.clock.begin + Duration::from_nanos(ns));
        (number, due.unwrap_or_else(Instant::now))
    }
}

/// Counts of one connection.
struct Tally {
    histograms: [Histogram<u64>; Kind::ALL.len()],
    completed: [u64; Kind::ALL.len()],
    busy: u64,
    deadlocks: u64,
    retries: u64,
    given_up: u64,
    not_begun: u64,
    acknowledged: Acknowledged,
    wrong_reads: u64,
    /// End of the last operation that was counted.
    last_end: Option<Instant>,
}

pub(crate) const GROWS: &str = "a histogram that grows by itself takes every value";

pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are among the one to five that there can be")
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Tally {
    fn new() -> Self {
        Self {
            histograms: Kind::ALL.map(|_| histogram()),
            completed: [0; Kind::ALL.len()],
            busy: 0,
            deadlocks: 0,
            retries: 0,
            given_up: 0,
            not_begun: 0,
            acknowledged: Acknowledged::default(),
            wrong_reads: 0,
            last_end: None,
        }
    }

    fn record(&mut self, kind: Kind, latency: Duration) {
        self.histograms[kind as usize]
            .record(nanoseconds(latency))
            .expect(GROWS);
    }

    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.add(theirs).expect(GROWS);
        }
        for (mine, theirs) in self.completed.iter_mut().zip(other.completed) {
            *mine += theirs;
        }
        self.busy += other.busy;
        self.deadlocks += other.deadlocks;
        self.retries += other.retries;
        self.given_up += other.given_up;
        self.not_begun += other.not_begun;
        self.acknowledged += other.acknowledged;
        self.wrong_reads += other.wrong_reads;
        self.last_end = self.last_end.max(other.last_end);
    }

    fn outcome(self, step: &Step, clock: &Clock, cost: Sample) -> StepOutcome {
        let mut all = histogram();
        for one in &self.histograms {
            all.add(one).expect(GROWS);
        }
        let kinds = Kind::ALL
            .into_iter()
            .filter(|&kind| !self.histograms[kind as usize].is_empty())
            .map(|kind| KindSample {
                kind,
                completed: self.completed[kind as usize],
                latency: latency(&self.histograms[kind as usize]),
            })
            .collect();
        let measured = self
            .last_end
            .map_or(clock.end, |last_end| last_end.max(clock.end))
            .duration_since(clock.counted);
        StepOutcome {
            cost,
            sample: ConcurrentSample {
                step: *step,
                measured_ns: nanoseconds(measured),
                completed: self.completed.iter().sum(),
                latency: latency(&all),
                kinds,
                busy: self.busy,
                deadlocks: self.deadlocks,
                retries: self.retries,
                given_up: self.given_up,
                not_begun: self.not_begun,
            },
            acknowledged: self.acknowledged,
            wrong_reads: self.wrong_reads,
        }
    }
}

pub(crate) fn latency(histogram: &Histogram<u64>) -> Latency {
    Latency {
        p50_ns: histogram.value_at_quantile(0.5),
        p90_ns: histogram.value_at_quantile(0.9),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
    }
}

/// Runs operations until none is due any more.
fn work(mut connection: Box<dyn Connection>, shared: &Shared) -> Result<Tally, EngineError> {
    let clock = &shared.clock;
    let mut tally = Tally::new();
    while !shared.failed.load(Ordering::Relaxed) {
        let (number, due) = shared.take();
        if due >= clock.end {
            break;
        }
        let operation = operation(shared.test, number);
        let now = Instant::now();
        if now >= clock.last_begin {
            if due >= clock.counted {
                tally.not_begun += 1;
                tally.record(operation.kind, now - due);
            }
            continue;
        }
        // In an open step, waits until the operation is due; returns at once if that time has
        // passed.
        thread::sleep(due.saturating_duration_since(now));
        let done = attempt(connection.as_mut(), &operation, &mut tally);
        if done.is_err() {
            shared.failed.store(true, Ordering::Relaxed);
        }
        if done? {
            let end = Instant::now();
            tally.acknowledged.note(operation.kind);
            if due >= clock.counted {
                tally.completed[operation.kind as usize] += 1;
                tally.record(operation.kind, end - due);
                tally.last_end = Some(end);
            }
        }
    }
    connection.close()?;
    Ok(tally)
}

/// Runs an operation until it is committed; returns false if it was given up.
fn attempt(
    connection: &mut dyn Connection,
    operation: &Operation,
    tally: &mut Tally,
) -> Result<bool, EngineError> {
    let statements: Vec<&str> = operation.statements.iter().map(String::as_str).collect();
    for _ in 0..=RETRIES_MAX {
        let mut answers = Answers::default();
        match connection.run(&statements, &mut answers) {
            Ok(()) => {
                if operation.kind == Kind::PointRead && answers.row_count() != 1 {
                    tally.wrong_reads += 1;
                }
                return Ok(true);
            }
            Err(EngineError::Contention { contention, .. }) => {
                match contention {
                    Contention::Busy => tally.busy += 1,
                    Contention::Deadlock | Contention::Order => tally.deadlocks += 1,
                }
                tally.retries += 1;
                if statements.len() > 1 {
                    // If the engine has already rolled back, this fails, which does not matter.
                    drop(connection.run(&["ROLLBACK;"], &mut Answers::default()));
                }
            }
            Err(error) => return Err(error),
        }
    }
    tally.retries -= 1;
    tally.given_up += 1;
    Ok(false)
}
