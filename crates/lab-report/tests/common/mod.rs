//! A made-up run of the workload `speed`, for tests of the reports.
#![allow(dead_code, reason = "each test file takes what it needs from here")]

use std::collections::HashMap;

use lab::comparison::{Comparison, compare};
use lab::concurrent::{ConcurrentSample, Latency};
use lab::engine::{Durability, Mode, Profile};
use lab::machine::{Disk, Machine};
use lab::measure::{Sample, ServerPart, ServerUsage};
use lab::probe::{FileScan, Probe, SyncCalls, Syncs};
use lab::results::{
    Closing, FORMAT, Header, Moment, NotPossible, Pass, Program, Record, Results, TestSample,
    WorkloadHead,
};
use lab::schedule::Random;
use lab::tpcc::{TpccKind, TpccRun, TpccSample};
use lab_report::page::Run;
use workloads::concurrent::{Arrivals, Step};
use workloads::{Dialect, Spec};

/// An engine that takes `speed` tenths of a millisecond for any test.
struct MadeUp {
    name: String,
    base: Option<String>,
    durability: Durability,
    cipher: Option<String>,
    speed: u64,
}

fn engine(name: &str, base: &str, durability: Durability, cipher: bool, speed: u64) -> MadeUp {
    MadeUp {
        name: name.to_owned(),
        base: (!base.is_empty()).then(|| base.to_owned()),
        durability,
        cipher: cipher.then(|| "aegis-256x2".to_owned()),
        speed,
    }
}

fn engines() -> Vec<MadeUp> {
    let (full, none) = (Durability::Full, Durability::None);
    vec![
        engine("sqlite", "", full, false, 100),
        engine("strongroom", "sqlite", full, true, 120),
        engine("sqlite-nosync", "sqlite", none, false, 50),
        engine("strongroom-nosync", "sqlite-nosync", none, true, 52),
        engine("sqlite-again", "sqlite", full, false, 100),
    ]
}

/// A run in which `strongroom` takes 1.2 times as long, with a little noise.
pub fn results(rounds: u32) -> Results {
    made_up(&engines(), &workloads::speed::workload(), rounds)
}

/// Runs of SQLite's speed test at these sizes; time grows with the size.
pub fn sizes(sizes: &[u32]) -> Vec<Results> {
    sizes
        .iter()
        .map(|&size| {
            let spec = Spec::Speedtest {
                size,
                big_transactions: false,
            };
            let mut results = results(2);
            results.header.workload.name = "speedtest".into();
            results.header.workload.spec = spec;
            results.header.workload.sha256 = format!("{size:064}");
            for test in results.passes.iter_mut().flat_map(|pass| &mut pass.tests) {
                test.sample.wall_ns *= u64::from(size);
            }
            results
        })
        .collect()
}

/// Runs of SQLite's speed test at these sizes, in which three engines are in browsers: one that
/// does everything, one that cannot do the first test, and one that does nothing from the third on.
pub fn browsers(at: &[u32], mode: Mode) -> Vec<Results> {
    const NAMES: [(&str, &str); 3] = [
        ("strongroom", "browser-official-opfs"),
        ("sqlite-nosync", "browser-websql"),
        ("strongroom-nosync", "browser-kvvfs-local"),
    ];
    let mut runs = sizes(at);
    for results in &mut runs {
        results.header.mode = mode;
        for (old, new) in NAMES {
            let engine = results.header.engines.iter_mut();
            let engine = engine.into_iter().find(|engine| engine.name == old);
            if let Some(engine) = engine {
                engine.name = new.into();
                engine.family = "browser".into();
                engine.base = Some("sqlite".into());
            }
            let passes = results.passes.iter_mut();
            for pass in passes.filter(|pass| pass.engine == old) {
                pass.engine = new.into();
                for test in &mut pass.tests {
                    let why = match (new, test.number) {
                        ("browser-websql", 1) => ("refused", false),
                        ("browser-kvvfs-local", 3..) => ("database too large", true),
                        _ => continue,
                    };
                    let (why, ends) = (why.0.to_owned(), why.1);
                    let why = NotPossible { why, ends };
                    *test = TestSample::not_possible(test.number, why);
                }
            }
        }
    }
    runs
}

