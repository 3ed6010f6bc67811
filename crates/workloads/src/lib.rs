//! Workloads as pure generators of SQL.
//!
//! A workload is a list of named tests that run one after the other on one database. Its text is a
//! function of nothing but what is asked for ([`Spec`]) and of the SQL that the engine speaks
//! ([`Dialect`]): no clock, no file, no environment.

mod script;
pub mod speed;

use serde::{Deserialize, Serialize};

pub use script::Script;

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

/// Which workload is asked for, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Spec {
    /// The 15 published speed tests.
    Speed,
}

/// Why there is no such workload.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BuildError {
    /// Nothing has that name.
    #[error("there is no workload `{name}`; there are: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
}

impl Spec {
    /// The workload of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Self, BuildError> {
        match name {
            "speed" => Ok(Self::Speed),
            _ => Err(BuildError::Unknown {
                name: name.to_owned(),
                known: CATALOGUE.map(|(name, _)| name).join(", "),
            }),
        }
    }
}

/// The workloads there are: name, and a sentence on each.
pub const CATALOGUE: [(&str, &str); 1] = [("speed", speed::DESCRIPTION)];

/// Makes the text of a workload for engines of that dialect.
///
/// # Errors
/// When it has no text in that dialect, or its parameters are out of range.
pub fn build(spec: &Spec, dialect: Dialect) -> Result<Workload, BuildError> {
    match (spec, dialect) {
        // The 15 tests are the same text everywhere: as published, the servers ran it unmodified.
        (Spec::Speed, Dialect::Sqlite | Dialect::Postgres | Dialect::Mysql) => {
            Ok(speed::workload())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_of_the_catalogue_can_be_built() {
        for (name, description) in CATALOGUE {
            let spec = Spec::named(name).unwrap();
            let workload = build(&spec, Dialect::Sqlite).unwrap();
            assert_eq!(
                (workload.name.as_str(), workload.description.as_str()),
                (name, description)
            );
            assert!(!workload.tests.is_empty());
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_names_there_are() {
        let error = Spec::named("sped").unwrap_err().to_string();
        assert!(
            error.contains("`sped`") && error.contains("speed"),
            "{error}"
        );
    }
}
