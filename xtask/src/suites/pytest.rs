//! Suites that pytest runs, in several modes: outcomes of tests, and which of them differ.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::differences::Found;
use super::modes::{Mode, judge};
use super::servers::Server;
use crate::process;

/// The folder of the plugin that writes the outcomes.
const PLUGIN: &str = "xtask/suites/pytest";
const LIMIT: Duration = Duration::from_secs(60 * 60);
/// The folder of PostgreSQL's programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// How a test ended.
#[derive(Deserialize)]
struct Line {
    test: String,
    outcome: String,
    text: String,
}

type Outcomes = BTreeMap<String, Line>;

/// Arguments and environment variables of a run.
pub type Invocation = (Vec<String>, Vec<(&'static str, String)>);

/// A suite.
pub struct Suite<'a> {
    /// Where logs and outcomes are left.
    pub work: &'a Path,
    pub python: &'a Path,
    pub strongroom: &'a Path,
    /// The list of differences that have a reason, and the version that it is for.
    pub list: &'a str,
    pub version: &'a str,
    /// The folder in which pytest runs.
    pub folder: PathBuf,
    pub arguments: Vec<String>,
    /// The database, and what is executed there first.
    pub database: &'a str,
    pub preparation: &'a [&'a str],
    /// Arguments and environment that lead to a port.
    pub at_port: fn(u16) -> Invocation,
}

impl Suite<'_> {
    /// Runs it at the server and in these modes, and compares.
    pub fn run(&self, modes: &[Mode], keep_direct: bool) -> anyhow::Result<()> {
        let direct = match keep_direct {
            true => self.read(Mode::Direct)?,
            false => self.run_in(Mode::Direct)?,
        };
        let mut found = Found::new();
        let mut ran = BTreeSet::new();
        for mode in modes {
            let outcomes = self.run_in(*mode)?;
            let mut same = 0;
            for (test, reference) in &direct {
                let outcome = outcomes.get(test).map(|line| line.outcome.as_str());
                let (file, name) = test.split_once("::").unwrap_or((test, ""));
                let part = format!("{} {file}", mode.name());
                ran.insert(part.clone());
                let differences = found.entry(part).or_default();
                if outcome == Some(reference.outcome.as_str()) {
                    same += 1;
                } else {
                    differences.insert(name.to_owned());
                    self.tell(*mode, test, reference, outcomes.get(test));
                }
            }
            println!(
                "{}: {same} of {} tests end alike",
                mode.name(),
                direct.len()
            );
        }
        judge(self.work, self.list, self.version, &ran, &found)
    }

    fn tell(&self, mode: Mode, test: &str, reference: &Line, line: Option<&Line>) {
        let (outcome, text) = line.map_or(("did not run", ""), |line| {
            (
                line.outcome.as_str(),
                line.text.lines().next().unwrap_or_default(),
            )
        });
        let mode = mode.name();
        println!(
            "{mode}: {test}: {outcome}, directly {}: {text}",
            reference.outcome
        );
    }

    fn outcomes(&self, mode: Mode) -> PathBuf {
        self.work.join(format!("{}.json", mode.name()))
    }

    fn read(&self, mode: Mode) -> anyhow::Result<Outcomes> {
        let file = self.outcomes(mode);
        let text = fs::read_to_string(&file)
            .with_context(|| format!("no run has left {}", file.display()))?;
        let lines = text.lines().map(serde_json::from_str::<Line>);
        let lines = lines.map(|line| line.map(|line| (line.test.clone(), line)));
        Ok(lines.collect::<Result<_, _>>()?)
    }

    fn run_in(&self, mode: Mode) -> anyhow::Result<Outcomes> {
        let folder = tempfile::tempdir()?;
        let settings = ["max_prepared_transactions=20", "max_connections=200"];
        let server = Server::start(Path::new(PROGRAMS), folder.path(), &settings)?;
        server.sql("postgres", &format!("CREATE DATABASE {}", self.database))?;
        for statement in self.preparation {
            server.sql(self.database, statement)?;
        }
        let (_proxy, port) = mode.start(self.strongroom, &server, folder.path())?;
        Mode::make_table(&server, port, self.database)?;
        drop(fs::remove_file(self.outcomes(mode)));
        let log = self.work.join(format!("{}.log", mode.name()));
        let (arguments, environment) = (self.at_port)(port);
        let mut command = Command::new(self.python);
        command
            .current_dir(&self.folder)
            .args([
                "-m",
                "pytest",
                "-p",
                "strongroom_outcomes",
                "-q",
                "--tb=short",
            ])
            .args(&self.arguments)
            .args(arguments)
            .envs(environment)
            .env("STRONGROOM_OUTCOMES", self.outcomes(mode))
            .env(
                "PYTHONPATH",
                python_path(&std::env::current_dir()?.join(PLUGIN))?,
            )
            .env("PYTHONDONTWRITEBYTECODE", "1");
        process::run(&mut command, &log, LIMIT)?;
        let outcomes = self
            .read(mode)
            .with_context(|| format!("no test has run: see {}", log.display()))?;
        if outcomes.is_empty() {
            bail!("no test has run: see {}", log.display());
        }
        println!("{}: {} tests have run", mode.name(), outcomes.len());
        Ok(outcomes)
    }
}

/// The folder of the plugin, and what PYTHONPATH has.
fn python_path(plugin: &Path) -> anyhow::Result<impl AsRef<OsStr> + use<>> {
    let more = std::env::var_os("PYTHONPATH").unwrap_or_default();
    let folders = std::iter::once(plugin.to_owned()).chain(std::env::split_paths(&more));
    std::env::join_paths(folders).context("a folder cannot stand in PYTHONPATH")
}
