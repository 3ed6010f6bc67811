//! Statements of SQLsmith, a generator that nobody here wrote, at two plain servers and through
//! the proxy with every column protected.
//!
//! `xtask/suites/sqlsmith/compare.py` says what is compared. The two plain servers differ in the
//! order of their rows and in their plans, so what both answer alike depends on neither.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::python::Environment;
use super::servers::{Proxy, Server};
use crate::command::{read, run as run_command};
use crate::{built, workspace};

const DRIVER: &str = "psycopg[binary]==3.3.9";
/// The folder with the schema and the script.
const FOLDER: &str = "xtask/suites/sqlsmith";

const DATABASE: &str = "one";

/// What to run.
#[derive(clap::Args)]
pub struct Options {
    /// How many statements.
    #[arg(long, default_value_t = 2000)]
    statements: u32,
    /// What statements: each number gives others, and the same each time.
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// The folder of PostgreSQL's programs.
    #[arg(long, default_value = "/usr/lib/postgresql/15/bin")]
    programs: PathBuf,
}

/// Runs the statements, and fails if an answer differs.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let built = built::build()?;
    let work = workspace::target_folder()?.join("suites-sqlsmith");
    fs::create_dir_all(&work)?;
    let environment =
        Environment::make(&work, DRIVER, |environment| environment.install(&[DRIVER]))?;
    let script = Script {
        python: environment.python(),
        folder: PathBuf::from(FOLDER),
    };
    let folder = tempfile::tempdir()?;
    let home = |name: &str| folder.path().join(name);
    let plain = server(options, &home("plain"))?;
    script.fill(plain.port, &[])?;
    let other = server(options, &home("other"))?;
    script.fill(other.port, &["--reverse"])?;
    for server in [&plain, &other] {
        server.sql(DATABASE, "ANALYZE")?;
    }
    let rules = rules(&built.program, &plain)?;
    let protected = server(options, &home("protected"))?;
    let proxy = Proxy::start(
        &built.program,
        &protected.upstream(),
        &home("protected"),
        &rules,
    )?;
    script.fill(proxy.port, &[])?;
    let statements = work.join("statements.sql");
    fs::write(&statements, generated(options, &plain)?)?;
    let details = work.join("details.sql");
    let ended = script
        .command("compare")
        .args(["--plain", &plain.port.to_string()])
        .args(["--other", &other.port.to_string()])
        .args(["--proxy", &proxy.port.to_string()])
        .arg("--statements")
        .arg(&statements)
        .arg("--details")
        .arg(&details)
        .status()?;
    println!("all but what is the same: {}", details.display());
    if !ended.success() {
        bail!("the proxy answers otherwise than PostgreSQL: look for DIFFERENT and LOST there");
    }
    Ok(())
}

/// The script that fills databases and compares.
struct Script {
    python: PathBuf,
    folder: PathBuf,
}

impl Script {
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command
            .arg(self.folder.join("compare.py"))
            .arg(name)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null());
        command
    }

    fn fill(&self, port: u16, options: &[&str]) -> anyhow::Result<()> {
        let mut command = self.command("fill");
        command
            .args(["--port", &port.to_string()])
            .arg("--schema")
            .arg(self.folder.join("schema.sql"))
            .args(options);
        run_command(&mut command)
    }
}

/// A server with a user who may do nothing but own the database: SQLsmith calls every function
/// that it finds.
fn server(options: &Options, folder: &Path) -> anyhow::Result<Server> {
    fs::create_dir(folder)?;
    let server = Server::start(&options.programs, folder, &["timezone=UTC"])?;
    server.sql("postgres", "CREATE ROLE app LOGIN")?;
    server.sql("postgres", &format!("CREATE DATABASE {DATABASE} OWNER app"))?;
    Ok(server)
}

/// Rules for every column.
fn rules(strongroom: &Path, server: &Server) -> anyhow::Result<String> {
    let url = format!("postgres://app@127.0.0.1:{}/{DATABASE}", server.port);
    let suggest = ["columns", "suggest", "--all"];
    read(
        Command::new(strongroom)
            .args(suggest)
            .env("STRONGROOM_DATABASE_URL", url),
    )
}

/// The statements, which depend on the seed and on what the server has.
fn generated(options: &Options, server: &Server) -> anyhow::Result<String> {
    let target = format!(
        "host=127.0.0.1 port={} user=app dbname={DATABASE}",
        server.port
    );
    let mut command = Command::new("sqlsmith");
    command
        .args(["--dry-run", "--exclude-catalog"])
        .arg(format!("--target={target}"))
        .arg(format!("--seed={}", options.seed))
        .arg(format!("--max-queries={}", options.statements));
    read(&mut command).context("SQLsmith is in Debian's package `sqlsmith`: install it")
}
