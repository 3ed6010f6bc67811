//! Why a statement fails at the proxy. Each protocol maps these errors to its own messages and
//! codes: PostgreSQL in `session-postgres/session/failure.rs`.

use column_value::ValueError;
use sql_plan::Refusal;
use sqlstate::SqlState;

use crate::tokens::KeylessText;

/// Whose fault it is, so who has to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The client's: the statement is wrong, or not supported on protected columns.
    Statement,
    /// The client's: a value that its type or column cannot have.
    Value,
    /// The client's: what it has computed is out of range.
    Range,
    /// The operator's: rules and database do not fit, or nobody knows whether they do.
    Rules,
    /// The operator's or the client's: a limit of the configuration.
    Limit,
    /// The server's: it answers otherwise than its protocol or the plan says.
    Server,
    /// The proxy's own: a defect.
    Proxy,
}

/// An error that a client gets in place of the server's answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StatementError {
    /// Whose fault it is.
    pub fault: Fault,
    /// What a program goes by.
    pub sqlstate: SqlState,
    /// What is wrong.
    pub message: String,
    /// The values or names that it is about.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where it was: `COPY t, line 3, column c`.
    pub context: Option<Box<str>>,
    /// The session cannot go on behind it.
    pub ends_session: bool,
    /// The statement works again once the client has prepared it again.
    pub wants_preparing: bool,
    /// The statement works once the collation key of this text is known.
    pub keyless: Option<Box<KeylessText>>,
}

impl StatementError {
    /// By whose fault, with which code, and in which words.
    pub fn new(fault: Fault, sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self {
            fault,
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            ends_session: false,
            wants_preparing: false,
            keyless: None,
        }
    }

    /// A statement that is wrong.
    pub fn statement(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self::new(Fault::Statement, sqlstate, message)
    }

    /// A statement that is right, but does not work through the proxy.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::statement(SqlState::FEATURE_NOT_SUPPORTED, message)
    }

    /// A result that its type does not have.
    pub fn out_of_range(message: impl Into<String>) -> Self {
        Self::new(Fault::Range, SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    }

    /// Rules and database do not fit.
    pub fn rules(message: impl Into<String>) -> Self {
        Self::new(Fault::Rules, SqlState::CONFIG_FILE_ERROR, message)
    }

    /// A limit was reached.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(Fault::Limit, SqlState::PROGRAM_LIMIT_EXCEEDED, message)
    }

    /// What the proxy itself has prepared is not there.
    pub fn defect(message: impl Into<String>) -> Self {
        Self::new(Fault::Proxy, SqlState::INTERNAL_ERROR, message)
    }

    /// The plan at an index is of another kind than the code that carries it out.
    pub fn other_plan() -> Self {
        Self::defect("the plan is another")
    }

    /// The server gives other columns than those of the plan.
    pub fn other_columns() -> Self {
        let message = "the server gives other columns than the statement was planned for";
        Self::new(Fault::Server, SqlState::FEATURE_NOT_SUPPORTED, message)
            .hint("Prepare the statement again.")
    }

    /// A value that the server gives does not open. Somebody has to look at that: the session
    /// ends.
    pub fn unopened(column: &sql_rewrite::ProtectedColumn) -> Self {
        let message = crate::sealing::unopened(column);
        Self {
            ends_session: true,
            ..Self::new(Fault::Server, SqlState::DATA_CORRUPTED, message)
        }
    }

    /// The collation key of a text is not known.
    pub fn keyless(text: KeylessText) -> Self {
        let message = "the proxy's finisher has not told yet which texts are equal to one of the \
                       statement";
        Self {
            keyless: Some(Box::new(text)),
            ..Self::new(Fault::Limit, SqlState::PROGRAM_LIMIT_EXCEEDED, message)
                .hint("Send the statement again.")
        }
    }

    /// With what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With where it was.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into().into_boxed_str());
        self
    }
}

impl From<ValueError> for StatementError {
    fn from(error: ValueError) -> Self {
        Self::new(Fault::Value, error.sqlstate, error.message)
    }
}

impl From<Refusal> for StatementError {
    fn from(refusal: Refusal) -> Self {
        Self {
            hint: refusal.hint,
            ..Self::statement(refusal.sqlstate, refusal.message)
        }
    }
}
