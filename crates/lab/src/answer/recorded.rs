//! The recorded form of an answer, and the definition of equal answers.
//!
//! Two engines gave the same answer if every statement returned the same rows in the same order,
//! where
//!
//! - texts, blobs and NULLs are equal if they are identical,
//! - two integers are equal if they are identical,
//! - a real equals a number that lies within [`ABSOLUTE_TOLERANCE`] plus [`RELATIVE_TOLERANCE`] of
//!   the larger of the two: engines compute averages to different numbers of digits (MariaDB: four
//!   decimals, so it is off by up to 5e-5), and sum floating-point numbers in different orders,
//! - so an integer equals a real of the same value: whether `19` is an integer, a decimal or a
//!   float depends on the engine's types, and shells print them alike. A number never equals a
//!   text.
//!
//! Exact values are kept as digests, numbers as they are: digests of rounded numbers would differ
//! for two averages on either side of a rounding boundary. An answer is kept once for all samples
//! that gave it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Answers, Value, hexadecimal};

/// How far a real may be from a number that it equals.
pub const ABSOLUTE_TOLERANCE: f64 = 1e-4;

/// The same, relative to the larger of the two.
pub const RELATIVE_TOLERANCE: f64 = 1e-9;

/// The most positions at which the running digest is recorded, to locate where two answers diverge.
const MARKS_MAX: usize = 256;

/// Hexadecimal digits of a mark: enough to locate a difference, not to prove equality.
const MARK_DIGITS: usize = 8;

/// The most numbers that are kept. Of a larger answer none is kept, and all must be identical.
pub const NUMBERS_MAX: usize = 200_000;

/// An answer as stored in a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Digest of everything: answers with the same name are identical.
    pub name: String,
    /// Digest of all but the values of the numbers.
    pub exact: String,
    /// Number of statements.
    pub statements: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of numbers in the rows.
    pub number_count: usize,
    /// [`MARK_DIGITS`] digits of the running digest of the exact part, after every `statements` / n
    /// statements.
    pub marks: String,
    /// The numbers of each statement that returned any; empty if there are more than
    /// [`NUMBERS_MAX`].
    pub numbers: Vec<StatementNumbers>,
}

/// The numbers of one statement: its number from 1, and those of each of its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementNumbers(pub usize, pub Vec<Vec<Number>>);

/// A number of a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A number that the engine calls an integer.
    Integer(i64),
    /// Any other number; always finite.
    Real(f64),
}

impl Number {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(Self::Integer(*number)),
            Value::Real(number) if number.is_finite() => Some(Self::Real(*number)),
            Value::Real(_) | Value::Null | Value::Text(_) | Value::Blob(_) => None,
        }
    }

    fn value(self) -> f64 {
        match self {
            // Beyond 2^53 this rounds, but by far less than the relative tolerance.
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    /// Whether both numbers are equal by the rule of this module.
    pub fn agrees(self, other: Self) -> bool {
        if let (Self::Integer(one), Self::Integer(two)) = (self, other) {
            return one == two;
        }
        let (one, two) = (self.value(), other.value());
        (one - two).abs() <= ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * one.abs().max(two.abs())
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(number) => write!(formatter, "{number}"),
            Self::Real(number) => write!(formatter, "{number:?}"),
        }
    }
}

/// The number of statements between two marks.
fn stride(statements: usize) -> usize {
    statements.div_ceil(MARKS_MAX).max(1)
}

pub(super) fn record(answers: &Answers) -> Answer {
    let mut exact = Sha256::new();
    let mut values = Sha256::new();
    let mut marks = String::new();
    let mut numbers = Vec::new();
    let mut number_count = 0;
    let statements = answers.statements().len();
    let stride = stride(statements);
    for (rows, place) in answers.statements().zip(1..) {
        exact.update(b"S");
        let mut of_statement = Vec::new();
        for row in rows {
            exact.update(b"R");
            let mut of_row = Vec::new();
            for value in row {
                fold(&mut exact, value);
                if let Some(number) = Number::of(value) {
                    values.update(number.to_string().as_bytes());
                    values.update(b" ");
                    of_row.push(number);
                }
            }
            number_count += of_row.len();
            of_statement.push(of_row);
        }
        if of_statement.iter().any(|row| !row.is_empty()) && number_count <= NUMBERS_MAX {
            numbers.push(StatementNumbers(place, of_statement));
        }
        if place % stride == 0 || place == statements {
            marks += &hexadecimal(&exact.clone().finalize())[..MARK_DIGITS];
        }
    }
    if number_count > NUMBERS_MAX {
        numbers = Vec::new();
    }
    let exact = hexadecimal(&exact.finalize()[..16]);
    let mut name = Sha256::new();
    name.update(exact.as_bytes());
    name.update(values.finalize());
    Answer {
        name: hexadecimal(&name.finalize()[..16]),
        exact,
        statements,
        rows: answers.row_count(),
        number_count,
        marks,
        numbers,
    }
}