/// A run with 1, 2, 4 and 8 connections, in closed and in open steps.
pub fn concurrent(rounds: u32) -> Results {
    let mut results = results(rounds);
    let (rate, seconds) = (500, 3);
    let head = &mut results.header.workload;
    head.name = "concurrent".into();
    let arrivals = Arrivals::Poisson;
    head.spec = Spec::Concurrent {
        rate,
        arrivals,
        seconds,
    };
    head.sha256 = "ef".repeat(32);
    let steps: Vec<(u32, Option<u32>)> = [None, Some(rate)]
        .iter()
        .flat_map(|rate| [1, 2, 4, 8].map(|connections| (connections, *rate)))
        .collect();
    head.tests = steps
        .iter()
        .map(|(connections, rate)| match rate {
            None => format!("{connections} connections, closed"),
            Some(rate) => format!("{connections} connections, {rate} a second"),
        })
        .collect();
    for pass in &mut results.passes {
        pass.tests.truncate(steps.len());
        for (test, &(connections, rate)) in pass.tests.iter_mut().zip(&steps) {
            let each_ns = test.sample.wall_ns / 1000;
            let latency = Latency {
                p50_ns: each_ns,
                p90_ns: each_ns * 2,
                p99_ns: each_ns * 5 * u64::from(connections),
                p999_ns: each_ns * 90,
                max_ns: each_ns * 300,
            };
            test.concurrent = Some(ConcurrentSample {
                step: Step {
                    connections,
                    rate,
                    arrivals,
                    seconds,
                },
                measured_ns: 3_000_000_000,
                completed: 3_000_000_000 / each_ns * u64::from(connections),
                latency,
                kinds: vec![],
                busy: 12,
                deadlocks: 0,
                retries: 12,
                given_up: 0,
                not_begun: 0,
            });
        }
    }
    results
}

/// A run of terminals, 8 and 16 of them, before PostgreSQL and behind a proxy.
pub fn tpcc(rounds: u32) -> Results {
    let names = ["postgres", "proxy", "proxy-100"];
    let engines: Vec<MadeUp> = names
        .iter()
        .zip([100, 103, 120])
        .map(|(name, speed)| {
            let base = if *name == "postgres" { "" } else { "postgres" };
            engine(name, base, Durability::Full, false, speed)
        })
        .collect();
    let parameters = workloads::Parameters {
        terminals: Some(vec![8, 16]),
        ..Default::default()
    };
    let spec = Spec::parse("tpcc", &parameters).expect("the parameters fit");
    let workload = workloads::build(&spec, Dialect::Postgres).expect("it has a text");
    let mut results = made_up(&engines, &workload, rounds);
    results.header.workload.spec = spec;
    for pass in &mut results.passes {
        for (test, terminals) in pass.tests.iter_mut().zip([0, 8, 16]) {
            let run = (terminals > 0).then(|| tpcc_run(&test.sample, terminals, &pass.engine));
            test.sample.server = Some(ServerPart::Yes(ServerUsage {
                user_ns: 30_000_000_000,
                ..ServerUsage::default()
            }));
            test.tpcc = Some(Box::new(TpccSample {
                database_bytes: 100 << 20,
                run,
            }));
        }
    }
    results
}

