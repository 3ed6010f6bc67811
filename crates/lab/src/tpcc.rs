//! Workload `tpcc`: concurrent terminals, in the threads of one worker.
//!
//! A terminal begins a transaction when its last one has ended. A transaction counts if it is
//! committed within the measured seconds; its latency is the time from its start, through all
//! retries, to its commit. If it conflicts with another, it is rolled back and retried at once.
//! NewOrders that the specification rolls back are counted separately, and so are transactions that
//! are given up.
//!
//! Processor time covers the same seconds, for the client (this process), the proxy if there is
//! one, and the server.

mod inspection;
pub(crate) mod sample;
pub(crate) mod terminal;
mod transactions;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use workloads::tpcc::consistency::{Acknowledged, CONDITIONS};
use workloads::tpcc::population::{Sizes, rows};
use workloads::tpcc::schema::TABLES;
use workloads::tpcc::transactions::{Kind, Transaction, transaction};
use workloads::tpcc::{Isolation, Step};

use crate::concurrent::{GROWS, RETRIES_MAX, histogram, latency, nanoseconds};
use crate::engine::{Contention, Engine, EngineError};
use crate::measure::Meter;
use crate::processes;
use crate::results::TestSample;

pub use sample::{TpccKind, TpccRun, TpccSample};
pub use terminal::{Call, Replies, Reply, Terminal, Terminals};
use transactions::{Session, TransactionEnd, perform};

/// Rows per `INSERT`, and rows per transaction, while the tables are filled.
const ROWS_OF_INSERT: usize = 100;
const ROWS_OF_TRANSACTION: usize = 10_000;

fn terminals_of(engine: &dyn Engine) -> Result<&dyn Terminals, EngineError> {
    engine.terminals().ok_or_else(|| {
        EngineError::Open("it has no terminals: workload `tpcc` needs a server".into())
    })
}

/// Creates and fills the tables, and records the results in the sample.
///
/// # Errors
///
/// If the engine fails.
pub fn make_tables(
    engine: &dyn Engine,
    folder: &Path,
    scale: u32,
    sample: &mut TestSample,
) -> Result<(), EngineError> {
    let terminals = terminals_of(engine)?;
    let meter = Meter::with(engine.server());
    let mut terminal = terminals.open_terminal(folder, Isolation::ReadCommitted)?;
    let sizes = Sizes::of_scale(scale);
    terminal.define_tables()?;
    for table in &TABLES {
        let mut rows = rows(table, sizes);
        let mut pending = 0;
        loop {
            let some: Vec<_> = rows.by_ref().take(ROWS_OF_INSERT).collect();
            if some.is_empty() {
                break;
            }
            terminal.insert(table, &some)?;
            sample.rows += some.len();
            pending += some.len();
            if pending >= ROWS_OF_TRANSACTION {
                terminal.commit()?;
                pending = 0;
            }
        }
        terminal.commit()?;
        // Rows of the next table are checked against those of this one: without statistics a server
        // may choose another index than that of the key.
        terminals.gather_statistics(table.name)?;
    }
    terminal.close()?;
    sample.sample = meter.stop();
    terminals.settle()?;
    sample.tpcc = Some(Box::new(TpccSample {
        database_bytes: terminals.database_bytes()?,
        run: None,
    }));
    look(engine, folder, scale, Acknowledged::default(), sample)
}

