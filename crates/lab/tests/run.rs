//! Runs with a worker that is a short shell script: what is kept, continued and survived.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use lab::engine::{Durability, EngineOptions, Mode, Profile};
use lab::machine::Machine;
use lab::results::{FORMAT, Header, Program, Record, Results, WorkloadHead};
use lab::run::{Existing, Outcome, Plan, RESULTS_FILE, RunError, moment, run};
use workloads::{Dialect, Spec};

/// A mock worker; it dies after the first test for the engine `crashing`, and writes invalid lines
/// for the engine `babbling`.
const WORKER: &str = r#"
read -r request
sample='{"wall_ns":5,"user_ns":3,"system_ns":1,"peak_memory_bytes":null,'
sample=$sample'"read_bytes":null,"written_bytes":null}'
echo '{"done":"opened","creating":'$sample',"opening":'$sample',"settings":[["a","b"]]}'
echo '{"done":"test","number":1,"sample":'$sample',"rows":1,"answer":"x",'\
'"facts":0,"contradiction":null}'
case "$request" in
  *crashing*) echo 'out of luck' >&2; kill -9 $$ ;;
  *babbling*) echo 'hello' ;;
esac
echo '{"done":"closed","sample":'$sample',"file_bytes":7,"readable_on_disk":false}'
"#;

fn profile(name: &str) -> Profile {
    Profile {
        name: name.into(),
        description: String::new(),
        family: String::new(),
        dialect: Dialect::Sqlite,
        base: None,
        durability: Durability::Full,
        cipher: None,
        control: false,
    }
}

fn plan(folder: &Path, engines: &[&str], rounds: u32) -> Plan {
    Plan {
        header: Header {
            format: FORMAT,
            began: moment(),
            program: Program {
                version: "1".into(),
                sha256: "2".into(),
            },
            mode: Mode::Direct,
            workload: WorkloadHead {
                spec: Spec::Speed { scale: 1 },
                name: "w".into(),
                sha256: "3".into(),
                tests: vec!["only".into()],
            },
            engines: engines.iter().map(|name| profile(name)).collect(),
            engine_arguments: vec![],
            seed: 4,
            machine: Machine::describe(folder),
        },
        options: EngineOptions::default(),
        rounds,
        time_limit: None,
        folder: folder.to_owned(),
        worker: vec!["/bin/sh".into(), "-c".into(), WORKER.into()],
        probe: false,
        existing: Existing::Either,
    }
}

fn done(plan: &Plan) -> Outcome {
    run(plan, &mut |_| {}).unwrap()
}

fn on_disk(folder: &Path) -> Results {
    Results::parse(&fs::read_to_string(folder.join(RESULTS_FILE)).unwrap()).unwrap()
}

#[test]
fn every_engine_has_a_pass_in_every_round_and_all_is_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let plan = plan(folder.path(), &["one", "two"], 3);
    let outcome = run(&plan, &mut |progress| seen.push(progress.passes_done)).unwrap();
    assert_eq!(outcome.results.passes.len(), 6);
    assert!(
        (0..3).all(|round| outcome.results.has(round, "one") && outcome.results.has(round, "two"))
    );
    assert_eq!(on_disk(folder.path()).passes, outcome.results.passes);
    assert!(
        outcome
            .results
            .passes
            .iter()
            .all(|pass| pass.failure.is_none())
    );
    assert!(seen.is_sorted() && seen.last() == Some(&5));
    // Only the results are left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn no_round_begins_that_would_end_after_the_time_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(folder.path(), &["one", "two"], 3);
    // Over before anything was measured: one round is made all the same.
    plan.time_limit = Some(Duration::ZERO);
    let outcome = done(&plan);
    assert_eq!(outcome.results.passes.len(), 2);
    assert_eq!(outcome.rounds_left_out, 2);
    // The next run makes the next round of the same results.
    let outcome = done(&plan);
    assert_eq!(outcome.passes_resumed, 2);
    assert_eq!(outcome.results.passes.len(), 4);
    assert_eq!(outcome.rounds_left_out, 1);
    plan.time_limit = Some(Duration::from_secs(3600));
    let outcome = done(&plan);
    assert_eq!(outcome.results.passes.len(), 6);
    assert_eq!(outcome.rounds_left_out, 0);
}

#[test]
fn a_worker_that_is_killed_fails_its_pass_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = done(&plan(folder.path(), &["one", "crashing", "babbling"], 2));
    assert_eq!(outcome.results.passes.len(), 6);
    for pass in &outcome.results.passes {
        let failure = pass.failure.as_deref();
        match pass.engine.as_str() {
            "one" => assert_eq!(failure, None),
            "crashing" => {
                assert!(failure.unwrap().contains("signal: 9"), "{failure:?}");
                assert!(failure.unwrap().contains("out of luck"), "{failure:?}");
            }
            _ => assert!(failure.unwrap().contains("hello"), "{failure:?}"),
        }
        assert_eq!(pass.tests.len(), 1);
    }
}