fn tpcc_run(sample: &Sample, terminals: u32, engine: &str) -> TpccRun {
    let each_ns = sample.wall_ns / 4;
    let latency = Latency {
        p50_ns: each_ns,
        p90_ns: each_ns * 2,
        p99_ns: each_ns * 5,
        p999_ns: each_ns * 90,
        max_ns: each_ns * 300,
    };
    let committed = 60_000_000_000 / each_ns;
    TpccRun {
        step: workloads::tpcc::Step {
            scale: 1,
            terminals,
            isolation: workloads::tpcc::Isolation::Serializable,
            seconds: 60,
        },
        measured_ns: 60_000_000_000,
        committed,
        rolled_back: 7,
        statements: committed * 24,
        latency,
        kinds: vec![TpccKind {
            kind: workloads::tpcc::transactions::Kind::NewOrder,
            committed: committed / 2,
            latency,
        }],
        conflicts: 41,
        deadlocks: 2,
        given_up: 0,
        proxy_cpu_ns: (engine != "postgres").then_some(9_000_000_000),
    }
}

/// A run of 20 engines, servers among them, and 32 tests.
pub fn many(rounds: u32) -> Results {
    let mut workload = workloads::speed::workload();
    let extra: Vec<workloads::Test> = workload
        .tests
        .iter()
        .chain(&workload.tests)
        .cloned()
        .collect();
    workload.tests.extend(extra.into_iter().take(17));
    for (test, number) in workload.tests.iter_mut().zip(1..) {
        test.number = number;
    }
    workload.sha256 = "cd".repeat(32);
    let mut engines = engines();
    let more = [
        ("strongroom-aegis-256", 130),
        ("strongroom-aes-256-gcm", 150),
        ("strongroom-xchacha20-poly1305", 170),
        ("strongroom-freshness", 125),
        ("sqlcipher-rawkey", 260),
        ("sqlite3mc-chacha20-rawkey", 210),
        ("sqlite3mc-aegis-rawkey", 180),
    ];
    for (name, speed) in more {
        engines.push(engine(name, "sqlite", Durability::Full, true, speed));
        let nosync = format!("{name}-nosync");
        if engines.len() < 17 {
            engines.push(engine(
                &nosync,
                "sqlite-nosync",
                Durability::None,
                true,
                speed / 2,
            ));
        }
    }
    for (name, speed) in [("postgres", 900), ("mariadb", 4000), ("mysql", 7000)] {
        engines.push(engine(name, "sqlite", Durability::Full, false, speed));
    }
    engines.truncate(20);
    let mut results = made_up(&engines, &workload, rounds);
    for pass in &mut results.passes {
        if matches!(pass.engine.as_str(), "postgres" | "mariadb") {
            for test in &mut pass.tests {
                test.sample.server = Some(ServerPart::Yes(ServerUsage {
                    user_ns: test.sample.wall_ns / 3,
                    system_ns: test.sample.wall_ns / 9,
                    memory_bytes: 80 << 20,
                    read_bytes: 1 << 20,
                    written_bytes: 3 << 20,
                }));
            }
        }
    }
    results
}

fn made_up(engines: &[MadeUp], workload: &workloads::Workload, rounds: u32) -> Results {
    let mut random = Random::seeded(5);
    let mut passes = Vec::new();
    for round in 0..rounds {
        for (place, engine) in engines.iter().enumerate() {
            let tests = workload.tests.iter().map(|test| TestSample {
                number: test.number,
                sample: sample(engine.speed * 100_000 + random.below(50_000) as u64),
                rows: 3,
                answer: "same".into(),
                facts: test.oracle.len(),
                contradiction: None,
                not_possible: None,
                concurrent: None,
                tpcc: None,
            });
            let tests = tests.collect();
            let readable = engine.cipher.is_none();
            passes.push(pass(round, place, &engine.name, readable, tests));
        }
    }
    Results {
        header: header(workload, engines),
        probes: engines.iter().map(probe).collect(),
        answers: HashMap::new(),
        passes,
        resumed: vec![],
        complete_bytes: 0,
    }
}

