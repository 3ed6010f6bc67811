//! A made-up run of the workload `speed`, for tests of what is said about runs.

use std::collections::HashMap;

use lab::comparison::{Comparison, compare};
use lab::engine::{Durability, Mode, Profile};
use lab::machine::{Disk, Machine};
use lab::measure::Sample;
use lab::results::{
    Closing, FORMAT, Header, Moment, Pass, Program, Results, TestSample, WorkloadHead,
};
use lab::schedule::Random;
use workloads::{Dialect, Spec};

/// An engine that takes `speed` tenths of a millisecond for any test.
struct MadeUp {
    name: &'static str,
    base: Option<&'static str>,
    durability: Durability,
    cipher: Option<&'static str>,
    speed: u64,
}

const CIPHER: Option<&str> = Some("aegis-256x2");

const SQLITE: MadeUp = MadeUp {
    name: "sqlite",
    base: None,
    durability: Durability::Full,
    cipher: None,
    speed: 100,
};

const ENGINES: [MadeUp; 5] = [
    SQLITE,
    MadeUp {
        name: "strongroom",
        base: Some("sqlite"),
        cipher: CIPHER,
        speed: 120,
        ..SQLITE
    },
    MadeUp {
        name: "sqlite-nosync",
        base: Some("sqlite"),
        durability: Durability::None,
        speed: 50,
        ..SQLITE
    },
    MadeUp {
        name: "strongroom-nosync",
        base: Some("sqlite-nosync"),
        durability: Durability::None,
        cipher: CIPHER,
        speed: 52,
    },
    MadeUp {
        name: "sqlite-again",
        base: Some("sqlite"),
        ..SQLITE
    },
];

/// A run in which `strongroom` takes 1.2 times as long, with a little noise.
pub fn results(rounds: u32) -> Results {
    let workload = workloads::speed::workload();
    let mut random = Random::seeded(5);
    let mut passes = Vec::new();
    for round in 0..rounds {
        for (place, engine) in ENGINES.iter().enumerate() {
            let tests = workload.tests.iter().map(|test| TestSample {
                number: test.number,
                sample: sample(engine.speed * 100_000 + random.below(50_000) as u64),
                rows: 3,
                answer: "same".into(),
                facts: test.oracle.len(),
                contradiction: None,
            });
            let tests = tests.collect();
            passes.push(pass(
                round,
                place,
                engine.name,
                engine.cipher.is_none(),
                tests,
            ));
        }
    }
    Results {
        header: header(&workload),
        probes: vec![],
        answers: HashMap::new(),
        passes,
        resumed: vec![],
        complete_bytes: 0,
    }
}

/// What is to be said about it.
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

fn header(workload: &workloads::Workload) -> Header {
    Header {
        format: FORMAT,
        began: Moment {
            unix_seconds: 951_782_400,
            load: Some(0.25),
        },
        program: Program {
            version: "9.9.9".into(),
            sha256: "ab".repeat(32),
        },
        mode: Mode::Direct,
        workload: WorkloadHead::new(Spec::Speed { scale: 1 }, workload),
        engines: ENGINES
            .iter()
            .map(|engine| Profile {
                name: engine.name.into(),
                description: format!("what {} is", engine.name),
                family: String::new(),
                dialect: Dialect::Sqlite,
                base: engine.base.map(str::to_owned),
                durability: engine.durability,
                cipher: engine.cipher.map(str::to_owned),
                control: engine.name == "sqlite-again",
            })
            .collect(),
        seed: 1,
        machine: Machine {
            cpu: "Difference Engine <No. 2> & sons".into(),
            cores: 2,
            memory_bytes: Some(24 << 30),
            operating_system: "System".into(),
            kernel: "6.1".into(),
            disk: Disk {
                file_system: "ext4".into(),
                device: "/dev/sda1".into(),
            },
        },
    }
}
