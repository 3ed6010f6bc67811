//! Extensions that a database should have and has not.

use session_core::StatementError;
use sqlstate::SqlState;

/// Their names and versions.
#[derive(Debug, Default)]
pub(crate) struct Lacking(pub(crate) Vec<String>);

impl Lacking {
    /// An error of a query. A function, operator or type that it does not find may be of one of
    /// these.
    pub(crate) fn explain(&self, error: StatementError) -> StatementError {
        let kinds = [
            "function ",
            "operator ",
            "type ",
            "cache lookup failed for type ",
        ];
        let is_unknown = kinds.iter().any(|kind| error.message.starts_with(kind))
            && [
                SqlState::UNDEFINED_FUNCTION,
                SqlState::UNDEFINED_OBJECT,
                SqlState::INTERNAL_ERROR,
            ]
            .contains(&error.sqlstate);
        if self.0.is_empty() || !is_unknown {
            return error;
        }
        let (names, message) = (self.0.join(", "), &error.message);
        StatementError::unsupported(format!(
            "the proxy's own PostgreSQL server has not all extensions as the server has them (not \
             {names}): {message}"
        ))
        .hint("Install the extension's files in the server's version on the proxy's machine.")
    }
}
