//! Workload `tpcc` on a real server: the tables are consistent after the terminals, deliberate
//! damage is found, and the end of the server is reported.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/databases.rs"]
mod databases;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{self, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::engine::{Engine, EngineOptions, whole_message};
use lab::processes::descendants;
use lab::results::TestSample;
use lab::tpcc::{make_tables, run_step};
use tempfile::TempDir;
use workloads::tpcc::consistency::{Acknowledged, CONDITIONS};
use workloads::tpcc::{Isolation, Step};

use databases::{answers, odd_folder};

/// PostgreSQL with the tables of two small warehouses; `None` if it is not installed.
fn filled() -> Option<(Box<dyn Engine>, TempDir)> {
    let engine = lab_engines::named("postgres", &EngineOptions::default()).unwrap();
    if let Some(missing) = engine.missing() {
        println!("left out: {missing}");
        assert!(
            std::env::var_os("STRONGROOM_TEST_SERVERS").is_none(),
            "{missing}"
        );
        return None;
    }
    let folder = odd_folder();
    engine.create(folder.path()).unwrap();
    let mut sample = sample(1);
    make_tables(engine.as_ref(), folder.path(), 0, &mut sample).unwrap();
    assert_eq!(sample.contradiction, None);
    assert_eq!(sample.facts, CONDITIONS);
    assert!(sample.rows > 8000);
    assert!(sample.tpcc.unwrap().database_bytes > 1 << 20);
    Some((engine, folder))
}

fn sample(number: u32) -> TestSample {
    TestSample {
        number,
        ..TestSample::default()
    }
}

fn step(terminals: u32, isolation: Isolation) -> Step {
    Step {
        scale: 0,
        terminals,
        isolation,
        seconds: 2,
    }
}

/// Runs a step; longer if nothing was committed while it was measured, as on a busy machine.
fn run_until_committed(
    (engine, folder): (&dyn Engine, &Path),
    step: Step,
    acknowledged: &mut Acknowledged,
    number: u32,
) -> (Step, TestSample) {
    for seconds in [step.seconds, 8, 32] {
        let step = Step { seconds, ..step };
        let mut sample = sample(number);
        run_step(engine, folder, &step, acknowledged, &mut sample).unwrap();
        if sample.terminals().is_some_and(|run| run.committed > 0) {
            return (step, sample);
        }
    }
    panic!("six terminals committed nothing in 32 seconds");
}

#[test]
fn tables_are_consistent_after_the_terminals() {
    let Some((engine, folder)) = filled() else {
        return;
    };
    let mut acknowledged = Acknowledged::default();
    for (number, isolation) in [(2, Isolation::Serializable), (3, Isolation::ReadCommitted)] {
        let before = acknowledged;
        let at = (engine.as_ref(), folder.path());
        let (step, sample) = run_until_committed(at, step(6, isolation), &mut acknowledged, number);
        assert_eq!(sample.contradiction, None);
        assert!(acknowledged.orders > before.orders && acknowledged.payments > before.payments);
        let run = sample.terminals().unwrap();
        println!("{run:?}");
        assert_eq!(run.step, step);
        // Six terminals on two small warehouses: serialisable transactions may starve.
        assert!(run.given_up == 0 || isolation == Isolation::Serializable);
        assert_eq!(
            run.committed,
            run.kinds.iter().map(|kind| kind.committed).sum::<u64>()
        );
        // Each kind has several statements; which kinds complete is random.
        assert!(run.statements > 2 * run.committed);
        assert!(run.latency.p50_ns <= run.latency.p99_ns);
        assert_eq!(run.proxy_cpu_ns, None);
        assert!(sample.sample.cpu_ns().unwrap() > sample.sample.client_cpu_ns());
    }
    assert!(acknowledged.deliveries > 0);
    engine.stop().unwrap();
}

#[test]
fn broken_conditions_are_found() {
    let Some((engine, folder)) = filled() else {
        return;
    };
    let damages = [
        (
            "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2",
            "condition 1 ",
        ),
        (
            "UPDATE customer SET c_balance = 7 WHERE c_id = 3",
            "condition 10 ",
        ),
    ];
    let mut acknowledged = Acknowledged::default();
    for (number, (damage, words)) in (2..).zip(damages) {
        answers(engine.as_ref(), folder.path(), &[damage]);
        let mut sample = sample(number);
        let step = step(2, Isolation::Serializable);
        run_step(
            engine.as_ref(),
            folder.path(),
            &step,
            &mut acknowledged,
            &mut sample,
        )
        .unwrap();
        let found = sample.contradiction.unwrap();
        assert!(found.contains(words), "{found}");
        let mend = "UPDATE warehouse SET w_ytd = w_ytd - 1 WHERE w_id = 2";
        answers(engine.as_ref(), folder.path(), &[mend]);
    }
    engine.stop().unwrap();
}

#[test]
fn the_end_of_the_server_is_reported() {
    const TERMINALS: u32 = 3;
    let Some((engine, folder)) = filled() else {
        return;
    };
    let postmaster = main_process(folder.path());
    // The connections that filled the tables may still be closing.
    let before = sessions(postmaster);
    let is_over = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(&is_over);
    let killer = std::thread::spawn(move || {
        let are_all_there = || {
            let now = sessions(postmaster);
            now.difference(&before).count() >= TERMINALS as usize
        };
        while !are_all_there() {
            assert!(!watched.load(Ordering::Relaxed), "the run was not met");
            std::thread::yield_now();
        }
        let killed = Command::new("kill")
            .args(["-9", &postmaster.to_string()])
            .status();
        assert!(killed.unwrap().success());
    });
    let mut acknowledged = Acknowledged::default();
    let step = step(TERMINALS, Isolation::Serializable);
    let engine = engine.as_ref();
    let end = run_step(
        engine,
        folder.path(),
        &step,
        &mut acknowledged,
        &mut sample(2),
    );
    is_over.store(true, Ordering::Relaxed);
    killer.join().unwrap();
    let message = whole_message(&end.unwrap_err());
    assert!(
        message.contains("the server has ended (signal: 9"),
        "{message}"
    );
}

/// PostgreSQL's processes for clients, recognised by the client's address in their titles.
fn sessions(postmaster: i32) -> BTreeSet<i32> {
    let is_session = |pid: &i32| {
        let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&title).contains(" 127.0.0.1(")
    };
    let below = descendants(postmaster).into_iter();
    below.map(|one| one.pid).filter(is_session).collect()
}

fn main_process(folder: &Path) -> i32 {
    let this_process = process::id().cast_signed();
    let data = folder.join("server").join("data").display().to_string();
    let server = descendants(this_process).into_iter().find(|process| {
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        process.parent == this_process && String::from_utf8_lossy(&line).contains(&data)
    });
    server.unwrap().pid
}
