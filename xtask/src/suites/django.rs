//! Django's own tests of its mapper: with the server itself, and through the proxy with every
//! column protected that can be. No part of Django is in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;

use super::python::{Environment, Source};
use super::servers::{Proxy, Server};
use crate::built;
use crate::command::read;
use crate::workspace;

const SOURCE: Source = Source {
    name: "django",
    version: "5.2.8",
    sha256: "23254866a5bb9a2cfa6004e8b809ec6246eba4b58a7589bc2772f1bcc8456c7f",
};
const DRIVER: &str = "psycopg[binary]==3.3.9";
/// The folder with our settings for Django.
const SETTINGS: &str = "xtask/suites/django";
/// The suites: all about what the mapper asks of a database.
const SUITES: &str = "aggregation aggregation_regress annotations basic bulk_create composite_pk \
    datatypes dates datetimes db_functions defer delete delete_regress distinct_on_fields \
    expressions expressions_case expressions_window filtered_relation foreign_object \
    generic_relations get_or_create lookup m2m_through many_to_many many_to_one model_fields \
    model_inheritance model_inheritance_regress null_fk null_queries one_to_one or_lookups \
    ordering postgres_tests prefetch_related queries raw_query reverse_lookup select_for_update \
    select_related string_lookup timezones transactions update xor_lookups";

/// What to run.
#[derive(clap::Args)]
pub struct Options {
    /// Run these suites of Django's alone; without it those of its mapper.
    suites: Vec<String>,
    /// Insert many rows by VALUES, and not by UNNEST as this version of Django does.
    #[arg(long)]
    values: bool,
    /// The folder of PostgreSQL's programs.
    #[arg(long, default_value = "/usr/lib/postgresql/15/bin")]
    programs: PathBuf,
}

/// A line of the file of outcomes.
#[derive(Deserialize)]
struct Line {
    test: Option<String>,
    #[serde(default)]
    outcome: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    statements: u64,
    #[serde(default)]
    refused: serde_json::Value,
}

/// One run of the tests.
#[derive(Default)]
struct Run {
    tests: BTreeMap<String, Line>,
    statements: u64,
    /// Statements that were refused, by the reason.
    refused: BTreeMap<String, u64>,
}

/// Runs the tests both ways, and prints what differs.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let built = built::build()?;
    let work = workspace::target_folder()?.join("suites-django");
    fs::create_dir_all(&work)?;
    let python = fetch(&work)?.python();
    let suites: Vec<&str> = match options.suites.as_slice() {
        [] => SUITES.split_whitespace().collect(),
        some => some.iter().map(String::as_str).collect(),
    };
    let folder = tempfile::tempdir()?;
    let settings = ["max_locks_per_transaction=256"];
    let server = Server::start(&options.programs, folder.path(), &settings)?;
    for database in ["one", "other"] {
        server.sql("postgres", &format!("CREATE DATABASE {database}"))?;
    }
    // These databases stay, so that rules can be made of them.
    let environment = [("STRONGROOM_VALUES", if options.values { "1" } else { "0" })];
    let tests = Tests {
        python: &python,
        work: &work,
        suites: &suites,
        environment,
    };
    let direct = tests.run(server.port, "direct", true)?;
    let rules = rules(&built.program, &server)?;
    let proxy = Proxy::start(&built.program, &server, folder.path(), &rules)?;
    for name in ["test_one", "test_other"] {
        server.sql("postgres", &format!("DROP DATABASE IF EXISTS {name}"))?;
    }
    let through = tests.run(proxy.port, "proxy", false)?;
    report(&direct, &through);
    println!("all outcomes: {}", work.display());
    Ok(())
}

/// Downloads Django and its driver, unless that was done already.
fn fetch(work: &Path) -> anyhow::Result<Environment> {
    let content = format!("{} {} {DRIVER}", SOURCE.name, SOURCE.version);
    Environment::make(work, &content, |environment| {
        let archive = environment.source(work, &SOURCE)?;
        environment.install(&[&archive.to_string_lossy(), DRIVER])
    })
}

