//! Workload `tpcc` in complete runs of `compare`: on PostgreSQL and MariaDB, behind the program's
//! own proxy, and with the in-process engine. Skipped if the server is not installed.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::process::{Command, Output};

use lab::comparison::compare;
use lab::engine::EngineOptions;
use lab::results::Results;
use tempfile::TempDir;

fn run(folder: &TempDir, engines: &str, more: &[&str]) -> Option<Output> {
    let server = match engines.starts_with("mariadb") {
        true => "mariadb",
        false => "postgres",
    };
    let engine = lab_engines::named(server, &EngineOptions::default()).unwrap();
    if let Some(missing) = engine.missing() {
        println!("left out: {missing}");
        assert!(
            std::env::var_os("STRONGROOM_TEST_SERVERS").is_none(),
            "{missing}"
        );
        return None;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args([
            "compare",
            "--workload",
            "tpcc",
            "--scale",
            "0",
            "--seconds",
            "2",
        ])
        .args([
            "--terminals",
            "2",
            "--repetitions",
            "1",
            "--engines",
            engines,
        ])
        .args(more)
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    Some(output)
}

fn results(folder: &TempDir) -> Results {
    let text = fs::read_to_string(folder.path().join("out/results.jsonl")).unwrap();
    Results::parse(&text).unwrap()
}

#[test]
fn terminals_work_with_and_without_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = run(&folder, "postgres,proxy,in-process", &[]) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let results = results(&folder);
    assert_eq!(results.passes.len(), 3);
    for pass in &results.passes {
        assert_eq!(pass.failure, None, "{}", pass.engine);
        for test in &pass.tests {
            assert_eq!(test.contradiction, None, "{}", pass.engine);
        }
        let run = pass.tests[1].terminals().unwrap();
        assert!(run.committed > 0);
        assert_eq!(run.proxy_cpu_ns.is_some(), pass.engine == "proxy");
    }
    let comparison = compare(&results);
    assert_eq!(
        comparison.engine("proxy").unwrap().base.as_deref(),
        Some("postgres")
    );
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("2 terminals") && !said.contains("WRONG"),
        "{said}"
    );
    assert!(folder.path().join("out/report.html").exists());
}

const OF_POSTGRES: &str = "proxy-20,proxy-20-sensitive,proxy-50,proxy-100,in-process-100";
const OF_MARIADB: &str = "mariadb,mariadb-proxy,mariadb-20,mariadb-50,mariadb-100,\
                          mariadb-100-compact,mariadb-100-groups";

/// The isolation level changes how often transactions are repeated, not how a statement is planned.
/// So only sets of columns that differ much run at both: each takes ten seconds.
const OF_POSTGRES_SERIALIZABLE: &str = "proxy-50,in-process-100";
const OF_MARIADB_SERIALIZABLE: &str = "mariadb-100,mariadb-100-groups";

/// Every set of columns, and the consistency conditions after the run.
fn columns_are_consistent(engines: &str, isolation: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = run(&folder, engines, &["--isolation", isolation]) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let results = results(&folder);
    assert_eq!(results.passes.len(), engines.split(',').count());
    for pass in &results.passes {
        assert_eq!(pass.failure, None, "{}", pass.engine);
        for test in &pass.tests {
            assert_eq!(test.contradiction, None, "{}", pass.engine);
        }
        let run = pass.tests[1].terminals().unwrap();
        assert!(run.committed > 0, "{}", pass.engine);
        // The word is in columns that only the largest set encrypts.
        let is_in_clear = pass.closing.as_ref().unwrap().readable_on_disk;
        assert_eq!(
            is_in_clear,
            !pass.engine.contains("-100"),
            "{}",
            pass.engine
        );
    }
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("WRONG"), "{said}");
}

#[test]
fn protected_columns_are_consistent_when_serializable() {
    columns_are_consistent(OF_POSTGRES_SERIALIZABLE, "serializable");
}

#[test]
fn columns_before_mariadb_are_consistent_when_serializable() {
    columns_are_consistent(OF_MARIADB_SERIALIZABLE, "serializable");
}

#[test]
fn columns_before_mariadb_are_consistent_when_read_committed() {
    columns_are_consistent(OF_MARIADB, "read-committed");
}

#[test]
fn protected_columns_are_consistent_when_read_committed() {
    columns_are_consistent(OF_POSTGRES, "read-committed");
}

#[test]
fn an_engine_without_terminals_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = run(&folder, "sqlite", &[]) else {
        return;
    };
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no terminals for `tpcc`"), "{said}");
    assert!(!folder.path().join("out").exists());
}