/// Hashes one value with its type and length, so that different lists of values cannot collide. For
/// a number, only the fact that it is one is hashed.
fn fold(hash: &mut Sha256, value: &Value) {
    let mut tagged = |tag: &[u8], bytes: &[u8]| {
        hash.update(tag);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    match value {
        Value::Null => tagged(b"n", b""),
        Value::Real(number) if !number.is_finite() => tagged(b"f", number.to_string().as_bytes()),
        Value::Integer(_) | Value::Real(_) => tagged(b"d", b""),
        Value::Text(text) => tagged(b"t", text.as_bytes()),
        Value::Blob(bytes) => tagged(b"b", bytes),
    }
}

impl Answer {
    /// Describes where this answer first differs from the reference; `None` if they are equal.
    pub fn difference(&self, reference: &Self) -> Option<String> {
        if self.name == reference.name {
            return None;
        }
        if self.statements != reference.statements {
            return Some(format!(
                "answers to {} statements instead of {}",
                self.statements, reference.statements
            ));
        }
        if self.exact != reference.exact {
            return Some(self.exact_difference(reference));
        }
        if self.numbers.is_empty() && self.number_count > 0 {
            return Some(format!("one of its {} numbers differs", self.number_count));
        }
        self.number_difference(reference)
    }

    fn exact_difference(&self, reference: &Self) -> String {
        let stride = stride(self.statements);
        let mark = |answer: &Self, place: usize| {
            let begin = place * MARK_DIGITS;
            answer
                .marks
                .get(begin..begin + MARK_DIGITS)
                .map(str::to_owned)
        };
        let count = self.statements.div_ceil(stride);
        let parted = (0..count).find(|&place| mark(self, place) != mark(reference, place));
        let place = parted.map_or_else(String::new, |place| {
            let (first, last) = (
                place * stride + 1,
                ((place + 1) * stride).min(self.statements),
            );
            if first == last {
                format!("statement {first} ")
            } else {
                format!("one of the statements {first} to {last} ")
            }
        });
        if self.rows == reference.rows {
            format!("{place}has another value or another type of value")
        } else {
            format!(
                "{place}has other rows; there are {} rows in all instead of {}",
                self.rows, reference.rows
            )
        }
    }

    /// Both answers have numbers in the same positions, since their exact parts are equal.
    fn number_difference(&self, reference: &Self) -> Option<String> {
        let pairs = self.numbers.iter().zip(&reference.numbers);
        for (StatementNumbers(statement, one), StatementNumbers(_, two)) in pairs {
            for ((one, two), row) in one.iter().zip(two).zip(1..) {
                for ((one, two), place) in one.iter().zip(two).zip(1..) {
                    if !one.agrees(*two) {
                        return Some(format!(
                            "statement {statement}, row {row}, number {place}: {one} instead of \
                             {two}"
                        ));
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One statement for each list of rows.
    fn answer(statements: &[&[&[Value]]]) -> Answer {
        let mut answers = Answers::default();
        for rows in statements {
            for row in *rows {
                row.iter().for_each(|value| answers.push(value.clone()));
                answers.end_row();
            }
            answers.end_statement();
        }
        answers.recorded()
    }

    fn one(value: Value) -> Answer {
        answer(&[&[&[value]]])
    }

    fn same(one_value: f64, other: f64) -> bool {
        let pair = [one_value, other].map(|number| one(Value::Real(number)));
        assert_eq!(
            pair[0].difference(&pair[1]).is_none(),
            pair[1].difference(&pair[0]).is_none()
        );
        pair[0].difference(&pair[1]).is_none()
    }

    #[test]
    fn averages_of_other_products_are_the_same_on_either_side_of_a_rounding() {
        // SQLite, PostgreSQL, MariaDB: the third rounds to four decimals.
        assert!(same(24_950.124_949_999_9, 24_950.124_950_000_4));
        assert!(same(24_950.124_95, 24_950.125));
        assert!(same(0.333_333_333_333, 0.3333));
        assert!(same(-0.000_000_1, 0.0));
        assert!(same(1e15, 1e15 + 1e5));
        assert!(!same(24_950.124, 24_950.125));
        assert!(!same(2.5002, 2.5));
        assert!(!same(1e15, 1.000_01e15));
    }

    #[test]
    fn a_number_is_a_number_but_two_integers_must_be_identical() {
        let integer = |number| one(Value::Integer(number));
        let real = |number| one(Value::Real(number));
        assert_eq!(integer(19).difference(&real(19.0)), None);
        assert_eq!(real(19.000_02).difference(&integer(19)), None);
        assert!(integer(19).difference(&real(19.5)).is_some());
        assert!(
            integer(i64::MAX)
                .difference(&integer(i64::MAX - 1))
                .is_some()
        );
        assert!(
            integer(1)
                .difference(&one(Value::Text("1".into())))
                .is_some()
        );
        assert!(integer(0).difference(&one(Value::Null)).is_some());
        assert!(
            real(f64::INFINITY)
                .difference(&real(f64::NEG_INFINITY))
                .is_some()
        );
        assert_eq!(real(f64::NAN).difference(&real(f64::NAN)), None);
    }

    #[test]
    fn the_first_difference_is_reported_with_its_position() {
        let [seven, eight] = [7, 8].map(Value::Integer);
        let name = Value::Text("n".into());
        let reference = answer(&[
            &[],
            &[
                &[name.clone(), seven.clone()],
                &[name.clone(), seven.clone(), eight.clone()],
            ],
        ]);
        let other = answer(&[
            &[],
            &[
                &[name.clone(), seven.clone()],
                &[name.clone(), seven.clone(), Value::Real(8.25)],
            ],
        ]);
        assert_eq!(
            other.difference(&reference).unwrap(),
            "statement 2, row 2, number 2: 8.25 instead of 8"
        );
        let other = answer(&[&[], &[&[name.clone(), seven.clone()]]]);
        assert_eq!(
            other.difference(&reference).unwrap(),
            "statement 2 has other rows; there are 1 rows in all instead of 2"
        );
        let other = answer(&[
            &[],
            &[&[seven.clone(), name.clone()], &[name, seven, eight]],
        ]);
        assert_eq!(
            other.difference(&reference).unwrap(),
            "statement 2 has another value or another type of value"
        );
        assert_eq!(
            answer(&[&[]]).difference(&reference).unwrap(),
            "answers to 1 statements instead of 2"
        );
    }

    #[test]
    fn a_difference_among_many_statements_is_found_to_a_few() {
        let many = |odd: usize| {
            let mut answers = Answers::default();
            for place in 1..=1000 {
                answers.push(Value::Text(if place == odd { "x" } else { "y" }.into()));
                answers.end_row();
                answers.end_statement();
            }
            answers.recorded()
        };
        assert_eq!(
            many(998).difference(&many(0)).unwrap(),
            "one of the statements 997 to 1000 has another value or another type of value"
        );
    }

    #[test]
    fn rows_and_statements_are_distinguished() {
        let both = [1, 2].map(Value::Integer);
        let (just_one, just_two) = (&both[..1], &both[1..]);
        let text = [Value::Text("1".into())];
        let blob = [Value::Blob(b"1".to_vec())];
        let lists = [
            answer(&[&[&both]]),
            answer(&[&[just_one, just_two]]),
            answer(&[&[just_two, just_one]]),
            answer(&[&[just_one], &[just_two]]),
            answer(&[&[&text, just_two]]),
            answer(&[&[&blob, just_two]]),
            answer(&[]),
            answer(&[&[]]),
        ];
        for (place, one) in lists.iter().enumerate() {
            for (other_place, other) in lists.iter().enumerate() {
                assert_eq!(one.difference(other).is_none(), place == other_place);
            }
        }
    }

    #[test]
    fn a_results_file_round_trips() {
        let recorded = answer(&[&[&[
            Value::Integer(5),
            Value::Real(5.0),
            Value::Real(1e300),
            Value::Real(0.1 + 0.2),
        ]]]);
        let text = serde_json::to_string(&recorded).unwrap();
        let read: Answer = serde_json::from_str(&text).unwrap();
        assert_eq!(read.difference(&recorded), None);
        assert_eq!(read.numbers.len(), 1);
        assert_eq!(read.numbers[0].1[0][..2], recorded.numbers[0].1[0][..2]);
    }

    #[test]
    fn of_too_many_numbers_only_the_digest_is_kept() {
        let many = |last: i64| {
            let mut answers = Answers::default();
            for number in (0..NUMBERS_MAX as i64).chain([last]) {
                answers.push(Value::Integer(number));
                answers.end_row();
            }
            answers.end_statement();
            answers.recorded()
        };
        assert!(many(1).numbers.is_empty());
        assert_eq!(many(1).difference(&many(1)), None);
        assert_eq!(
            many(2).difference(&many(1)).unwrap(),
            "one of its 200001 numbers differs"
        );
    }
}
