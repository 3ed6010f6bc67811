//! Django's own tests of its mapper: with the server itself, and through the proxy with every
//! column protected that can be. No part of Django is in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::built;
use crate::command::{program, read, run as run_command, succeeds};
use crate::workspace;

/// The version, and the SHA-256 of its source distribution.
const VERSION: &str = "5.2.8";
const SHA256: &str = "23254866a5bb9a2cfa6004e8b809ec6246eba4b58a7589bc2772f1bcc8456c7f";
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
/// User and group `nobody` and `nogroup`: PostgreSQL does not run as root.
const NOBODY: u32 = 65534;
const START_WITHIN: Duration = Duration::from_secs(60);

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
    fetch(&work)?;
    let suites: Vec<&str> = match options.suites.as_slice() {
        [] => SUITES.split_whitespace().collect(),
        some => some.iter().map(String::as_str).collect(),
    };
    let folder = tempfile::tempdir()?;
    let server = Server::start(&options.programs, folder.path())?;
    // These databases stay, so that rules can be made of them.
    let environment = [("STRONGROOM_VALUES", if options.values { "1" } else { "0" })];
    let tests = Tests {
        work: &work,
        suites: &suites,
        environment,
    };
    let direct = tests.run(server.port, "direct", true)?;
    let proxy = Proxy::start(&built.program, &server, folder.path())?;
    for name in ["test_one", "test_other"] {
        server.sql(
            &options.programs,
            &format!("DROP DATABASE IF EXISTS {name}"),
        )?;
    }
    let through = tests.run(proxy.port, "proxy", false)?;
    report(&direct, &through);
    println!("all outcomes: {}", work.display());
    Ok(())
}

/// Downloads Django and its driver, unless that was done already.
fn fetch(work: &Path) -> anyhow::Result<()> {
    if work.join("ready").is_file() {
        return Ok(());
    }
    let environment = work.join("environment");
    run_command(program("python3").args(["-m", "venv"]).arg(&environment))?;
    let pip = || {
        let mut command = Command::new(environment.join("bin/pip"));
        command.stdin(Stdio::null()).current_dir(work);
        command
    };
    let name = format!("django=={VERSION}");
    let source = ["download", "--quiet", "--no-deps", "--no-binary", ":all:"];
    run_command(pip().args(source).arg(&name))?;
    let archive = format!("django-{VERSION}.tar.gz");
    let bytes = fs::read(work.join(&archive)).context("pip has left no source of Django")?;
    let sum = {
        use sha2::Digest;
        let digest = sha2::Sha256::digest(&bytes);
        digest
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    };
    if sum != SHA256 {
        bail!("{archive} has the checksum {sum}, not {SHA256}");
    }
    run_command(program("tar").current_dir(work).args(["-xzf", &archive]))?;
    run_command(pip().args(["install", "--quiet", &format!("./{archive}"), DRIVER]))?;
    fs::write(work.join("ready"), "")?;
    Ok(())
}

/// A server of its own, which ends with this value.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(programs: &Path, folder: &Path) -> anyhow::Result<Self> {
        let data = folder.join("data");
        fs::create_dir(&data)?;
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| {
            use std::os::unix::fs::MetadataExt;
            own.uid() == 0
        });
        if is_root {
            chown(folder, Some(NOBODY), Some(NOBODY))?;
            chown(&data, Some(NOBODY), Some(NOBODY))?;
        }
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.stdin(Stdio::null()).current_dir(&data);
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command.arg("-D").arg(&data);
            command
        };
        let initdb = ["-U", "postgres", "-A", "trust", "--locale", "C.UTF-8"];
        read(command("initdb").args(initdb))?;
        let port = free_port()?;
        let log = fs::File::create(folder.join("log"))?;
        let child = command("postgres")
            .args(["-p", &port.to_string(), "-k", "", "-c", "fsync=off"])
            .args(["-c", "max_locks_per_transaction=256"])
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let server = Self { child, port };
        let psql = programs.join("psql");
        await_that(|| succeeds(&mut sql(&psql, port, "SELECT 1")))?;
        for database in ["one", "other"] {
            server.sql(programs, &format!("CREATE DATABASE {database}"))?;
        }
        Ok(server)
    }

    fn sql(&self, programs: &Path, text: &str) -> anyhow::Result<()> {
        read(&mut sql(&programs.join("psql"), self.port, text)).map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn sql(psql: &Path, port: u16, text: &str) -> Command {
    let mut command = Command::new(psql);
    let port = port.to_string();
    let options = ["-XqAt", "-h", "127.0.0.1", "-U", "postgres", "-p", &port];
    command.args(options).args(["-c", text, "postgres"]);
    command
}

/// A proxy with rules for all that can be protected, which ends with this value.
struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    fn start(strongroom: &Path, server: &Server, folder: &Path) -> anyhow::Result<Self> {
        let port = free_port()?;
        let config = folder.join("strongroom.toml");
        let mut text = format!(
            "[proxy]\nlisten = \"127.0.0.1:{port}\"\nupstream = \"127.0.0.1:{}\"\n\
             [keys]\nfile = \"columns.key\"\n[finish]\nengine = \"postgres\"\n\
             run_as = \"nobody\"\n",
            server.port
        );
        let url = format!("postgres://postgres@127.0.0.1:{}/test_one", server.port);
        let suggest = ["columns", "suggest", "--all"];
        let mut command = Command::new(strongroom);
        text += &read(command.args(suggest).env("STRONGROOM_DATABASE_URL", url))?;
        let rules = text.lines().filter(|line| line.contains(" = { type = "));
        println!("{} columns are protected", rules.count());
        fs::write(&config, text)?;
        let key = folder.join("columns.key");
        read(
            Command::new(strongroom)
                .args(["columns", "create-key"])
                .arg(key),
        )?;
        let child = Command::new(strongroom)
            .args(["proxy", "--log-level", "error", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .spawn()?;
        let proxy = Self { child, port };
        await_that(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        Ok(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn await_that(is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    let until = Instant::now() + START_WITHIN;
    while !is_so() {
        if Instant::now() > until {
            bail!("a server did not start");
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// What is run.
struct Tests<'a> {
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
        let mut command = Command::new(self.work.join("environment/bin/python"));
        command
            .current_dir(self.work.join(format!("django-{VERSION}/tests")))
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
