//! Refusals of the analysis.

use crate::Refusal;

/// What is not supported on protected columns.
pub(crate) fn refuse(message: impl Into<String>) -> Refusal {
    Refusal {
        sqlstate: "0A000",
        message: message.into(),
        hint: None,
    }
}

/// A part of SQL that the analysis does not know.
pub(crate) fn unsupported(what: &str) -> Refusal {
    refuse(format!(
        "{what} is not supported in a statement that names a protected table"
    ))
}

impl Refusal {
    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }

    pub(crate) fn with_state(mut self, sqlstate: &'static str) -> Self {
        self.sqlstate = sqlstate;
        self
    }
}
