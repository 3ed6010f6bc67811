//! Errors of statements as PostgreSQL's protocol has them.

use session_core::StatementError;
use wire_postgres::backend::Failure;

/// The server's function that says that a statement has to be prepared again. Drivers that prepare
/// statements by themselves know it by this name, and do so.
const WANTS_PREPARING: &str = "RevalidateCachedQuery";

/// Writes an error as ErrorResponse.
pub(super) fn write_error(error: &StatementError, out: &mut Vec<u8>) {
    failure_of(error.clone()).write(out);
}

/// An error as the fields of ErrorResponse.
pub(super) fn failure_of(error: StatementError) -> Failure {
    Failure {
        fatal: error.ends_session,
        sqlstate: error.sqlstate,
        message: error.message,
        hint: error.hint,
        context: error.context,
        routine: error.wants_preparing.then_some(WANTS_PREPARING),
    }
}
