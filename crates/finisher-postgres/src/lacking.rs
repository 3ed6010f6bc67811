//! Extensions that a database should have and has not.

use session_core::StatementError;
use sqlstate::SqlState;

/// Their names and versions.
#[derive(Debug, Default)]
pub(crate) struct Lacking(pub(crate) Vec<String>);

impl Lacking {
    /// An error of a query. A function that it does not find may be of one of these.
    pub(crate) fn explain(&self, error: StatementError) -> StatementError {
        let is_unknown = error.sqlstate == SqlState::UNDEFINED_FUNCTION
            && error.message.starts_with("function ");
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
