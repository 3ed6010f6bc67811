//! The rows that an engine returned.
//!
//! Rows are gathered while the clock runs. [`recorded`] defines what the results file keeps of
//! them, and when two answers are equal.

pub mod recorded;

pub use recorded::Answer;

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// The rows of a list of statements, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    values: Vec<Value>,
    /// Length of `values` at the end of each row.
    row_ends: Vec<usize>,
    /// Length of `row_ends` at the end of each statement.
    statement_ends: Vec<usize>,
}

impl Answers {
    /// Adds a value to the current row.
    pub fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    /// Ends the current row.
    pub fn end_row(&mut self) {
        self.row_ends.push(self.values.len());
    }

    /// Ends the current statement.
    pub fn end_statement(&mut self) {
        self.statement_ends.push(self.row_ends.len());
    }

    /// How many rows there are, over all statements.
    pub fn row_count(&self) -> usize {
        self.row_ends.len()
    }

    /// The rows of all statements.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Value]> {
        self.statements().flatten()
    }

    /// All values, one after the other.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The form of the answers that goes into a results file.
    pub fn recorded(&self) -> Answer {
        recorded::record(self)
    }

    /// The rows of each statement, each row a list of values.
    fn statements(&self) -> impl ExactSizeIterator<Item = impl Iterator<Item = &[Value]>> {
        (0..self.statement_ends.len()).map(|statement| {
            let first = statement
                .checked_sub(1)
                .map_or(0, |before| self.statement_ends[before]);
            (first..self.statement_ends[statement]).map(|row| {
                let begin = row.checked_sub(1).map_or(0, |before| self.row_ends[before]);
                &self.values[begin..self.row_ends[row]]
            })
        })
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