/// The probe of an engine that behaves as claimed.
fn probe(engine: &MadeUp) -> Probe {
    let waits = engine.durability == Durability::Full;
    let look = FileScan {
        files: 2,
        bytes: 8192,
        found_in: engine
            .cipher
            .is_none()
            .then(|| "speed.db".to_owned())
            .into_iter()
            .collect(),
    };
    Probe {
        engine: engine.name.clone(),
        syncs: Syncs::Counted(SyncCalls {
            fsync: if waits { 80 } else { 0 },
            ..SyncCalls::default()
        }),
        open: Some(look.clone()),
        closed: Some(look),
        failure: None,
    }
}

/// The evaluation of that run.
pub fn comparison(rounds: u32) -> Comparison {
    compare(&results(rounds))
}

fn sample(wall_ns: u64) -> Sample {
    Sample {
        wall_ns,
        user_ns: wall_ns / 2,
        system_ns: wall_ns / 4,
        peak_memory_bytes: Some(9 << 20),
        read_bytes: Some(1 << 20),
        written_bytes: Some(2 << 20),
        server: None,
        way_ns: None,
    }
}

fn pass(round: u32, place: usize, engine: &str, readable: bool, tests: Vec<TestSample>) -> Pass {
    Pass {
        round,
        engine: engine.into(),
        place,
        began: Moment {
            unix_seconds: 951_782_400,
            load: Some(0.25),
            clock_mhz: Some(2900.0),
        },
        stolen_share: Some(0.01),
        creating: Some(sample(1_000_000)),
        opening: Some(sample(84_000)),
        settings: vec![
            ("sqlite".into(), "3.99".into()),
            ("synchronous".into(), "2".into()),
        ],
        tests,
        closing: Some(Closing {
            sample: sample(10_000),
            file_bytes: 1 << 20,
            readable_on_disk: readable,
        }),
        failure: None,
    }
}

fn header(workload: &workloads::Workload, engines: &[MadeUp]) -> Header {
    Header {
        format: FORMAT,
        began: Moment {
            unix_seconds: 951_782_400,
            load: Some(0.25),
            clock_mhz: Some(2900.0),
        },
        program: Program {
            version: "9.9.9".into(),
            sha256: "ab".repeat(32),
        },
        mode: Mode::Direct,
        workload: WorkloadHead::new(Spec::Speed { scale: 1 }, workload),
        engines: engines
            .iter()
            .map(|engine| Profile {
                name: engine.name.clone(),
                description: format!("what {} is", engine.name),
                family: String::new(),
                dialect: Dialect::Sqlite,
                base: engine.base.clone(),
                durability: engine.durability,
                cipher: engine.cipher.clone(),
                control: engine.name == "sqlite-again",
            })
            .collect(),
        engine_arguments: vec![],
        seed: 1,
        machine: Machine {
            cpu: "Difference Engine <No. 2> & sons".into(),
            cores: 2,
            memory_bytes: Some(24 << 30),
            operating_system: "System".into(),
            kernel: "6.1".into(),

            governor: None,
            disk: Disk {
                file_system: "ext4".into(),
                device: "/dev/sda1".into(),
            },
        },
    }
}

/// The page of one run.
pub fn page(results: &Results) -> String {
    pages(&[results])
}

/// The page of several runs.
pub fn pages(runs: &[&Results]) -> String {
    let comparisons: Vec<Comparison> = runs.iter().map(|results| compare(results)).collect();
    let texts: Vec<String> = runs.iter().map(|results| text(results)).collect();
    let runs: Vec<Run<'_>> = comparisons
        .iter()
        .zip(&texts)
        .map(|(comparison, text)| Run {
            comparison,
            command: "cargo run --release -- compare",
            samples: text,
        })
        .collect();
    lab_report::page::html(&runs).expect("the templates fit their data")
}

/// The results as a file holds them.
pub fn text(results: &Results) -> String {
    let mut text = Record::Header(results.header.clone()).to_line();
    for probe in &results.probes {
        text += &Record::Probe(probe.clone()).to_line();
    }
    for pass in &results.passes {
        text += &Record::Pass(pass.clone()).to_line();
    }
    text
}
