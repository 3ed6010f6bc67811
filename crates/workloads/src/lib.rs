//! Workloads as pure generators of SQL.
//!
//! A workload is a list of named tests that run one after the other on one database. Its text is a
//! function of nothing but what is asked for ([`Spec`]) and of the SQL that the engine speaks
//! ([`Dialect`]): no clock, no file, no environment.

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
    /// One sentence on what it is.
    pub description: String,
    /// The tests, in the order in which they run.
    pub tests: Vec<Test>,
    /// Words that stand in the stored rows: a database file that shows them is readable by anyone.
    pub canary: String,
    /// SHA-256 of all scripts, one after the other, in hexadecimal digits. It is the same for every
    /// dialect, as it names the workload.
    pub sha256: String,
}

/// One test: a script, and what the tables must hold when it has run.
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
    /// Work that is no script, which is done after the statements.
    pub step: Option<Work>,
}

/// Work that is no script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Several connections read and write at once.
    Concurrent(concurrent::Step),
    /// The tables of [`tpcc`] are made and filled.
    TpccTables {
        /// One of [`tpcc::SCALES`].
        scale: u32,
    },
    /// Terminals of [`tpcc`] work at once.
    Tpcc(tpcc::Step),
}

/// What a query must answer, known from other database engines.
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

/// The SQL that an engine speaks.
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
    /// Whose SQL it is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL",
        }
    }

    /// The word in the name of a file that is for engines of this dialect alone.
    pub fn file_word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }
}
