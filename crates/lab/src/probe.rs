//! Probes of durability and encryption, which do not rely on what an engine claims.
//!
//! Before the first round each engine has one pass that is not timed. It commits [`COMMITS`] single
//! rows, each in its own transaction, while the operating system counts the calls with which its
//! processes wait for the disk. The rows contain a random token; every file of the engine is then
//! searched for it, while the database is open and after it was closed. With `--mode script` the
//! engine's shell commits them, in one process.
//!
//! The worker that is asked for a probe starts itself a second time and traces that second process,
//! including servers that the engine starts.

mod calls;
pub mod canary;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod trace;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::driver::Driver;
use crate::engine::{Durability, Engine, EngineError, Mode, Profile, whole_message};

pub use calls::SyncCalls;
pub use canary::FileScan;

/// Transactions that are committed while syncs are counted.
pub const COMMITS: u32 = 20;

/// The result of probing an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The engine's name.
    pub engine: String,
    /// The syncs of [`COMMITS`] commits.
    pub syncs: Syncs,
    /// The files while the database was open.
    pub open: Option<FileScan>,
    /// The files after it was closed.
    pub closed: Option<FileScan>,
    /// Why the probe ended early.
    pub failure: Option<String>,
}

/// Calls that wait for the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Syncs {
    /// The number of calls that the operating system saw.
    Counted(SyncCalls),
    /// They could not be counted.
    NotProbed {
        /// The reason.
        reason: String,
    },
}

impl Probe {
    /// A probe without a result.
    pub fn failed(engine: &str, failure: String) -> Self {
        Self {
            engine: engine.to_owned(),
            syncs: Syncs::NotProbed {
                reason: failure.clone(),
            },
            open: None,
            closed: None,
            failure: Some(failure),
        }
    }

    /// Syncs per commit, if they were counted.
    pub fn syncs_per_commit(&self) -> Option<f64> {
        match &self.syncs {
            Syncs::Counted(calls) => Some(calls.total() as f64 / f64::from(COMMITS)),
            Syncs::NotProbed { .. } => None,
        }
    }

    /// Whether the token was found in a file, open or closed; `None` if no file was searched.
    pub fn readable(&self) -> Option<bool> {
        let looks: Vec<&FileScan> = self.open.iter().chain(&self.closed).collect();
        let files: usize = looks.iter().map(|look| look.files).sum();
        (files > 0).then(|| looks.iter().any(|look| !look.found_in.is_empty()))
    }

    /// Whether an engine that is said not to wait for the disk made a sync for each commit.
    pub fn waits_unexpectedly(&self, profile: &Profile) -> bool {
        let each = self.syncs_per_commit();
        profile.durability != Durability::Full && each.is_some_and(|each| each >= 1.0)
    }

    /// Observations that contradict the profile, as sentences.
    pub fn contradictions(&self, profile: &Profile) -> Vec<String> {
        let mut found = Vec::new();
        let name = &profile.name;
        if let (Some(each), Syncs::Counted(calls)) = (self.syncs_per_commit(), &self.syncs) {
            let waits = profile.durability == Durability::Full;
            if waits && each < 1.0 && calls.rings == 0 {
                found.push(format!(
                    "{name} is said to wait for the disk, but {COMMITS} commits made {} syncs",
                    calls.total()
                ));
            }
            if self.waits_unexpectedly(profile) {
                found.push(format!(
                    "{name} is said not to wait for the disk, but {COMMITS} commits made {} syncs",
                    calls.total()
                ));
            }
        }
        if profile.cipher.is_some() && self.readable() == Some(true) {
            let files: Vec<&str> = self
                .open
                .iter()
                .chain(&self.closed)
                .flat_map(|look| &look.found_in)
                .map(String::as_str)
                .collect();
            found.push(format!(
                "{name} is said to encrypt, but a stored text can be read in {}",
                files.first().copied().unwrap_or_default()
            ));
        }
        found
    }
}

/// The report of the traced process, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct ProbeReport {
    open: Option<FileScan>,
    closed: Option<FileScan>,
    failure: Option<String>,
}

