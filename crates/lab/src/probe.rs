//! Durability and encryption are probed, not believed.
//!
//! Before the first round each engine has one pass that is not timed. It commits [`COMMITS`]
//! single rows, each in a transaction of its own, while the operating system counts the calls by
//! which its processes wait for the disk. The rows hold a random token, which is then looked for
//! in every file of the engine, while the database is open and after it was closed. With `--mode
//! script` it is the engine's shell that commits them, in one process.
//!
//! The worker that is asked for a probe starts itself a second time and traces that second process;
//! so servers that the engine starts are seen too.

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

use crate::engine::{Durability, Engine, EngineError, Mode, Profile, whole_message};
use crate::hand::Hand;

pub use calls::SyncCalls;
pub use canary::Look;

/// Transactions that are committed while syncs are counted.
pub const COMMITS: u32 = 20;

/// What a probe found out about an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The engine's name.
    pub engine: String,
    /// The syncs of [`COMMITS`] commits.
    pub syncs: Syncs,
    /// The files while the database was open.
    pub open: Option<Look>,
    /// The files after it was closed.
    pub closed: Option<Look>,
    /// Why the probe ended early.
    pub failure: Option<String>,
}

/// Calls that wait for the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Syncs {
    /// As the operating system saw them.
    Counted(SyncCalls),
    /// They could not be counted.
    NotProbed {
        /// Why.
        reason: String,
    },
}

impl Probe {
    /// A probe that told nothing.
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

    /// Syncs for each commit, where they were counted.
    pub fn syncs_per_commit(&self) -> Option<f64> {
        match &self.syncs {
            Syncs::Counted(calls) => Some(calls.total() as f64 / f64::from(COMMITS)),
            Syncs::NotProbed { .. } => None,
        }
    }

    /// Whether the token was in a file, open or closed; `None` where there was no file to look at.
    pub fn readable(&self) -> Option<bool> {
        let looks: Vec<&Look> = self.open.iter().chain(&self.closed).collect();
        let files: usize = looks.iter().map(|look| look.files).sum();
        (files > 0).then(|| looks.iter().any(|look| !look.found_in.is_empty()))
    }

    /// What was seen and is not what the profile claims, in sentences.
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
            if !waits && each >= 1.0 {
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

/// What the traced process tells, in one line.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    open: Option<Look>,
    closed: Option<Look>,
    failure: Option<String>,
}

/// The traced process: creates a database, commits, and looks at the files. The words to say are
/// one line.
///
/// # Errors
/// When there is nobody to tell.
pub fn commit_and_look(
    engine: &dyn Engine,
    mode: Mode,
    folder: &Path,
    output: &mut dyn io::Write,
) -> io::Result<()> {
    let mut told = Told {
        open: None,
        closed: None,
        failure: None,
    };
    if let Err(failure) = attempt(engine, mode, folder, &mut told) {
        // What it started must not outlive it; the first failure is the one to tell.
        drop(engine.stop());
        told.failure = Some(failure);
    }
    serde_json::to_writer(&mut *output, &told)?;
    output.write_all(b"\n")?;
    output.flush()
}

fn attempt(engine: &dyn Engine, mode: Mode, folder: &Path, told: &mut Told) -> Result<(), String> {
    let said = |error: EngineError| whole_message(&error);
    let unread = |error: io::Error| format!("the files could not be read: {error}");
    let token = token();
    engine.create(folder).map_err(said)?;
    let connection = engine.open(folder).map_err(said)?;
    let mut hand = Hand::of(mode, engine, connection, folder).map_err(said)?;
    let table = "CREATE TABLE strongroom_probe(a INTEGER, c VARCHAR(100));";
    hand.ask(&[table]).map_err(said)?;
    let rows: Vec<String> = (1..=COMMITS)
        .map(|number| format!("INSERT INTO strongroom_probe VALUES({number},'{token}');"))
        .collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    mark();
    hand.ask(&rows).map_err(said)?;
    mark();
    told.open = Some(canary::look(folder, token.as_bytes()).map_err(unread)?);
    hand.close().map_err(said)?;
    engine.stop().map_err(said)?;
    told.closed = Some(canary::look(folder, token.as_bytes()).map_err(unread)?);
    Ok(())
}

/// 16 letters and digits that are nowhere else: from the keys that the standard library draws from
/// the operating system for its hash maps.
fn token() -> String {
    let bits = RandomState::new().build_hasher().finish();
    format!("{bits:016x}")
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn mark() {
    // Fails for no signal that exists.
    let _ = nix::sys::signal::raise(trace::MARK);
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn mark() {}

/// The tracing process: runs the command, which must come to [`commit_and_look`] when it has read
/// the line `request`.
///
/// # Errors
/// When the command cannot be run.
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

/// The same where no process can trace another.
///
/// # Errors
/// When the command cannot be run.
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
    match serde_json::from_str::<Told>(line) {
        Ok(told) => Probe {
            engine: engine.to_owned(),
            syncs,
            open: told.open,
            closed: told.closed,
            failure: told.failure,
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
