//! Errors of statements as PostgreSQL's protocol has them.

use wire_postgres::backend::Failure;

use crate::statement_error::StatementError;

/// The server's function that says that a statement has to be prepared again. Drivers that prepare
/// statements by themselves know it by this name, and do so.
const WANTS_PREPARING: &str = "RevalidateCachedQuery";

impl StatementError {
    /// Writes it as ErrorResponse.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        Failure::from(self.clone()).write(out);
    }
}

impl From<StatementError> for Failure {
    fn from(error: StatementError) -> Self {
        Self {
            fatal: error.ends_session,
            sqlstate: error.sqlstate,
            message: error.message,
            hint: error.hint,
            context: error.context,
            routine: error.wants_preparing.then_some(WANTS_PREPARING),
        }
    }
}
