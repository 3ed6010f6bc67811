//! What PostgreSQL has answered about values that are kept unread.
//!
//! The proxy does not know the forms of such values. Before it reads or writes some, it asks a
//! PostgreSQL server on its own side for the other form of all of them, and works with the answers.
//!
//! 1. What was not answered is an error: nothing is guessed.
//! 2. Values are wiped when they are dropped.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use column_value::{LogicalType, OpaqueType, ValueError};
use sqlstate::SqlState;
use zeroize::Zeroize;

/// A form to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// The text of a value becomes the binary form, with the type's modifier.
    FromText(OpaqueType),
    /// The binary form is checked, and the type's modifier applied.
    FromBinary(OpaqueType),
    /// The binary form becomes the text.
    ToText(OpaqueType),
    /// The same, and no digit of a number is left out, whatever `extra_float_digits` is.
    ToExactText(OpaqueType),
    /// Whether a value in the binary form passes a check constraint: one byte, 0 or 1.
    Check(CheckOf),
}

/// A check constraint of a protected column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckOf {
    /// The number of the column.
    pub column: u32,
    /// The index of the constraint among those of the column.
    pub index: u16,
    /// The type of the column.
    pub logical: LogicalType,
}

impl Conversion {
    /// The type.
    pub fn logical(self) -> LogicalType {
        match self {
            Self::FromText(opaque)
            | Self::FromBinary(opaque)
            | Self::ToText(opaque)
            | Self::ToExactText(opaque) => LogicalType::Opaque(opaque),
            Self::Check(check) => check.logical,
        }
    }
}

/// Values, and what is known of each.
type ByValue<T> = HashMap<Box<[u8]>, T>;

/// Answers of PostgreSQL, by what was asked.
#[derive(Default)]
struct Answers(HashMap<Conversion, ByValue<Box<[u8]>>>);

impl Drop for Answers {
    fn drop(&mut self) {
        for (mut asked, mut answer) in self.0.drain().flat_map(|(_, answers)| answers) {
            asked.zeroize();
            answer.zeroize();
        }
    }
}

/// Values to ask for, and in which order they were met.
#[derive(Default)]
pub struct Wanted(Vec<(Conversion, ByValue<usize>)>);

impl Wanted {
    fn add(&mut self, conversion: Conversion, value: &[u8]) {
        let index = match self.0.iter().position(|(own, _)| *own == conversion) {
            Some(index) => index,
            None => {
                self.0.push((conversion, HashMap::new()));
                self.0.len() - 1
            }
        };
        let values = &mut self.0[index].1;
        if !values.contains_key(value) {
            values.insert(value.into(), values.len());
        }
    }

    /// Values by their conversions, in the order in which they were met.
    pub fn into_questions(mut self) -> Vec<(Conversion, Vec<Box<[u8]>>)> {
        let wanted = std::mem::take(&mut self.0);
        let questions = wanted.into_iter().map(|(conversion, values)| {
            let mut values: Vec<(Box<[u8]>, usize)> = values.into_iter().collect();
            values.sort_unstable_by_key(|(_, number)| *number);
            let values = values.into_iter().map(|(value, _)| value);
            (conversion, values.collect())
        });
        questions.collect()
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        for (_, values) in &mut self.0 {
            for (mut value, _) in values.drain() {
                value.zeroize();
            }
        }
    }
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wanted")
    }
}

/// What is known of values that are kept unread. Its `Debug` shows no value.
#[derive(Clone, Default)]
pub struct OpaqueForms {
    /// What was asked for the client's values, and for the server's.
    answers: [Arc<Answers>; 2],
    /// Notes what is asked for, and gives an empty value where no answer is known.
    wanted: Option<Arc<Mutex<Wanted>>>,
}

impl fmt::Debug for OpaqueForms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpaqueForms")
    }
}

/// The value of an enumeration whose label is known or not.
fn label(opaque: OpaqueType, is_known: bool, text: &str) -> Result<Vec<u8>, ValueError> {
    if is_known {
        return Ok(text.as_bytes().to_vec());
    }
    let name = opaque.named().map(|own| own.name.as_str());
    Err(ValueError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!(
            "invalid input value for enum {}: \"{text}\"",
            name.unwrap_or_default()
        ),
    ))
}

impl OpaqueForms {
    /// The answers to some questions: for each the values, and their other forms.
    pub fn of_answers(
        answers: impl IntoIterator<Item = (Conversion, Vec<Box<[u8]>>, Vec<Box<[u8]>>)>,
    ) -> Self {
        let mut all = Answers::default();
        for (conversion, asked, answered) in answers {
            let of_it = all.0.entry(conversion).or_default();
            of_it.extend(asked.into_iter().zip(answered));
        }
        Self {
            answers: [Arc::new(all), Arc::default()],
            wanted: None,
        }
    }

