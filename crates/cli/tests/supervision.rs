//! Processes are killed in the middle of a pass: measurements are kept, and nothing else is left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::engine::EngineOptions;
use lab::processes::{Process, descendants};
use lab::results::{Pass, Results};

const PATIENCE: Duration = Duration::from_secs(120);

/// A running `compare`.
struct Run {
    child: Child,
    folder: tempfile::TempDir,
    engines: usize,
}

impl Run {
    fn start(engine: &str, rounds: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_strongroom"))
            .args([
                "compare",
                "--engines",
                engine,
                "--repetitions",
                rounds,
                "--out",
            ])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let engines = engine.split(',').count();
        Self {
            child,
            folder,
            engines,
        }
    }

    fn pass_folder(&self) -> PathBuf {
        self.folder.path().join("pass-under-way")
    }

    fn below(&self) -> Vec<Process> {
        descendants(self.child.id().cast_signed())
    }

    /// The keeper and the worker of a pass, once the worker has created a file of that name. Before
    /// the first pass there are the header and the probe of each engine.
    fn under_way(&self, file: &str) -> (i32, i32) {
        let file = self.pass_folder().join("database").join(file);
        until(|| {
            let results = fs::read_to_string(self.folder.path().join("results.jsonl"));
            if results.unwrap_or_default().lines().count() < 1 + self.engines {
                return None;
            }
            let found = self.below();
            let keeper = found.iter().find(|one| one.name == "lab-keeper")?;
            let worker = found.iter().find(|one| one.parent == keeper.pid)?;
            file.exists().then_some((keeper.pid, worker.pid))
        })
    }

    fn end(self) -> (Output, tempfile::TempDir) {
        (self.child.wait_with_output().unwrap(), self.folder)
    }
}

/// Polls without relying on any timing.
fn until<T>(mut answer: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "it never came");
        sleep(Duration::from_millis(5));
    }
}

fn kill(pid: i32) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

fn is_gone(pid: i32) -> Option<()> {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie counts as gone; its parent may be another process than ours.
    let gone = status.is_empty() || status.rsplit(')').next().unwrap().starts_with(" Z");
    gone.then_some(())
}

fn passes(folder: &Path) -> Vec<Pass> {
    let text = fs::read_to_string(folder.join("results.jsonl")).unwrap();
    Results::parse(&text).unwrap().passes
}

fn left(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_killed_lab_leaves_no_process_and_no_folder() {
    let mut run = Run::start("sqlite", "1000");
    run.under_way("speed.db");
    let below = run.below();
    assert!(below.len() >= 2, "{below:?}");
    kill(run.child.id().cast_signed());
    run.child.wait().unwrap();
    for process in below {
        until(|| is_gone(process.pid));
    }
    assert_eq!(left(run.folder.path()), ["results.jsonl"]);
    passes(run.folder.path());
}

#[test]
fn a_killed_worker_fails_its_pass_and_the_run_goes_on() {
    let run = Run::start("sqlite,sqlite-nosync", "1");
    let (_, worker) = run.under_way("speed.db");
    kill(worker);
    let (output, folder) = run.end();
    // `sqlite` completed only one round.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("sqlite did not end a pass: "), "{said}");
    let passes = passes(folder.path());
    assert_eq!(passes.len(), 2);
    let failure = passes[0].failure.as_deref().unwrap();
    assert!(
        failure.contains("the worker ended early (signal: 9"),
        "{failure}"
    );
    assert_eq!(passes[1].failure, None);
    assert_eq!(left(folder.path()), ["report.html", "results.jsonl"]);
}

#[test]
fn a_killed_keeper_takes_the_worker_with_it() {
    let run = Run::start("sqlite,sqlite-nosync", "1");
    let (keeper, worker) = run.under_way("speed.db");
    kill(keeper);
    until(|| is_gone(worker));
    let (output, folder) = run.end();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let passes = passes(folder.path());
    let failure = passes[0].failure.as_deref().unwrap();
    assert!(failure.contains("keeper too"), "{failure}");
    assert_eq!(passes[1].failure, None);
    assert_eq!(left(folder.path()), ["report.html", "results.jsonl"]);
}

/// Whether PostgreSQL is installed; if not, prints that.
fn has_postgres() -> bool {
    let engine = lab_engines::named("postgres", &EngineOptions::default()).unwrap();
    let missing = engine.missing();
    if let Some(missing) = &missing {
        println!("left out: {missing}");
    }
    missing.is_none()
}

#[test]
fn a_server_goes_with_a_killed_lab() {
    if !has_postgres() {
        return;
    }
    let mut run = Run::start("postgres", "1000");
    run.under_way("server/data/postmaster.pid");
    let below = until(|| {
        let below = run.below();
        // The server, and its processes with separate sessions.
        let parts = below
            .iter()
            .filter(|process| process.name == "postgres")
            .count();
        (parts > 2).then_some(below)
    });
    kill(run.child.id().cast_signed());
    run.child.wait().unwrap();
    for process in below {
        until(|| is_gone(process.pid));
    }
    assert_eq!(left(run.folder.path()), ["results.jsonl"]);
}

#[test]
fn a_server_goes_with_a_killed_worker() {
    if !has_postgres() {
        return;
    }
    let run = Run::start("postgres,sqlite-nosync", "1");
    let (_, worker) = run.under_way("server/data/postmaster.pid");
    let below = run.below();
    kill(worker);
    let (output, folder) = run.end();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for process in below {
        until(|| is_gone(process.pid));
    }
    let passes = passes(folder.path());
    let failure = passes[0].failure.as_deref().unwrap();
    assert!(
        failure.contains("the worker ended early (signal: 9"),
        "{failure}"
    );
    assert_eq!(left(folder.path()), ["report.html", "results.jsonl"]);
}

#[test]
fn a_killed_server_fails_its_pass_with_its_last_words() {
    if !has_postgres() {
        return;
    }
    let run = Run::start("postgres,sqlite-nosync", "1");
    let (_, worker) = run.under_way("server/data/postmaster.pid");
    let server = until(|| {
        let below = run.below();
        let is_server = |one: &&Process| one.name == "postgres" && one.parent == worker;
        below.iter().find(is_server).map(|server| server.pid)
    });
    kill(server);
    let (output, folder) = run.end();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let passes = passes(folder.path());
    let failure = passes[0].failure.as_deref().unwrap();
    assert!(
        failure.contains("the server has ended (signal: 9"),
        "{failure}"
    );
    assert!(failure.contains("it said: "), "{failure}");
    assert_eq!(passes[1].failure, None);
    assert_eq!(left(folder.path()), ["report.html", "results.jsonl"]);
}
