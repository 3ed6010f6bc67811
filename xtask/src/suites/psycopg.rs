//! The tests of psycopg, PostgreSQL's driver for Python, at the server itself and through the
//! proxy. Its packages have no tests: they come from its repository, and none of it is in ours.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::modes::Mode;
use super::pytest::Suite;
use super::python::Environment;
use crate::command::{program, read, run as run_command};
use crate::{built, workspace};

const REPOSITORY: &str = "https://github.com/psycopg/psycopg.git";
const VERSION: &str = "3.3.4";
/// The commit of that version: no other is run.
const COMMIT: &str = "83f110367cdd249cc0a352e2246ecea9e878e5a0";
const PACKAGES: &[&str] = &[
    "psycopg[binary]==3.3.4",
    "psycopg-pool==3.3.1",
    "anyio==4.16.0",
    "pytest==9.2.0",
];
/// The differences that have a reason.
const LIST: &str = "xtask/suites/psycopg-differences.toml";

/// What to run.
#[derive(clap::Args)]
pub struct Options {
    /// Arguments for pytest, such as the names of files below `tests`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pytest: Vec<String>,
    /// Run in this mode and in `direct` alone; may be given several times.
    #[arg(long, value_name = "MODE")]
    only: Vec<Mode>,
    /// Take what the server itself did from the last run.
    #[arg(long)]
    keep_direct: bool,
    /// Take the tests from this clone of psycopg's repository, not from its home.
    #[arg(long, value_name = "FOLDER")]
    repository: Option<PathBuf>,
}

/// Runs the tests in all modes, and compares.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let built = built::build()?;
    let work = workspace::target_folder()?.join("suites-psycopg");
    fs::create_dir_all(&work)?;
    let home = options.repository.as_ref();
    let home = home.map_or_else(
        || REPOSITORY.to_owned(),
        |folder| folder.display().to_string(),
    );
    fetch(&work.join("source"), &home)?;
    let environment = Environment::make(&work, &PACKAGES.join(" "), |environment| {
        environment.install(PACKAGES)
    })?;
    let mut arguments: Vec<String> = match options.pytest.as_slice() {
        [] => vec!["tests".to_owned()],
        some => some.to_vec(),
    };
    // Slow tests measure time; others check the types of psycopg's own source, or look names up.
    let markers = "not slow and not mypy and not dns and not proxy and not crdb";
    arguments.extend(["-m".to_owned(), markers.to_owned()]);
    let suite = Suite {
        work: &work,
        python: &environment.python(),
        strongroom: &built.program,
        list: LIST,
        version: VERSION,
        folder: work.join("source"),
        arguments,
        database: "psycopg_test",
        preparation: &["CREATE EXTENSION hstore"],
        at_port: |port| {
            let target = format!("host=127.0.0.1 port={port} user=postgres dbname=psycopg_test");
            (Vec::new(), vec![("PSYCOPG_TEST_DSN", target)])
        },
    };
    suite.run(&Mode::chosen(&options.only), options.keep_direct)
}

/// Clones the repository at the commit, unless that was done already.
fn fetch(folder: &Path, home: &str) -> anyhow::Result<()> {
    let git = |arguments: &[&str]| {
        let mut command = program("git");
        command.arg("-C").arg(folder).args(arguments);
        command
    };
    let commit = || read(&mut git(&["rev-parse", "HEAD"])).unwrap_or_default();
    if folder.join("tests").is_dir() && commit().trim() == COMMIT {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let clone = [
        "clone", "--quiet", "--depth", "1", "--branch", VERSION, home,
    ];
    run_command(program("git").args(clone).arg(folder))?;
    if commit().trim() != COMMIT {
        bail!("{VERSION} of {home} is {}, not {COMMIT}", commit().trim());
    }
    Ok(())
}
