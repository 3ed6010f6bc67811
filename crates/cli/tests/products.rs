//! Other products in complete runs of `compare`: those that encrypt SQLite as scripts, servers
//! under each workload in both modes. Products that are not installed are printed and skipped;
//! servers also unless requested, since they take minutes.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;

use lab::comparison::compare;
use lab::engine::{Durability, Engine, EngineOptions, Profile, Server};
use lab::probe::Syncs;
use lab::results::Results;

/// Set if all products that encrypt SQLite must be installed.
const PEERS_REQUIRED: &str = "STRONGROOM_LAB_PEERS";

/// Set if all servers must be installed and tested.
const SERVERS_REQUIRED: &str = "STRONGROOM_LAB_SERVERS";

const MY_APP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/my-app");

/// Names of the wanted engines that are installed.
fn engines(required: &str, wanted: impl Fn(&dyn Engine) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    for engine in lab_engines::all(&EngineOptions::default()) {
        if !wanted(engine.as_ref()) {
            continue;
        }
        let name = engine.profile().name.clone();
        match engine.missing() {
            None => names.push(name),
            Some(missing) => {
                println!("left out: {name}: {missing}");
                assert!(std::env::var_os(required).is_none(), "{name}: {missing}");
            }
        }
    }
    names
}

/// Encrypting products that do not wait for the disk, which does not matter here.
fn peers() -> Vec<String> {
    engines(PEERS_REQUIRED, |engine| {
        let Profile {
            family, durability, ..
        } = engine.profile();
        let is_peer = ["sqlcipher", "sqlite3mc"].contains(&family.as_str());
        is_peer && *durability == Durability::None
    })
}

fn servers(wait: bool) -> Vec<String> {
    if std::env::var_os(SERVERS_REQUIRED).is_none() {
        println!("left out: set {SERVERS_REQUIRED} where all servers are installed");
        return Vec::new();
    }
    engines(SERVERS_REQUIRED, |engine| {
        let waits = engine.profile().durability == Durability::Full;
        // `tpcc.rs` tests ours.
        let family = engine.profile().family.as_str();
        let is_ours = lab_engines::COLUMN_FAMILIES.contains(&family);
        // Browsers have a separate test.
        let is_ours = is_ours || family == lab_engines::BROWSER_FAMILY;
        engine.server() == Server::Child && waits == wait && !is_ours
    })
}

/// One round of the workload on SQLite and these engines. Each completes all tests, with the same
/// answers and the known facts, and behaves as its profile claims.
fn agree(reference: &str, engines: &[String], arguments: &[&str]) -> Option<Results> {
    if engines.is_empty() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let names = format!("{reference},{}", engines.join(","));
    let output = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args(["compare", "--repetitions", "1", "--engines", &names])
        .args(arguments)
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let results = read(&folder.path().join("out"));
    let tests = results.header.workload.tests.len();
    assert_eq!(results.passes.len(), engines.len() + 1);
    for pass in &results.passes {
        let engine = &pass.engine;
        assert_eq!(pass.failure, None, "{arguments:?}: {engine}");
        assert_eq!(pass.tests.len(), tests, "{arguments:?}: {engine}");
        for test in &pass.tests {
            let found = &test.contradiction;
            assert_eq!(*found, None, "{arguments:?}: {engine}: {}", test.number);
        }
    }
    for engine in compare(&results).engines {
        let name = &engine.profile.name;
        let said = (engine.wrong_count(), engine.answers_right);
        assert_eq!(
            said,
            (0, tests),
            "{arguments:?}: {name}: {:?}",
            engine.cells
        );
    }
    assert_eq!(results.probes.len(), engines.len() + 1);
    for probe in &results.probes {
        let mut profiles = results.header.engines.iter();
        let profile = profiles.find(|profile| profile.name == probe.engine);
        let profile = profile.unwrap();
        assert_eq!(probe.failure, None, "{}", probe.engine);
        assert_eq!(probe.contradictions(profile), Vec::<String>::new());
        assert_eq!(probe.readable(), Some(profile.cipher.is_none()));
    }
    Some(results)
}

fn read(folder: &Path) -> Results {
    Results::parse(&fs::read_to_string(folder.join("results.jsonl")).unwrap()).unwrap()
}

#[test]
fn encrypting_products_answer_scripts_as_sqlite_does() {
    let peers = peers();
    for workload in [&["speed"][..], &["speedtest", "--size", "5"]] {
        let arguments = [&["--mode", "script", "--workload"], workload].concat();
        agree("sqlite-nosync", &peers, &arguments);
    }
}

#[test]
fn servers_answer_scripts_as_sqlite_does() {
    let servers = servers(false);
    for workload in ["speed", MY_APP] {
        let arguments = ["--mode", "script", "--workload", workload];
        agree("sqlite-nosync", &servers, &arguments);
    }
}

#[test]
fn servers_run_a_user_defined_workload() {
    let results = agree("sqlite", &servers(true), &["--workload", MY_APP]);
    for probe in results.iter().flat_map(|results| &results.probes) {
        let Syncs::Counted(calls) = &probe.syncs else {
            println!("{}: not counted: {:?}", probe.engine, probe.syncs);
            continue;
        };
        println!("{}: {calls:?}", probe.engine);
        // Syncs through io_uring are not seen.
        let waits = probe.syncs_per_commit().unwrap() >= 1.0;
        assert!(waits || calls.rings > 0, "{}: {calls:?}", probe.engine);
    }
}

#[test]
fn servers_serve_several_connections() {
    let arguments = ["--workload", "concurrent", "--seconds", "1", "--rate", "50"];
    let results = agree("sqlite-nosync", &servers(false), &arguments);
    for pass in results.iter().flat_map(|results| &results.passes) {
        let mut steps = pass
            .tests
            .iter()
            .filter_map(|test| test.concurrent.as_ref());
        assert!(steps.clone().count() == 8 && steps.all(|step| step.completed > 0));
    }
}
