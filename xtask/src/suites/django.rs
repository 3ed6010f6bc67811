//! Django's own tests of its mapper, on PostgreSQL or MariaDB: with the server itself, and through
//! the proxy with every column protected that can be. No part of Django is in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use clap::ValueEnum;
use serde::Deserialize;

use super::differences::Found;
use super::mariadb;
use super::modes::judge;
use super::python::{Environment, Source};
use super::servers::{Proxy, Server, Upstream};
use crate::built;
use crate::command::read;
use crate::workspace;

const SOURCE: Source = Source {
    name: "django",
    version: "5.2.8",
    sha256: "23254866a5bb9a2cfa6004e8b809ec6246eba4b58a7589bc2772f1bcc8456c7f",
};
const DRIVERS: [&str; 2] = ["psycopg[binary]==3.3.9", "PyMySQL==1.2.4"];
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

/// Those that are not only about PostgreSQL, on MariaDB.
const MARIADB_SUITES: &str = "aggregation basic delete expressions lookup ordering queries \
    transactions update";
/// The differences on MariaDB that have a reason.
const MARIADB_LIST: &str = "xtask/suites/django-mariadb-differences.toml";

/// A product whose tests of Django's can run.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Product {
    Postgres,
    Mariadb,
}

/// What to run.
#[derive(clap::Args)]
pub struct Options {
    /// Run these suites of Django's alone; without it those of its mapper.
    suites: Vec<String>,
    /// Insert many rows by VALUES, and not by UNNEST as this version of Django does.
    #[arg(long)]
    values: bool,
    /// The server.
    #[arg(long, value_enum, default_value = "postgres")]
    server: Product,
    /// The folder of the server's programs, where Debian does not have it.
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Take what the server itself did, and the rules, from the last run.
    #[arg(long)]
    keep_direct: bool,
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
    let home = workspace::target_folder()?.join("suites-django");
    let work = home.join(options.server.name());
    fs::create_dir_all(&work)?;
    let python = fetch(&home)?.python();
    let suites = match options.suites.as_slice() {
        [] => options.server.suites(),
        some => some.iter().map(String::as_str).collect(),
    };
    let folder = tempfile::tempdir()?;
    let server = Running::start(options, folder.path())?;
    for database in ["one", "other"] {
        server.sql(&format!("CREATE DATABASE {database}"))?;
    }
    let values = if options.values { "1" } else { "0" };
    let tests = Tests {
        python: &python,
        home: &home,
        work: &work,
        suites: &suites,
        environment: [
            ("STRONGROOM_VALUES", values),
            ("STRONGROOM_SERVER", options.server.name()),
        ],
    };
    let upstream = server.upstream();
    let kept = work.join("rules.toml");
    let direct = match options.keep_direct {
        true => tests.read("direct")?,
        false => {
            // These databases stay, so that rules can be made of them.
            let direct = tests.run(upstream.port, "direct", true)?;
            fs::write(&kept, server.rules(&built.program)?)?;
            direct
        }
    };
    let rules = fs::read_to_string(&kept)?;
    let proxy = Proxy::start(&built.program, &upstream, folder.path(), &rules)?;
    for name in ["test_one", "test_other"] {
        server.sql(&format!("DROP DATABASE IF EXISTS {name}"))?;
    }
    let through = tests.run(proxy.port, "proxy", false)?;
    println!("all outcomes: {}", work.display());
    let (ran, found) = report(&direct, &through);
    match options.server {
        Product::Postgres => Ok(()),
        Product::Mariadb => judge(&work, MARIADB_LIST, SOURCE.version, &ran, &found),
    }
}

impl Product {
    fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
        }
    }

    fn suites(self) -> Vec<&'static str> {
        let suites = match self {
            Self::Postgres => SUITES,
            Self::Mariadb => MARIADB_SUITES,
        };
        suites.split_whitespace().collect()
    }
}

/// A server of one of the products.
enum Running {
    Postgres(Server),
    Mariadb(mariadb::Server),
}

impl Running {
    fn start(options: &Options, folder: &Path) -> anyhow::Result<Self> {
        let programs = options.programs.as_deref();
        Ok(match options.server {
            Product::Postgres => {
                let programs = programs.unwrap_or(Path::new("/usr/lib/postgresql/15/bin"));
                let settings = ["max_locks_per_transaction=256"];
                Self::Postgres(Server::start(programs, folder, &settings)?)
            }
            Product::Mariadb => {
                let programs = programs.unwrap_or(Path::new("/usr/sbin"));
                Self::Mariadb(mariadb::Server::start(programs, folder)?)
            }
        })
    }

    fn sql(&self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Postgres(server) => server.sql("postgres", text),
            Self::Mariadb(server) => server.sql(text),
        }
    }

    fn upstream(&self) -> Upstream {
        match self {
            Self::Postgres(server) => server.upstream(),
            Self::Mariadb(server) => server.upstream(),
        }
    }

    /// Rules for all that can be protected.
    fn rules(&self, strongroom: &Path) -> anyhow::Result<String> {
        let rules = match self {
            Self::Postgres(server) => {
                let url = format!("postgres://postgres@127.0.0.1:{}/test_one", server.port);
                let suggest = ["columns", "suggest", "--all"];
                let mut command = Command::new(strongroom);
                read(command.args(suggest).env("STRONGROOM_DATABASE_URL", url))?
            }
            Self::Mariadb(server) => server.rules("test_one", &["test_one", "test_other"])?,
        };
        let lines = rules.lines().filter(|line| line.contains(" = { type = "));
        println!("{} rules", lines.count());
        Ok(rules)
    }
}

/// Downloads Django and its drivers, unless that was done already.
fn fetch(work: &Path) -> anyhow::Result<Environment> {
    let content = format!("{} {} {DRIVERS:?}", SOURCE.name, SOURCE.version);
    Environment::make(work, &content, |environment| {
        let archive = environment.source(work, &SOURCE)?;
        environment.install(&[&archive.to_string_lossy()])?;
        environment.install(&DRIVERS)
    })
}

/// What is run.
struct Tests<'a> {
    python: &'a Path,
    /// Where Django is.
    home: &'a Path,
    /// Where logs and outcomes are left.
    work: &'a Path,
    suites: &'a [&'a str],
    environment: [(&'static str, &'static str); 2],
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
            .current_dir(self.home.join(format!("django-{}/tests", SOURCE.version)))
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
        self.read(name)
    }

    /// Reads the outcomes of a run.
    fn read(&self, name: &str) -> anyhow::Result<Run> {
        let outcomes = self.work.join(format!("{name}.json"));
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

/// Prints what differs, and returns it with the suites that ran.
fn report(direct: &Run, through: &Run) -> (BTreeSet<String>, Found) {
    let (mut ran, mut found) = (BTreeSet::new(), Found::new());
    let passed = direct
        .tests
        .iter()
        .filter(|(_, line)| line.outcome == "pass");
    let mut same = 0;
    let (mut by_refusal, mut wrong) = (Vec::new(), Vec::new());
    for (test, _) in passed {
        let (suite, name) = test.split_once('.').unwrap_or((test, ""));
        ran.insert(suite.to_owned());
        if through
            .tests
            .get(test)
            .is_none_or(|line| line.outcome != "pass")
        {
            found
                .entry(suite.to_owned())
                .or_default()
                .insert(name.to_owned());
        }
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
    (ran, found)
}
