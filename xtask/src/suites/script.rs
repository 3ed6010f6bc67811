//! Runs one script of SQLite's suite in a separate process, and parses its output.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::command::program;
use crate::process::{self, Ended};

/// The set of the suite that is run.
const SET: &str = "veryquick";
/// The slowest script takes twenty seconds; the rest is a margin for a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The layer below SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing of ours.
    Stock,
    /// Nothing of ours, but with as many reserved bytes in each page as we use.
    Reserved,
    /// Our VFS as the default one.
    Strongroom,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Stock => "stock",
            Mode::Reserved => "reserved",
            Mode::Strongroom => "strongroom",
        }
    }
}

/// The common settings of all runs.
pub struct Bench {
    pub fixture: PathBuf,
    /// The folder of the scripts.
    pub scripts: PathBuf,
    pub extension: PathBuf,
    pub key: PathBuf,
    /// The user who runs tests instead of root, because root is never denied a permission.
    pub user: Option<u32>,
    /// Folder for the runs and their output.
    pub work: PathBuf,
    /// Version of SQLite.
    pub version: String,
}

impl Bench {
    /// A program in the environment of a mode, without other settings of ours.
    pub fn program(&self, mode: Mode, path: &Path) -> Command {
        let mut command = program(&path.to_string_lossy());
        let own = std::env::vars_os().map(|(name, _)| name);
        for name in own.filter(|name| name.to_string_lossy().starts_with("STRONGROOM_")) {
            command.env_remove(name);
        }
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        match mode {
            Mode::Stock => {}
            Mode::Reserved => {
                let trailer = page_codec::page::TRAILER_SIZE.to_string();
                command.env("STRONGROOM_SUITES_RESERVED", trailer);
            }
            Mode::Strongroom => {
                let header = page_codec::header::REGION_SIZE.to_string();
                command
                    .env("STRONGROOM_SUITES_HEADER", header)
                    .env("STRONGROOM_SUITES_EXTENSION", &self.extension)
                    .env("STRONGROOM_DEFAULT", "1")
                    .env("STRONGROOM_KEY_FILE", &self.key);
            }
        }
        command
    }

    /// The names of the scripts of the set.
    pub fn list(&self) -> anyhow::Result<Vec<String>> {
        let folder = self.folder(Mode::Stock, "list")?;
        let lister = Path::new("xtask/suites/scripts.tcl").canonicalize()?;
        let mut fixture = self.program(Mode::Stock, &self.fixture);
        fixture.current_dir(&folder).arg(lister);
        let text = crate::command::read(fixture.arg(&self.scripts).arg(SET))?;
        fs::remove_dir_all(&folder)?;
        let names = text.lines().filter_map(|line| line.strip_prefix("script "));
        Ok(names.map(str::to_owned).collect())
    }

    /// Runs a script; its output is kept in the work folder.
    pub fn run(&self, mode: Mode, script: &str) -> anyhow::Result<Outcome> {
        let folder = self.folder(mode, script)?;
        let output = self.output(mode, script);
        fs::create_dir_all(output.parent().context("the output has a folder")?)?;
        let mut fixture = self.program(mode, &self.fixture);
        fixture
            .current_dir(&folder)
            .arg(Path::new("xtask/suites/run.tcl").canonicalize()?)
            .arg(&self.scripts)
            .args([SET, script]);
        let start = Instant::now();
        let ended = process::run(&mut fixture, &output, LIMIT)?;
        let seconds = start.elapsed().as_secs_f64();
        let text = fs::read(&output)?;
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
        Ok(outcome(&String::from_utf8_lossy(&text), ended, seconds))
    }

    pub fn output(&self, mode: Mode, script: &str) -> PathBuf {
        let folder = self.work.join("output").join(mode.name());
        folder.join(format!("{script}.txt"))
    }

    fn folder(&self, mode: Mode, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.work.join("run").join(mode.name()).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        self.make(&folder)?;
        Ok(folder)
    }

    /// Creates a folder in which the tests can write.
    pub fn make(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::os::unix::fs::chown(folder, self.user, self.user)
            .with_context(|| format!("cannot give {} away", folder.display()))
    }
}

/// The user `nobody`, with its usual number on POSIX systems.
const NOBODY: u32 = 65_534;

/// The user who runs the tests: `nobody` instead of root, if `nobody` can enter `folder`.
pub fn user(folder: &Path) -> Option<u32> {
    let mut look = program("test");
    let look = look.arg("-x").arg(folder).uid(NOBODY).gid(NOBODY);
    // Only root may start a program as `nobody`.
    crate::command::succeeds(look).then_some(NOBODY)
}

/// The result of a script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The number of tests counted; zero if it did not complete.
    pub tests: u64,
    /// The names of failed tests, and in brackets what happened to the script as a whole.
    pub failed: BTreeSet<String>,
    pub seconds: f64,
}

