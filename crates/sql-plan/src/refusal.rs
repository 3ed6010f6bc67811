//! Refusals: why a statement is not executed.

use sqlstate::SqlState;

/// A statement that is not executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// SQLSTATE: `0A000` for what is not supported on protected columns, `42601` for what
    /// cannot be parsed.
    pub sqlstate: SqlState,
    /// Names table, column and reason.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

/// A refusal of what is not supported on protected columns.
pub fn refuse(message: impl Into<String>) -> Refusal {
    Refusal {
        sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
        message: message.into(),
        hint: None,
    }
}

/// Placeholder in messages for the table, until the statement's table is known.
const SOME_TABLE: &str = "a protected table";

/// A refusal of SQL that the analysis does not know.
pub fn unsupported(what: &str) -> Refusal {
    refuse(format!(
        "{what} is not supported in a statement that names {SOME_TABLE}"
    ))
}

/// The hint of refusals that have none of their own.
const USUAL_HINT: &str = "`strongroom columns explain` tells what works on each column, and what \
                          becomes of a statement.";

impl Refusal {
    /// The same, with the name of the table in its message.
    #[must_use]
    pub fn naming(mut self, name: Option<&str>) -> Self {
        let Some(name) = name else {
            return self;
        };
        if self.message.contains(SOME_TABLE) {
            let table = format!("protected table {name}");
            self.message = self.message.replace(SOME_TABLE, &table);
        } else if self.sqlstate == SqlState::FEATURE_NOT_SUPPORTED && !self.message.contains(name) {
            self.message = format!("protected table {name}: {}", self.message);
        }
        if self.sqlstate == SqlState::FEATURE_NOT_SUPPORTED && self.hint.is_none() {
            self.hint = Some(USUAL_HINT.to_owned());
        }
        self
    }

    /// With what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }

    /// With another SQLSTATE.
    #[must_use]
    pub fn with_state(mut self, sqlstate: SqlState) -> Self {
        self.sqlstate = sqlstate;
        self
    }
}
