//! The seam to the client's protocol.

use std::borrow::Cow;

use column_value::{LogicalType, Value, ValueError};
use semantics_postgres::TextContext;

/// A field of a row of the answer.
#[derive(Clone, Debug)]
pub enum Field<'a> {
    /// NULL
    Null,
    /// The server's bytes as they came: [`Program::new`](crate::Program::new) was told that they
    /// may pass.
    Passed(&'a [u8]),
    /// A value and its type.
    Value(Cow<'a, Value>, LogicalType),
}

/// Writes rows of an answer as a protocol has them.
pub trait RowWriter {
    /// Appends a row. `row` is thrown away if it fails.
    ///
    /// # Errors
    /// A value that cannot be written as the client wants it.
    fn write(
        &self,
        fields: &[Field<'_>],
        context: &TextContext,
        row: &mut Vec<u8>,
    ) -> Result<(), ValueError>;
}