/// Stands in for a test's name: no reason excuses it.
pub const CRASHED: &str = "(crashed)";
pub const TIMED_OUT: &str = "(timed out)";
/// The script stopped at an error of its own language.
pub const STOPPED: &str = "(stopped)";
const FILES_OPEN: &str = "(files left open)";
const MEMORY_LEFT: &str = "(memory left)";

fn outcome(text: &str, ended: Ended, seconds: f64) -> Outcome {
    let mut failed = BTreeSet::new();
    let mut tests = None;
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("!Failures on these tests:") {
            failed.extend(names.split_whitespace().map(str::to_owned));
        } else if line.ends_with(" files were left open") {
            failed.insert(FILES_OPEN.to_owned());
        } else if line.starts_with("Unfreed memory: ") {
            failed.insert(MEMORY_LEFT.to_owned());
        } else if let Some((_, rest)) = line.split_once(" errors out of ") {
            tests = rest.split(' ').next().and_then(|count| count.parse().ok());
        }
    }
    match ended {
        Ended::BySignal(_) => drop(failed.insert(CRASHED.to_owned())),
        Ended::TimedOut => drop(failed.insert(TIMED_OUT.to_owned())),
        Ended::WithStatus(0) if tests.is_some() => {}
        Ended::WithStatus(_) if tests.is_some() && !failed.is_empty() => {}
        Ended::WithStatus(_) => drop(failed.insert(STOPPED.to_owned())),
    }
    // A script that stopped does not list its failures at the end, so they are taken from where
    // they occurred.
    if tests.is_none() {
        failed.extend(text.lines().filter_map(failed_test));
    }
    Outcome {
        tests: tests.unwrap_or(0),
        failed,
        seconds,
    }
}

/// Some tests expect, or return, a whole blob.
const DETAIL_CHARACTERS_MAX: usize = 400;

/// The output about a failed test: the expected and the actual result, or the error.
pub fn detail(text: &str, test: &str) -> String {
    let mut lines = text.lines().skip_while(|line| {
        let failed = line
            .strip_prefix("! ")
            .and_then(|line| line.strip_prefix(test));
        let began = line
            .strip_prefix(test)
            .is_some_and(|rest| rest.starts_with("..."));
        !(failed.is_some_and(|rest| rest.starts_with(" expected: "))
            || began && !line.ends_with(" Ok"))
    });
    let first = lines.next().unwrap_or_default();
    let second = lines.next().unwrap_or_default();
    let third = lines.next().unwrap_or_default();
    let said = match first.starts_with("! ") {
        true => [first, second],
        false => [second, third],
    };
    let said = said
        .iter()
        .filter(|line| line.starts_with("! ") || line.starts_with("Error: "));
    let cut = |line: &&str| line.chars().take(DETAIL_CHARACTERS_MAX).collect::<String>();
    said.map(cut).collect::<Vec<_>>().join("\n")
}

/// The name in a line `! NAME expected: [...]`.
fn failed_test(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("! ")?.split_once(" expected: ")?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str, ended: Ended) -> Vec<String> {
        outcome(text, ended, 0.0).failed.into_iter().collect()
    }

    #[test]
    fn failures_are_named_at_the_end() {
        let text = "a-1... Ok\n2 errors out of 30 tests on here\n\
                    !Failures on these tests: a-2 a-3\nAll memory allocations freed - no leaks\n";
        assert_eq!(failed(text, Ended::WithStatus(1)), ["a-2", "a-3"]);
        assert_eq!(outcome(text, Ended::WithStatus(1), 0.0).tests, 30);
    }

    #[test]
    fn what_came_instead_is_found() {
        let text = "a-1... Ok\na-2...\n! a-2 expected: [1]\n! a-2 got:      [2]\n\
                    a-3...\nError: disk I/O error\na-4... Ok\n";
        let came = "! a-2 expected: [1]\n! a-2 got:      [2]";
        assert_eq!(detail(text, "a-2"), came);
        assert_eq!(detail(text, "a-3"), "Error: disk I/O error");
        assert_eq!(detail(text, "a-1"), "");
    }

    #[test]
    fn an_early_end_is_a_failure() {
        let text = "a-1... Ok\na-2...\n! a-2 expected: [1]\n! a-2 got:      [2]\n";
        assert_eq!(failed(text, Ended::WithStatus(1)), ["(stopped)", "a-2"]);
        assert_eq!(failed(text, Ended::WithStatus(0)), ["(stopped)", "a-2"]);
        assert_eq!(failed(text, Ended::BySignal(11)), ["(crashed)", "a-2"]);
        assert_eq!(failed("", Ended::TimedOut), ["(timed out)"]);
    }

    #[test]
    fn what_a_script_leaves_behind_is_a_failure() {
        let text = "0 errors out of 3 tests on here\n2 files were left open\n\
                    Unfreed memory: 40 bytes in 1 allocations\n";
        let left = ["(files left open)", "(memory left)"];
        assert_eq!(failed(text, Ended::WithStatus(1)), left);
        assert!(failed("0 errors out of 3 tests on here\n", Ended::WithStatus(0)).is_empty());
    }
}