#[test]
fn an_interrupted_run_continues_with_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let before = done(&plan(folder.path(), &["one", "two"], 1))
        .results
        .passes;
    // As if the run had been cut off while it wrote.
    let mut file = OpenOptions::new()
        .append(true)
        .open(folder.path().join(RESULTS_FILE))
        .unwrap();
    file.write_all(b"{\"record\":\"pass\",\"round\":1,\"eng")
        .unwrap();
    drop(file);
    let outcome = done(&plan(folder.path(), &["one", "two"], 2));
    assert_eq!(outcome.passes_resumed, 2);
    assert_eq!(outcome.set_aside, None);
    assert_eq!(outcome.results.passes[..2], before);
    assert_eq!(outcome.results.passes.len(), 4);
    let read = on_disk(folder.path());
    assert_eq!(read.passes, outcome.results.passes);
    assert_eq!(read.resumed.len(), 1);
}

#[test]
fn a_finished_run_another_experiment_and_a_wish_are_reasons_to_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    let first = plan(folder.path(), &["one"], 1);
    done(&first);
    assert_eq!(
        done(&first).set_aside,
        Some((
            folder.path().join("results.1.jsonl"),
            "it is complete".to_owned()
        ))
    );

    let mut other = plan(folder.path(), &["one"], 2);
    other.header.program.sha256 = "another build".into();
    let outcome = done(&other);
    assert_eq!(
        (outcome.passes_resumed, outcome.results.passes.len()),
        (0, 2)
    );
    assert_eq!(
        outcome.set_aside,
        Some((
            folder.path().join("results.2.jsonl"),
            "it differs in program".to_owned()
        ))
    );

    other.rounds = 3;
    other.existing = Existing::SetAside;
    assert_eq!(done(&other).passes_resumed, 0);
    let kept = fs::read_to_string(folder.path().join("results.2.jsonl")).unwrap();
    assert_eq!(Results::parse(&kept).unwrap().passes.len(), 1);
}

#[test]
fn an_impossible_resume_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(folder.path(), &["one"], 1);
    plan.existing = Existing::Continued;
    let tried = |plan: &Plan| run(plan, &mut |_| {});
    assert!(matches!(
        tried(&plan),
        Err(RunError::NothingToContinue { .. })
    ));
    // Nothing was started.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    plan.existing = Existing::Either;
    done(&plan);
    plan.existing = Existing::Continued;
    let complete = tried(&plan).unwrap();
    assert_eq!(
        (complete.passes_resumed, complete.results.passes.len()),
        (1, 1)
    );

    plan.header.seed += 1;
    let error = tried(&plan).unwrap_err();
    assert!(error.to_string().contains("differs in seed"), "{error}");

    let path = folder.path().join(RESULTS_FILE);
    fs::write(&path, "{\"record\":\"header\"}\n").unwrap();
    assert!(matches!(tried(&plan), Err(RunError::Results { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn each_engine_is_probed_once_and_a_probe_that_fails_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(folder.path(), &["one", "two"], 1);
    plan.probe = true;
    let outcome = done(&plan);
    // This worker does not support probes.
    let engines: Vec<&str> = outcome
        .results
        .probes
        .iter()
        .map(|probe| probe.engine.as_str())
        .collect();
    assert_eq!(engines, ["one", "two"]);
    assert!(
        outcome
            .results
            .probes
            .iter()
            .all(|probe| probe.failure.is_some() && probe.syncs_per_commit().is_none())
    );
    plan.rounds = 2;
    let outcome = done(&plan);
    assert_eq!(outcome.passes_resumed, 2);
    assert_eq!(outcome.results.probes.len(), 2);
    assert_eq!(on_disk(folder.path()).probes, outcome.results.probes);
}

#[test]
fn two_runs_do_not_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &["one"], 1);
    let path = folder.path().join(RESULTS_FILE);
    fs::write(&path, Record::Header(plan.header.clone()).to_line()).unwrap();
    let held = OpenOptions::new().append(true).open(&path).unwrap();
    held.lock().unwrap();
    assert!(matches!(
        run(&plan, &mut |_| {}),
        Err(RunError::Busy { .. })
    ));
    drop(held);
    assert_eq!(done(&plan).results.passes.len(), 1);
}

#[test]
fn a_worker_that_cannot_be_started_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(folder.path(), &["one"], 1);
    plan.worker = vec!["/nonexistent/program".into()];
    assert!(matches!(run(&plan, &mut |_| {}), Err(RunError::Worker(_))));
}
