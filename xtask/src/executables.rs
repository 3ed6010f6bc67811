//! Runs the tests of the workspace, with as many executables in parallel as there are processors.
//! Most tests wait for servers, and cargo would run the executables one after the other.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::command::{cargo, program, read};
use crate::process::{self, Ended};
use crate::workspace::ALL_FEATURES;

/// More than any executable needs on a busy machine; one that hangs is ended, and named.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Which tests to run, and with which arguments.
#[derive(Default)]
pub struct Tests<'a> {
    /// Names of executables; if empty, all of them.
    pub names: &'a [&'a str],
    pub arguments: &'a [&'a str],
    pub environment: &'a [(&'a str, &'a OsStr)],
}

/// A test executable.
#[derive(Debug, PartialEq)]
struct Executable {
    /// Package and target.
    name: String,
    path: PathBuf,
    /// The folder of its package, where cargo would start it.
    folder: PathBuf,
}

/// The result of one executable.
struct Outcome {
    is_ok: bool,
    output: String,
    seconds: f64,
}

impl Tests<'_> {
    /// Builds and runs them, all of them even if one fails.
    pub fn run(&self) -> anyhow::Result<()> {
        let executables = self.build()?;
        let logs = tempfile::tempdir().context("cannot make a temporary folder")?;
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(Vec::new());
        let work = || {
            while let Some(executable) = executables.get(next.fetch_add(1, Ordering::Relaxed)) {
                let log = logs
                    .path()
                    .join(executable.path.file_name().unwrap_or_default());
                let outcome = self.run_one(executable, &log);
                // Held while reporting, so that two reports are not mixed.
                let mut failed = failed.lock().expect("no thread has panicked");
                if !report(executable, outcome) {
                    failed.push(executable.name.as_str());
                }
            }
        };
        let processors = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..processors {
                scope.spawn(work);
            }
        });
        let failed = failed.into_inner().expect("no thread has panicked");
        if failed.is_empty() {
            return Ok(());
        }
        bail!("{} failed: see above", failed.join(", "))
    }

    fn build(&self) -> anyhow::Result<Vec<Executable>> {
        let mut build = cargo();
        build.args(["test", "--workspace", "--locked", "--no-run"]);
        build.args(ALL_FEATURES);
        build.arg("--message-format=json-render-diagnostics");
        for name in self.names {
            build.args(["--test", name]);
        }
        let said = read(&mut build)?;
        let mut executables: Vec<Executable> = said.lines().filter_map(executable).collect();
        if executables.is_empty() {
            bail!("cargo built no tests");
        }
        // The largest ones have the most tests and take longest, so they start first.
        executables.sort_by_key(|executable| {
            Reverse(fs::metadata(&executable.path).map_or(0, |file| file.len()))
        });
        Ok(executables)
    }

    fn run_one(&self, executable: &Executable, log: &Path) -> anyhow::Result<Outcome> {
        let start = Instant::now();
        let mut command = program(&executable.path.to_string_lossy());
        command
            .current_dir(&executable.folder)
            .env("CARGO_MANIFEST_DIR", &executable.folder)
            .env("CARGO", cargo().get_program())
            // The requirements include a PostgreSQL server, so no test may skip itself.
            .env("STRONGROOM_TEST_SERVERS", "1")
            .envs(self.environment.iter().map(|(name, value)| (*name, *value)))
            .args(self.arguments);
        let ended = process::run(&mut command, log, LIMIT)?;
        let output = fs::read(log).context("its output cannot be read")?;
        let mut output = String::from_utf8_lossy(&output).into_owned();
        if ended != Ended::WithStatus(0) {
            output.push_str(&format!("\n{ended:?}\n"));
        }
        Ok(Outcome {
            is_ok: ended == Ended::WithStatus(0),
            output,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Reports a result; returns whether it is ok.
fn report(executable: &Executable, outcome: anyhow::Result<Outcome>) -> bool {
    match outcome {
        Ok(outcome) => {
            let Outcome {
                output, seconds, ..
            } = &outcome;
            if !outcome.is_ok {
                println!("{output}");
            }
            println!("{}: {} ({seconds:.1} s)", executable.name, summary(output));
            outcome.is_ok
        }
        Err(error) => {
            println!("{}: {error:#}", executable.name);
            false
        }
    }
}

/// `12 passed`, or another summary from the last line of a run.
fn summary(output: &str) -> String {
    let found = output.lines().rev().find_map(|line| {
        let counts = line.strip_prefix("test result: ")?;
        let (_, counts) = counts.split_once(". ")?;
        let counts = counts.split("; ");
        let counts =
            counts.filter(|count| !count.starts_with("0 ") && !count.starts_with("finished"));
        Some(counts.collect::<Vec<_>>().join(", "))
    });
    match found {
        Some(counts) if counts.is_empty() => "no tests".to_owned(),
        Some(counts) => counts,
        None => "did not come to its end".to_owned(),
    }
}

/// The test executable in a line of cargo's output.
fn executable(line: &str) -> Option<Executable> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let folder = manifest.parent()?;
    let package = folder.file_name()?.to_string_lossy();
    let target = message["target"]["name"].as_str()?;
    Some(Executable {
        name: format!("{package} {target}"),
        path: PathBuf::from(path),
        folder: folder.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_with_tests_are_found_among_what_cargo_says() {
        let line = |reason: &str, test: bool| {
            format!(
                r#"{{"reason":"{reason}","manifest_path":"/tree/vfs/Cargo.toml",
                "target":{{"name":"model"}},"profile":{{"test":{test}}},
                "executable":"/target/model-1"}}"#
            )
        };
        let found = executable(&line("compiler-artifact", true)).unwrap();
        assert_eq!(found.name, "vfs model");
        assert_eq!(found.folder, Path::new("/tree/vfs"));
        assert_eq!(executable(&line("compiler-artifact", false)), None);
        assert_eq!(executable(&line("build-finished", true)), None);
        assert_eq!(executable("no JSON"), None);
    }

    #[test]
    fn a_run_is_told_in_a_few_words() {
        let counts = |rest: &str| summary(&format!("running\ntest result: ok. {rest}\n"));
        let all = "4 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 1.2s";
        assert_eq!(counts(all), "4 passed, 1 ignored, 2 filtered out");
        assert_eq!(counts("0 passed; 0 failed"), "no tests");
        assert_eq!(summary("killed"), "did not come to its end");
    }

    #[test]
    fn what_fails_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let executable = Executable {
            name: "a failing one".to_owned(),
            path: PathBuf::from("/bin/false"),
            folder: folder.path().to_owned(),
        };
        let outcome = Tests::default().run_one(&executable, &folder.path().join("log"));
        let outcome = outcome.unwrap();
        assert!(!outcome.is_ok);
        assert!(outcome.output.contains("WithStatus(1)"));
        assert!(!report(&executable, Ok(outcome)));
    }
}
