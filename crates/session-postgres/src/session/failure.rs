//! Errors of statements as PostgreSQL's ErrorResponse.

use session_core::StatementError;
use wire_postgres::backend::Failure;

/// The function of the server that reports that a statement must be prepared again. Drivers with
/// statement caches check for this name.
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
        detail: error.detail.map(String::into_boxed_str),
        hint: error.hint,
        context: error.context,
        routine: error.wants_preparing.then_some(WANTS_PREPARING),
    }
}
