//! Storms: many processes on one database, with steps that a seed interleaves, and with kills.
//!
//! An ordinary test run has a sample. `cargo xtask storm` runs for a given time;
//! `STRONGROOM_TEST_SEED` replays a seed that failed.

#[path = "../common/mod.rs"]
mod common;
mod content;
mod kills;
mod oracle;
mod parallel;
mod rotation;
mod schedule;
mod session;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use common::children::Part;
use common::random::seeds;
use schedule::{Schedule, Tally};

/// Set by `cargo xtask storm`: how long to go on.
const SECONDS: &str = "STRONGROOM_STORM_SECONDS";
/// The first seed of a long run.
const FIRST_SEED: &str = "STRONGROOM_STORM_SEED";

const SAMPLE: u64 = 8;
const STEPS: u64 = 250;

/// One process of a gale; not a test of its own.
#[test]
fn gale_worker() {
    if let Some(part) = Part::mine() {
        parallel::blow(&part);
    }
}

/// One process of a storm; not a test of its own.
#[test]
fn worker() {
    if let Some(part) = Part::mine() {
        worker::work(&part);
    }
}

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Runs schedules until the time is up; in an ordinary test run, a few.
fn storm(sample: u64, mut run: impl FnMut(u64) -> Tally) {
    let start = Instant::now();
    let mut all = Tally::default();
    match number_from(SECONDS) {
        None => seeds(1..=sample)
            .into_iter()
            .for_each(|seed| all.add(run(seed))),
        Some(seconds) => {
            let first = number_from(FIRST_SEED).unwrap_or(1);
            let end = start + Duration::from_secs(seconds);
            for seed in first.. {
                if Instant::now() >= end {
                    break;
                }
                all.add(run(seed));
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let (schedules, steps) = (all.schedules as f64 / seconds, all.steps as f64 / seconds);
    println!("{all:?} in {seconds:.1} s: {schedules:.1} schedules, {steps:.0} steps each second");
}

/// Runs `inside`; if it panics, prints the log of the steps before.
fn with_log(mut schedule: Schedule, steps: u64) -> Tally {
    let result = catch_unwind(AssertUnwindSafe(|| schedule.run(steps)));
    result.unwrap_or_else(|panic| {
        println!("{}", schedule.log.join("\n"));
        resume_unwind(panic)
    })
}

#[test]
fn schedules_of_several_processes_show_every_reader_its_snapshot() {
    storm(SAMPLE, |seed| with_log(Schedule::new(seed), STEPS));
}

#[test]
fn processes_killed_at_any_time_lose_no_commit_and_leave_nothing_half_done() {
    storm(1, parallel::gales);
}