/// The traced process: creates a database, commits, and searches the files. Its report is one line.
///
/// # Errors
///
/// If the report cannot be written.
pub fn commit_and_look(
    engine: &dyn Engine,
    mode: Mode,
    folder: &Path,
    output: &mut dyn io::Write,
) -> io::Result<()> {
    let mut report = ProbeReport {
        open: None,
        closed: None,
        failure: None,
    };
    if let Err(failure) = attempt(engine, mode, folder, &mut report) {
        // What the engine started must not outlive this process; the first failure is the one to
        // report.
        drop(engine.stop());
        report.failure = Some(failure);
    }
    serde_json::to_writer(&mut *output, &report)?;
    output.write_all(b"\n")?;
    output.flush()
}

fn attempt(
    engine: &dyn Engine,
    mode: Mode,
    folder: &Path,
    report: &mut ProbeReport,
) -> Result<(), String> {
    let said = |error: EngineError| whole_message(&error);
    let unread = |error: io::Error| format!("the files could not be read: {error}");
    let token = token();
    engine.create(folder).map_err(said)?;
    let connection = engine.open(folder).map_err(said)?;
    let mut driver = Driver::of(mode, engine, connection, folder).map_err(said)?;
    let table = "CREATE TABLE strongroom_probe(a INTEGER, c VARCHAR(100));";
    driver.ask(&[table]).map_err(said)?;
    let rows: Vec<String> = (1..=COMMITS)
        .map(|number| format!("INSERT INTO strongroom_probe VALUES({number},'{token}');"))
        .collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    mark();
    driver.ask(&rows).map_err(said)?;
    mark();
    report.open = Some(canary::look(folder, token.as_bytes()).map_err(unread)?);
    driver.close().map_err(said)?;
    engine.stop().map_err(said)?;
    report.closed = Some(canary::look(folder, token.as_bytes()).map_err(unread)?);
    Ok(())
}

/// 16 letters and digits that occur nowhere else, generated from the random keys of the standard
/// library's hash maps.
fn token() -> String {
    let bits = RandomState::new().build_hasher().finish();
    format!("{bits:016x}")
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn mark() {
    // Fails only for a signal that does not exist.
    let _ = nix::sys::signal::raise(trace::MARK);
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn mark() {}

/// The tracing process: runs the command, which must call [`commit_and_look`] once it has read the
/// line `request`.
///
/// # Errors
///
/// If the command cannot be run.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub fn trace(engine: &str, command: &mut Command, request: &str) -> io::Result<Probe> {
    let traced = trace::run(command, request.as_bytes())?;
    let syncs = match traced.calls {
        Ok(calls) => Syncs::Counted(calls),
        Err(reason) => Syncs::NotProbed { reason },
    };
    Ok(put_together(engine, syncs, &traced.output, traced.success))
}

/// The same on systems where tracing is not supported.
///
/// # Errors
///
/// If the command cannot be run.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub fn trace(engine: &str, command: &mut Command, request: &str) -> io::Result<Probe> {
    use std::io::Write;
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    if let Some(stdin) = &mut child.stdin {
        stdin.write_all(request.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let reason = "system calls are counted on Linux only, on x86-64 and AArch64".to_owned();
    Ok(put_together(
        engine,
        Syncs::NotProbed { reason },
        &String::from_utf8_lossy(&output.stdout),
        output.status.success(),
    ))
}

fn put_together(engine: &str, syncs: Syncs, output: &str, success: bool) -> Probe {
    let line = output.lines().last().unwrap_or_default();
    match serde_json::from_str::<ProbeReport>(line) {
        Ok(report) => Probe {
            engine: engine.to_owned(),
            syncs,
            open: report.open,
            closed: report.closed,
            failure: report.failure,
        },
        Err(_) => Probe::failed(
            engine,
            format!(
                "the engine's process ended before it told what it saw{}",
                if success { "" } else { ", with an error" }
            ),
        ),
    }
}