/// Rules for all that can be protected.
fn rules(strongroom: &Path, server: &Server) -> anyhow::Result<String> {
    let url = format!("postgres://postgres@127.0.0.1:{}/test_one", server.port);
    let suggest = ["columns", "suggest", "--all"];
    let mut command = Command::new(strongroom);
    let rules = read(command.args(suggest).env("STRONGROOM_DATABASE_URL", url))?;
    let lines = rules.lines().filter(|line| line.contains(" = { type = "));
    println!("{} columns are protected", lines.count());
    Ok(rules)
}

/// What is run.
struct Tests<'a> {
    python: &'a Path,
    work: &'a Path,
    suites: &'a [&'a str],
    environment: [(&'static str, &'static str); 1],
}

impl Tests<'_> {
    /// Runs Django's tests; that tests fail is no error.
    fn run(&self, port: u16, name: &str, keep: bool) -> anyhow::Result<Run> {
        let outcomes = self.work.join(format!("{name}.json"));
        drop(fs::remove_file(&outcomes));
        let log = fs::File::create(self.work.join(format!("{name}.log")))?;
        let settings = std::env::current_dir()?.join(SETTINGS);
        let mut command = Command::new(self.python);
        command
            .current_dir(self.work.join(format!("django-{}/tests", SOURCE.version)))
            .args(["-W", "ignore", "runtests.py", "--settings"])
            .args(["strongroom_settings", "--parallel", "1", "--noinput"])
            .args(if keep { &["--keepdb"][..] } else { &[] })
            .args(self.suites)
            .envs(self.environment)
            .env("STRONGROOM_PORT", port.to_string())
            .env("STRONGROOM_OUTCOMES", &outcomes)
            .env("PYTHONPATH", settings)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        command.status().context("cannot start Django's tests")?;
        let text = fs::read_to_string(&outcomes).with_context(|| {
            format!("no test has run: see {name}.log in {}", self.work.display())
        })?;
        let mut run = Run::default();
        for line in text.lines() {
            run.take(serde_json::from_str(line)?);
        }
        Ok(run)
    }
}

impl Run {
    fn take(&mut self, line: Line) {
        self.statements += line.statements;
        for refused in line.refused.as_array().into_iter().flatten() {
            let message = refused[1].as_str().unwrap_or_default();
            let message = message.lines().next().unwrap_or_default();
            *self.refused.entry(message.to_owned()).or_default() += 1;
        }
        if let Some(test) = line.test.clone() {
            self.tests.insert(test, line);
        }
    }

    fn passed(&self) -> usize {
        self.tests
            .values()
            .filter(|line| line.outcome == "pass")
            .count()
    }
}

/// What differs.
fn report(direct: &Run, through: &Run) {
    let passed = direct
        .tests
        .iter()
        .filter(|(_, line)| line.outcome == "pass");
    let mut same = 0;
    let (mut by_refusal, mut wrong) = (Vec::new(), Vec::new());
    for (test, _) in passed {
        match through.tests.get(test) {
            Some(line) if line.outcome == "pass" => same += 1,
            Some(line) if line.refused.as_array().is_some_and(|all| !all.is_empty()) => {
                by_refusal.push(test);
            }
            other => wrong.push((test, other.map_or("did not run", |line| &line.text))),
        }
    }
    println!(
        "tests: {}; pass directly: {}",
        direct.tests.len(),
        direct.passed()
    );
    println!("of these pass through the proxy: {same}");
    println!(
        "fail by a refusal: {}; otherwise: {}",
        by_refusal.len(),
        wrong.len()
    );
    let refused: u64 = through.refused.values().sum();
    println!("statements: {}; refused: {refused}", through.statements);
    let mut reasons: Vec<_> = through.refused.iter().collect();
    reasons.sort_by_key(|(message, count)| (std::cmp::Reverse(**count), message.as_str()));
    for (message, count) in reasons {
        println!("{count:5}  {message}");
    }
    for (test, text) in wrong {
        println!(
            "otherwise: {test}: {}",
            text.lines().next().unwrap_or_default()
        );
    }
}