/// Runs a step, and records the results in the sample. All connections are open before the first
/// transaction begins.
///
/// # Errors
///
/// If a terminal fails for any reason but contention.
pub fn run_step(
    engine: &dyn Engine,
    folder: &Path,
    step: &Step,
    acknowledged: &mut Acknowledged,
    sample: &mut TestSample,
) -> Result<(), EngineError> {
    let terminals = terminals_of(engine)?;
    let mut opened = Vec::new();
    for _ in 0..step.terminals {
        opened.push(terminals.open_terminal(folder, step.isolation)?);
    }
    let test = sample.number;
    let shared = Shared {
        step,
        test,
        clock: Clock::start(step),
        failed: AtomicBool::new(false),
        watcher: thread::current(),
    };
    let (ends, cost, proxy_cpu_ns) = thread::scope(|scope| {
        let threads: Vec<_> = (0u32..)
            .zip(opened)
            .map(|(number, terminal)| {
                let shared = &shared;
                scope.spawn(move || work(terminal, number, shared))
            })
            .collect();
        shared.wait_until(shared.clock.counted);
        let proxy = || terminals.proxy().and_then(processes::Usage::of);
        let before = proxy();
        let meter = Meter::with(engine.server());
        shared.wait_until(shared.clock.end);
        let cost = meter.stop();
        let proxy_cpu_ns = before.zip(proxy()).map(|(before, after)| {
            (after.user_ns + after.system_ns).saturating_sub(before.user_ns + before.system_ns)
        });
        let ends: Vec<Result<Tally, EngineError>> = threads
            .into_iter()
            .map(|thread| {
                let end = thread.join();
                end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect();
        (ends, cost, proxy_cpu_ns)
    });
    let mut total = Tally::new();
    for end in ends {
        total.add(&end?);
    }
    sample.sample = cost;
    sample.tpcc = Some(Box::new(TpccSample {
        database_bytes: terminals.database_bytes()?,
        run: Some(total.run(step, proxy_cpu_ns)),
    }));
    acknowledged.orders += total.acknowledged.orders;
    acknowledged.payments += total.acknowledged.payments;
    acknowledged.deliveries += total.acknowledged.deliveries;
    look(engine, folder, step.scale, *acknowledged, sample)
}

/// The condition that the tables do not satisfy, if there is one, after transactions that these
/// numbers count.
///
/// # Errors
///
/// If the engine fails.
pub fn check(
    engine: &dyn Engine,
    folder: &Path,
    scale: u32,
    acknowledged: Acknowledged,
) -> Result<Option<String>, EngineError> {
    let terminals = terminals_of(engine)?;
    let terminal = terminals.open_terminal(folder, Isolation::ReadCommitted)?;
    let violation = inspection::inspect(terminal, Sizes::of_scale(scale), acknowledged)?;
    Ok(violation.map(|violation| violation.to_string()))
}

/// Records whether the tables are consistent.
fn look(
    engine: &dyn Engine,
    folder: &Path,
    scale: u32,
    acknowledged: Acknowledged,
    sample: &mut TestSample,
) -> Result<(), EngineError> {
    sample.contradiction = check(engine, folder, scale, acknowledged)?;
    sample.facts = CONDITIONS;
    Ok(())
}

/// From when transactions count, and from when none is started.
#[derive(Debug, Clone, Copy)]
struct Clock {
    counted: Instant,
    end: Instant,
}

impl Clock {
    fn start(step: &Step) -> Self {
        let counted = Instant::now() + Duration::from_secs(step.warm_up_seconds().into());
        let end = counted + Duration::from_secs(step.seconds.into());
        Self { counted, end }
    }
}

/// State shared by the threads of a step.
struct Shared<'a> {
    step: &'a Step,
    test: u32,
    clock: Clock,
    /// Another terminal has failed: there is no point in going on.
    failed: AtomicBool,
    /// The thread that waits for the end.
    watcher: Thread,
}

impl Shared<'_> {
    fn wait_until(&self, moment: Instant) {
        while !self.failed.load(Ordering::Acquire) {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// Counts of one terminal.
struct Tally {
    histograms: [Histogram<u64>; Kind::ALL.len()],
    statements: u64,
    rolled_back: u64,
    conflicts: u64,
    deadlocks: u64,
    given_up: u64,
    /// Includes the warm-up.
    acknowledged: Acknowledged,
}

impl Tally {
    fn new() -> Self {
        Self {
            histograms: Kind::ALL.map(|_| histogram()),
            statements: 0,
            rolled_back: 0,
            conflicts: 0,
            deadlocks: 0,
            given_up: 0,
            acknowledged: Acknowledged::default(),
        }
    }

    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.add(theirs).expect(GROWS);
        }
        self.statements += other.statements;
        self.rolled_back += other.rolled_back;
        self.conflicts += other.conflicts;
        self.deadlocks += other.deadlocks;
        self.given_up += other.given_up;
        self.acknowledged.orders += other.acknowledged.orders;
        self.acknowledged.payments += other.acknowledged.payments;
        self.acknowledged.deliveries += other.acknowledged.deliveries;
    }

    fn note(&mut self, kind: Kind, deliveries: u32) {
        match kind {
            Kind::NewOrder => self.acknowledged.orders += 1,
            Kind::Payment => self.acknowledged.payments += 1,
            Kind::Delivery => self.acknowledged.deliveries += u64::from(deliveries),
            Kind::OrderStatus | Kind::StockLevel => {}
        }
    }

    fn run(&self, step: &Step, proxy_cpu_ns: Option<u64>) -> TpccRun {
        let mut all = histogram();
        for one in &self.histograms {
            all.add(one).expect(GROWS);
        }
        let kinds = Kind::ALL.iter().zip(&self.histograms);
        TpccRun {
            step: *step,
            measured_ns: u64::from(step.seconds) * 1_000_000_000,
            committed: all.len(),
            rolled_back: self.rolled_back,
            statements: self.statements,
            latency: latency(&all),
            kinds: kinds
                .filter(|(_, histogram)| !histogram.is_empty())
                .map(|(&kind, histogram)| TpccKind {
                    kind,
                    committed: histogram.len(),
                    latency: latency(histogram),
                })
                .collect(),
            conflicts: self.conflicts,
            deadlocks: self.deadlocks,
            given_up: self.given_up,
            proxy_cpu_ns,
        }
    }
}

/// Runs transactions until the end.
fn work(
    terminal: Box<dyn Terminal>,
    number: u32,
    shared: &Shared<'_>,
) -> Result<Tally, EngineError> {
    let mut session = Session::new(terminal, shared.step.isolation);
    let mut tally = Tally::new();
    let sizes = shared.step.sizes();
    for count in 0.. {
        let begin = Instant::now();
        if begin >= shared.clock.end || shared.failed.load(Ordering::Relaxed) {
            break;
        }
        let transaction = transaction(sizes, shared.test, number, count);
        let counts = |moment: Instant| (shared.clock.counted..shared.clock.end).contains(&moment);
        let done = attempt(&mut session, &transaction, &mut tally, counts);
        if done.is_err() {
            shared.fail();
        }
        let Some(done) = done? else {
            continue;
        };
        let end = Instant::now();
        match done {
            TransactionEnd::Committed { deliveries } => {
                tally.note(transaction.kind(), deliveries);
                if counts(end) {
                    tally.statements += session.take_statements();
                    tally.histograms[transaction.kind() as usize]
                        .record(nanoseconds(end - begin))
                        .expect(GROWS);
                }
            }
            TransactionEnd::RolledBack if counts(end) => tally.rolled_back += 1,
            TransactionEnd::RolledBack => {}
        }
    }
    session.close()?;
    Ok(tally)
}

/// Runs a transaction until it ends; `None` if it was given up.
fn attempt(
    session: &mut Session,
    transaction: &Transaction,
    tally: &mut Tally,
    counts: impl Fn(Instant) -> bool,
) -> Result<Option<TransactionEnd>, EngineError> {
    for _ in 0..=RETRIES_MAX {
        session.take_statements();
        match perform(session, transaction, now_microseconds()) {
            Ok(done) => return Ok(Some(done)),
            Err(EngineError::Contention { contention, .. }) => {
                if counts(Instant::now()) {
                    match contention {
                        Contention::Order => tally.conflicts += 1,
                        Contention::Busy | Contention::Deadlock => tally.deadlocks += 1,
                    }
                }
                session.rollback()?;
            }
            Err(error) => return Err(error),
        }
    }
    if counts(Instant::now()) {
        tally.given_up += 1;
    }
    Ok(None)
}

fn now_microseconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
