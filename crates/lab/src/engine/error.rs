//! Why an engine failed.

use std::error::Error;

use serde::{Deserialize, Serialize};

/// The engine's own error.
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
        /// Its number in the test, from 1.
        number: usize,
        /// Its text.
        statement: String,
        /// The engine's error.
        source: Cause,
    },
    /// A statement conflicted with another connection. Its transaction must be rolled back; then it
    /// can be retried.
    #[error("statement {number} met contention: {statement}")]
    Contention {
        /// The kind.
        contention: Contention,
        /// The statement's number in the test, from 1.
        number: usize,
        /// Its text.
        statement: String,
        /// The engine's error.
        source: Cause,
    },
    /// The engine cannot do this by design; not a failure.
    #[error("not possible here: {why}")]
    NotPossible {
        /// The reason.
        why: String,
        /// Whether the database cannot be used any further.
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
    /// The error for a failed statement: contention if `contention` is given, else a failure.
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

/// The kind of conflict between two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contention {
    /// Something stayed locked for longer than the engine waits: SQLite's `SQLITE_BUSY` and
    /// `SQLITE_LOCKED`, PostgreSQL's 55P03, MySQL's 1205.
    Busy,
    /// The engine ended a deadlock: PostgreSQL's 40P01, MySQL's 1213.
    Deadlock,
    /// The transactions could not be serialised: PostgreSQL's 40001.
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
