//! Why an engine failed.

use std::error::Error;

use serde::{Deserialize, Serialize};

/// What the engine itself says of its failure.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why an engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The database could not be created.
    #[error("the database could not be created")]
    Create(#[source] Cause),
    /// The database could not be opened.
    #[error("the database could not be opened")]
    Open(#[source] Cause),
    /// A statement failed.
    #[error("statement {number} of the test failed: {statement}")]
    Statement {
        /// Its place in the test, from 1.
        number: usize,
        /// Its text.
        statement: String,
        /// What the engine says.
        source: Cause,
    },
    /// A statement met another connection's work. Its transaction is to be rolled back; then it can
    /// be tried again.
    #[error("statement {number} met contention: {statement}")]
    Contention {
        /// What kind.
        contention: Contention,
        /// The statement's place in the test, from 1.
        number: usize,
        /// Its text.
        statement: String,
        /// What the engine says.
        source: Cause,
    },
    /// What is asked for cannot be had here, by what the engine is; no failure.
    #[error("not possible here: {why}")]
    NotPossible {
        /// Why.
        why: String,
        /// Whether nothing more can be done with the database.
        ends: bool,
    },
    /// The engine did not report its settings.
    #[error("the engine did not report its settings")]
    Settings(#[source] Cause),
    /// The database could not be closed.
    #[error("the database could not be closed")]
    Close(#[source] Cause),
    /// The engine's shell could not be started or did not run the script.
    #[error("the engine's shell did not run the test")]
    Shell(#[source] Cause),
}

impl EngineError {
    /// A statement that failed: by contention of this kind, or for a reason of its own.
    pub fn of_statement(
        contention: Option<Contention>,
        number: usize,
        statement: &str,
        source: Cause,
    ) -> Self {
        let statement = statement.to_owned();
        match contention {
            Some(contention) => Self::Contention {
                contention,
                number,
                statement,
                source,
            },
            None => Self::Statement {
                number,
                statement,
                source,
            },
        }
    }
}

/// How two connections were in each other's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contention {
    /// Something stayed locked for longer than the engine waits: SQLite's `SQLITE_BUSY` and
    /// `SQLITE_LOCKED`, PostgreSQL's 55P03, MySQL's 1205.
    Busy,
    /// The engine ended a deadlock: PostgreSQL's 40P01, MySQL's 1213.
    Deadlock,
    /// No order of the transactions would explain what they saw: PostgreSQL's 40001.
    Order,
}

/// An error and all its causes in one line.
pub fn whole_message(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
