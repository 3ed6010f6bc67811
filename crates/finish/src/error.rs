//! Why an answer cannot be made.

use column_value::ValueError;

/// Why an answer cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FinishError {
    /// What the server would say of a row, a group or a bound.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// More rows are fetched than [`Limits::rows_max`](crate::Limits::rows_max).
    #[error("more than {0} rows are fetched")]
    TooManyRows(usize),
    /// More is kept than [`Limits::bytes_max`](crate::Limits::bytes_max).
    #[error("more than {0} bytes are kept")]
    TooManyBytes(usize),
}