    /// These, for values of the server, beside what is known of the client's; or the other way
    /// round.
    #[must_use]
    pub fn beside(self, others: &Self, is_of_client: bool) -> Self {
        let [own, _] = self.answers;
        let [of_client, of_server] = &others.answers;
        Self {
            answers: match is_of_client {
                true => [own, Arc::clone(of_server)],
                false => [Arc::clone(of_client), own],
            },
            wanted: None,
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.answers.iter().all(|answers| answers.0.is_empty())
    }

    /// The same, that notes what is asked for.
    #[must_use]
    pub fn noting(&self) -> Self {
        Self {
            answers: self.answers.clone(),
            wanted: Some(Arc::default()),
        }
    }

    /// Whether it only notes what is asked for.
    pub fn is_noting(&self) -> bool {
        self.wanted.is_some()
    }

    /// What was asked for, if some of it has no answer. All of it: the answers take the place of
    /// those before.
    pub fn take_wanted(&self) -> Option<Wanted> {
        let wanted = self.wanted.as_ref()?;
        let wanted = std::mem::take(&mut *wanted.lock().unwrap_or_else(PoisonError::into_inner));
        let is_known = |(conversion, values): &(Conversion, ByValue<usize>)| {
            let mut values = values.keys();
            values.all(|value| self.known(*conversion, value).is_some())
        };
        match wanted.0.iter().all(is_known) {
            true => None,
            false => Some(wanted),
        }
    }

    /// The binary form of a text.
    ///
    /// # Errors
    /// Nobody was asked.
    pub fn read_text(&self, opaque: OpaqueType, text: &str) -> Result<Vec<u8>, ValueError> {
        if let Some(known) = opaque.label(text) {
            return label(opaque, known, text);
        }
        let found = self.find(Conversion::FromText(opaque), text.as_bytes());
        found.map(<[u8]>::to_vec)
    }

    /// A value that came in the binary form.
    ///
    /// # Errors
    /// Nobody was asked.
    pub fn read_binary(&self, opaque: OpaqueType, bytes: &[u8]) -> Result<Vec<u8>, ValueError> {
        let text = String::from_utf8_lossy(bytes);
        if let Some(known) = opaque.label(&text) {
            return label(opaque, known, &text);
        }
        let found = self.find(Conversion::FromBinary(opaque), bytes);
        found.map(<[u8]>::to_vec)
    }

    /// A value of the type without its modifier, as a column with the modifier stores it.
    ///
    /// # Errors
    /// Nobody was asked.
    pub fn assigned(&self, opaque: OpaqueType, bytes: Vec<u8>) -> Result<Vec<u8>, ValueError> {
        // An empty one is a `citext`, which has no modifier, or stands for one that is not known
        // yet.
        match bytes.is_empty() {
            true => Ok(bytes),
            false => self.read_binary(opaque, &bytes),
        }
    }

    /// The text of a value.
    ///
    /// # Errors
    /// Nobody was asked.
    pub fn text(&self, opaque: OpaqueType, bytes: &[u8]) -> Result<&[u8], ValueError> {
        self.find(Conversion::ToText(opaque.unlimited()), bytes)
    }

    /// The text of a value, with all digits of its numbers.
    ///
    /// # Errors
    /// Nobody was asked.
    pub fn exact_text(&self, opaque: OpaqueType, bytes: &[u8]) -> Result<&[u8], ValueError> {
        self.find(Conversion::ToExactText(opaque.unlimited()), bytes)
    }

    /// Whether a value in the binary form passes a check constraint.
    ///
    /// # Errors
    /// Nobody was asked.
    pub fn passes(&self, check: CheckOf, bytes: &[u8]) -> Result<bool, ValueError> {
        // Nothing is known of a value that is noted: it stands for one that passes.
        self.find(Conversion::Check(check), bytes)
            .map(|answer| answer != [0])
    }

    fn known(&self, conversion: Conversion, value: &[u8]) -> Option<&[u8]> {
        let mut answers = self.answers.iter();
        answers.find_map(|answers| Some(&**answers.0.get(&conversion)?.get(value)?))
    }

    fn find(&self, conversion: Conversion, value: &[u8]) -> Result<&[u8], ValueError> {
        if let Some(wanted) = &self.wanted {
            let mut wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.add(conversion, value);
        }
        match (self.known(conversion, value), &self.wanted) {
            (Some(answer), _) => Ok(answer),
            (None, Some(_)) => Ok(&[]),
            (None, None) => Err(unasked(conversion.logical())),
        }
    }
}

fn unasked(logical: LogicalType) -> ValueError {
    ValueError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!(
            "a value of type {logical} is not supported here: the proxy cannot ask for its form"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_answered_is_noted_or_an_error() {
        let interval = OpaqueType::from_parts("interval", &[]).expect("a type");
        let forms = OpaqueForms::default();
        let error = forms.read_text(interval, "1 day").expect_err("not asked");
        assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
        let noting = forms.noting();
        assert_eq!(noting.read_text(interval, "1 day"), Ok(Vec::new()));
        let wanted = noting.take_wanted().expect("something is missing");
        let [(conversion, values)] = &*wanted.into_questions() else {
            panic!("one question");
        };
        assert_eq!(*conversion, Conversion::FromText(interval));
        let answer: Box<[u8]> = [7].into();
        let known = OpaqueForms::of_answers([(*conversion, values.clone(), vec![answer])]);
        assert_eq!(known.read_text(interval, "1 day"), Ok(vec![7]));
        let noting = known.noting();
        assert_eq!(noting.read_text(interval, "1 day"), Ok(vec![7]));
        assert!(noting.take_wanted().is_none());
        assert!(known.read_binary(interval, b"1 day").is_err());
    }
}
