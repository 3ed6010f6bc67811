//! What an engine answered, and its digest.
//!
//! Rows are gathered while the clock runs and digested after it has stopped. Two engines gave the
//! same answer when every statement gave the same rows in the same order, where
//! - integers, texts and blobs are equal when they are identical,
//! - reals are equal when they are identical after rounding to four decimals (an average is kept
//!   with more or fewer digits by different engines),
//! - a value of one type never equals a value of another.

use sha2::{Digest, Sha256};

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

    /// All values, one after the other.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// 32 hexadecimal digits that are the same for the same answers.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let (mut row, mut value) = (0, 0);
        for &row_end in &self.statement_ends {
            hash.update(b"S");
            for &value_end in &self.row_ends[row..row_end] {
                hash.update(b"R");
                self.values[value..value_end]
                    .iter()
                    .for_each(|value| fold(&mut hash, value));
                value = value_end;
            }
            row = row_end;
        }
        hexadecimal(&hash.finalize()[..16])
    }
}

/// Adds one value with its type and length, so that no two lists of values look alike.
fn fold(hash: &mut Sha256, value: &Value) {
    let mut tagged = |tag: &[u8], bytes: &[u8]| {
        hash.update(tag);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    match value {
        Value::Null => tagged(b"n", b""),
        Value::Integer(number) => tagged(b"i", number.to_string().as_bytes()),
        Value::Real(number) => tagged(b"r", rounded(*number).as_bytes()),
        Value::Text(text) => tagged(b"t", text.as_bytes()),
        Value::Blob(bytes) => tagged(b"b", bytes),
    }
}

fn rounded(number: f64) -> String {
    let text = format!("{number:.4}");
    if text == "-0.0000" {
        "0.0000".to_owned()
    } else {
        text
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_are_compared_to_four_decimals() {
        let digest = |number| {
            let mut answers = Answers::default();
            answers.push(Value::Real(number));
            answers.end_row();
            answers.end_statement();
            answers.digest()
        };
        assert_eq!(digest(2.500_000_000_4), digest(2.5));
        assert_ne!(digest(2.5001), digest(2.5));
        assert_eq!(digest(-0.000_000_1), digest(0.0));
    }

    #[test]
    fn types_rows_and_statements_are_told_apart() {
        let [one, two] = [1, 2].map(Value::Integer);
        let real = Value::Real(1.0);
        let text = Value::Text("1".into());
        let blob = Value::Blob(b"1".to_vec());
        let lists: [&[&[&Value]]; 8] = [
            &[&[&one, &two]],
            &[&[&one], &[&two]],
            &[&[&two], &[&one]],
            &[&[&real]],
            &[&[&text]],
            &[&[&blob]],
            &[&[&Value::Null]],
            &[],
        ];
        let digest = |rows: &[&[&Value]]| {
            let mut answers = Answers::default();
            for row in rows {
                row.iter().for_each(|&value| answers.push(value.clone()));
                answers.end_row();
            }
            answers.end_statement();
            answers.digest()
        };
        let mut digests: Vec<String> = lists.iter().map(|rows| digest(rows)).collect();
        digests.push(Answers::default().digest());
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
        assert_eq!(digest(&[&[&one]]), digest(&[&[&one]]));
    }
}
