//! Workloads as pure generators of SQL.
//!
//! A workload is a list of named tests that run one after the other on one database. Its text
//! depends only on its parameters ([`Spec`]) and the engine's dialect ([`Dialect`]): no clock, no
//! file, no environment.

pub mod concurrent;
pub mod custom;
mod mix;
mod number_name;
pub mod pinger;
mod script;
mod sha256;
mod spec;
pub mod speed;
pub mod speedtest;
pub mod tpcc;

use serde::{Deserialize, Serialize};

pub use script::Script;
use sha256::sha256;
pub use spec::{BuildError, CATALOGUE, Parameters, Spec, build};

/// A deterministic list of tests, to be run in order on one new database.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The name on the command line.
    pub name: String,
    /// A one-sentence description.
    pub description: String,
    /// The tests, in the order in which they run.
    pub tests: Vec<Test>,
    /// Words from the stored rows: if a database file contains them, it is readable by anyone.
    pub canary: String,
    /// SHA-256 of all scripts, concatenated, in hexadecimal digits. It is the same for every
    /// dialect, since it identifies the workload.
    pub sha256: String,
}

/// One test: a script, and the facts that hold after it.
#[derive(Debug, Clone)]
pub struct Test {
    /// Counts from 1.
    pub number: u32,
    /// What the test does, in a few words.
    pub title: String,
    /// Its statements.
    pub script: Script,
    /// Known facts about the database after this test.
    pub oracle: Vec<Fact>,
    /// Work other than a script, done after the statements.
    pub step: Option<Work>,
}

/// Work other than a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Several connections read and write at once.
    Concurrent(concurrent::Step),
    /// Creates and fills the tables of [`tpcc`].
    TpccTables {
        /// One of [`tpcc::SCALES`].
        scale: u32,
    },
    /// Terminals of [`tpcc`] working concurrently.
    Tpcc(tpcc::Step),
}

/// The known result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// A query that yields one row of integers.
    pub query: String,
    /// That row.
    pub row: Vec<i64>,
}

impl Test {
    /// The statements of the script, in order.
    pub fn statements(&self) -> impl ExactSizeIterator<Item = &str> {
        self.script.statements()
    }

    /// How many statements the script has.
    pub fn statement_count(&self) -> usize {
        self.statements().len()
    }
}

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
}

impl Dialect {
    /// The name of the product.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL",
        }
    }

    /// The word for this dialect in file names.
    pub fn file_word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }
}
