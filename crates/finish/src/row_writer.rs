//! The interface to the client's protocol.

use std::borrow::Cow;

use column_value::{LogicalType, Value, ValueError};
use semantics_postgres::TextContext;

/// A field of a row of the answer.
#[derive(Clone, Debug)]
pub enum Field<'a> {
    /// NULL
    Null,
    /// The server's bytes unchanged, as permitted in [`Program::new`](crate::Program::new).
    Passed(&'a [u8]),
    /// A value and its type.
    Value(Cow<'a, Value>, LogicalType),
}

/// Writes rows of an answer in the format of a protocol.
pub trait RowWriter {
    /// Appends a row. The caller discards `row` on failure.
    ///
    /// # Errors
    ///
    /// If a value cannot be written in the format that the client wants.
    fn write(
        &self,
        fields: &[Field<'_>],
        context: &TextContext,
        row: &mut Vec<u8>,
    ) -> Result<(), ValueError>;
}
