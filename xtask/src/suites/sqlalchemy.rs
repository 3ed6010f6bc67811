//! SQLAlchemy's own tests of its dialect for PostgreSQL, and of what it expects of every dialect,
//! at the server itself and through the proxy. No part of SQLAlchemy is in the repository.

use std::fs;

use super::modes::Mode;
use super::pytest::Suite;
use super::python::{Environment, Source};
use crate::{built, workspace};

const SOURCE: Source = Source {
    name: "sqlalchemy",
    version: "2.0.51",
    sha256: "804dccd8a4a6242c4e30ad961e540e18a588f6527202f2d6791b01845d59fdc9",
};
const PACKAGES: &[&str] = &["psycopg[binary]==3.3.9", "greenlet==3.5.6", "pytest==9.2.0"];
const TESTS: &[&str] = &[
    "test/dialect/test_suite.py",
    "test/dialect/postgresql/test_dialect.py",
    "test/dialect/postgresql/test_on_conflict.py",
    "test/dialect/postgresql/test_query.py",
    "test/dialect/postgresql/test_reflection.py",
    "test/dialect/postgresql/test_types.py",
];
/// The differences that have a reason.
const LIST: &str = "xtask/suites/sqlalchemy-differences.toml";
/// What its tests expect to find in their database.
const PREPARATION: &[&str] = &[
    "CREATE SCHEMA test_schema",
    "CREATE SCHEMA test_schema_2",
    "CREATE EXTENSION hstore",
    "CREATE EXTENSION citext",
    "ALTER DATABASE test SET default_text_search_config = 'pg_catalog.english'",
];

/// What to run.
#[derive(clap::Args)]
pub struct Options {
    /// Arguments for pytest; without any, the tests of the dialect.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pytest: Vec<String>,
    /// Run in this mode and in `direct` alone; may be given several times.
    #[arg(long, value_name = "MODE")]
    only: Vec<Mode>,
    /// Take what the server itself did from the last run.
    #[arg(long)]
    keep_direct: bool,
}

/// Runs the tests in all modes, and compares.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let built = built::build()?;
    let work = workspace::target_folder()?.join("suites-sqlalchemy");
    fs::create_dir_all(&work)?;
    let content = format!("{} {}", SOURCE.version, PACKAGES.join(" "));
    let environment = Environment::make(&work, &content, |environment| {
        let archive = environment.source(&work, &SOURCE)?;
        environment.install(PACKAGES)?;
        environment.install(&[&archive.to_string_lossy()])
    })?;
    let arguments = match options.pytest.as_slice() {
        [] => TESTS.iter().map(|&test| test.to_owned()).collect(),
        some => some.to_vec(),
    };
    let suite = Suite {
        work: &work,
        python: &environment.python(),
        strongroom: &built.program,
        list: LIST,
        version: SOURCE.version,
        folder: work.join(format!("sqlalchemy-{}", SOURCE.version)),
        arguments,
        database: "test",
        preparation: PREPARATION,
        at_port: |port| {
            let url = format!("postgresql+psycopg://postgres@127.0.0.1:{port}/test");
            (vec!["--dburi".to_owned(), url], Vec::new())
        },
    };
    suite.run(&Mode::chosen(&options.only), options.keep_direct)
}
