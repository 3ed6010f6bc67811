//! Errors of computing an answer.

use column_value::ValueError;

/// Why an answer cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FinishError {
    /// The server's error for a row, a group or a bound.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// More rows were fetched than [`Limits::rows_max`](crate::Limits::rows_max).
    #[error("more than {0} rows are fetched")]
    TooManyRows(usize),
    /// More would be kept than [`Limits::bytes_max`](crate::Limits::bytes_max).
    #[error("more than {0} bytes are kept")]
    TooManyBytes(usize),
}
