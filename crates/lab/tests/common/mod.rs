//! A made-up run of two tests, for tests of the evaluation.
#![allow(dead_code, reason = "each test file takes what it needs from here")]

use std::collections::HashMap;

use lab::engine::{Durability, Mode, Profile};
use lab::machine::{Disk, Machine};
use lab::measure::Sample;
use lab::results::{FORMAT, Header, Moment, Pass, Program, Results, TestSample, WorkloadHead};
use workloads::{Dialect, Spec};

pub fn profile(name: &str, base: Option<&str>) -> Profile {
    Profile {
        name: name.into(),
        description: String::new(),
        family: String::new(),
        dialect: Dialect::Sqlite,
        base: base.map(str::to_owned),
        durability: Durability::Full,
        cipher: None,
        control: false,
    }
}

pub fn header() -> Header {
    Header {
        format: FORMAT,
        began: Moment {
            unix_seconds: 1,
            load: Some(0.5),
            clock_mhz: Some(2900.0),
        },
        program: Program {
            version: "0".into(),
            sha256: "00".into(),
        },
        mode: Mode::Direct,
        workload: WorkloadHead {
            spec: Spec::Speed { scale: 1 },
            name: "pair".into(),
            sha256: "11".into(),
            tests: vec!["first".into(), "second".into()],
        },
        engines: vec![profile("plain", None), profile("sealed", Some("plain"))],
        engine_arguments: vec![],
        seed: 1,
        machine: Machine {
            cpu: "c".into(),
            cores: 2,
            memory_bytes: None,
            operating_system: "o".into(),
            kernel: "k".into(),

            governor: None,
            disk: Disk {
                file_system: "f".into(),
                device: "d".into(),
            },
        },
    }
}

pub fn pass(round: u32, engine: &str, milliseconds: [u64; 2]) -> Pass {
    let tests = (1..)
        .zip(milliseconds)
        .map(|(number, milliseconds)| TestSample {
            number,
            sample: Sample {
                wall_ns: milliseconds * 1_000_000,
                user_ns: milliseconds * 500_000,
                ..Sample::default()
            },
            rows: 1,
            answer: format!("answer {number}"),
            facts: 1,
            contradiction: None,
            not_possible: None,
            concurrent: None,
            tpcc: None,
        });
    Pass {
        round,
        engine: engine.into(),
        place: 0,
        began: Moment {
            unix_seconds: 2,
            load: Some(1.5),
            clock_mhz: Some(2900.0),
        },
        stolen_share: None,
        creating: None,
        opening: Some(Sample {
            wall_ns: 1_000_000,
            ..Sample::default()
        }),
        settings: vec![],
        tests: tests.collect(),
        closing: None,
        failure: None,
    }
}

pub fn results(passes: Vec<Pass>) -> Results {
    Results {
        header: header(),
        probes: vec![],
        answers: HashMap::new(),
        passes,
        resumed: vec![],
        complete_bytes: 0,
    }
}
