//! Forms of values that only PostgreSQL knows: the finisher is asked for them.
//!
//! Values of some types are sealed in the binary form of the server, and the proxy reads none of
//! them. Before it processes a message that has such values in another form, or that they go out
//! with, it asks for the other form of all of them, and processes the message afterwards.

use column_value::OpaqueType;
use semantics_postgres::{CheckOf, Conversion, OpaqueForms, Wanted};
use wire_postgres::values;
use zeroize::Zeroize;

use super::arrays::ArrayBuilder;
use super::found::{each_row, unasked};
use super::gathering::Gathering;
use super::upserting::Upserting;
use crate::finisher::{FinisherExecution, FinisherRows};
use session_core::StatementError;
use sql_rewrite::Schema;

/// Values of one conversion.
type Values = (Conversion, Vec<Box<[u8]>>);

/// Arrays that one question is for. PostgreSQL has no array of arrays, so each is a parameter.
const ARRAYS_MAX: usize = 32;

/// Questions for the finisher, one after the other, and its answers.
pub(super) struct FormQuestions {
    /// What is still to be asked, the next one last.
    left: Vec<Values>,
    answered: Vec<Answered>,
    pub purpose: Purpose,
}

/// Values of one conversion, and their other forms.
type Answered = (Conversion, Vec<Box<[u8]>>, Vec<Box<[u8]>>);

/// What forms are asked for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A message of the client, which is processed again.
    Client,
    /// A message of the server, which is processed again.
    Server,
    /// Values that the finisher has computed for rows to write.
    Write(Box<(Gathering, FinisherRows)>),
    /// Values that it has computed for rows that an `INSERT` has found.
    Update(Box<(Upserting, FinisherRows)>),
}

impl std::fmt::Debug for FormQuestions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The values are plaintext.
        write!(f, "FormQuestions({} left)", self.left.len())
    }
}

/// A question.
pub(super) struct FormQuestion {
    pub query: String,
    pub parameter_types: Vec<u32>,
    /// Whether numbers have all their digits, whatever the settings of the session say.
    pub is_exact: bool,
    pub execution: FinisherExecution,
}

impl FormQuestions {
    /// Questions for some values.
    pub(super) fn new(wanted: Wanted, purpose: Purpose) -> Self {
        let mut left = Vec::new();
        for (conversion, mut values) in wanted.into_questions() {
            let size = match takes_one_by_one(conversion) {
                true => ARRAYS_MAX,
                false => usize::MAX,
            };
            while values.len() > size {
                let rest = values.split_off(size);
                left.push((conversion, std::mem::replace(&mut values, rest)));
            }
            left.push((conversion, values));
        }
        left.reverse();
        Self {
            left,
            answered: Vec::new(),
            purpose,
        }
    }

    /// The next question. None: all are answered.
    pub(super) fn next(&self, answer_size_max: usize, schema: &Schema) -> Option<FormQuestion> {
        let (conversion, values) = self.left.last()?;
        let format = match conversion {
            Conversion::ToText(_) | Conversion::ToExactText(_) => 0,
            Conversion::FromText(_) | Conversion::FromBinary(_) | Conversion::Check(_) => 1,
        };
        let (query, parameter_types, own) = match (*conversion, takes_one_by_one(*conversion)) {
            (Conversion::Check(check), true) => checked_one_by_one(check, values, schema)?,
            (Conversion::Check(check), false) => checked_at_once(check, values, schema)?,
            (_, true) => one_by_one(*conversion, values),
            (_, false) => at_once(*conversion, values),
        };
        Some(FormQuestion {
            query,
            is_exact: matches!(conversion, Conversion::ToExactText(_)),
            execution: FinisherExecution {
                formats: vec![1; own.len()],
                values: own,
                result_formats: Box::new([format]),
                answer_size_max,
            },
            parameter_types,
        })
    }

    /// Takes the answer to the last question.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn answer(&mut self, rows: &FinisherRows) -> Result<(), StatementError> {
        let (conversion, values) = self.left.pop().ok_or_else(unasked)?;
        let mut answered = Vec::with_capacity(values.len());
        each_row(rows, |row| {
            match row {
                // The rest stands for no value.
                _ if answered.len() == values.len() => {}
                [Some(form)] => answered.push((*form).into()),
                _ => return Err(unasked()),
            }
            Ok(())
        })?;
        if answered.len() != values.len() {
            return Err(unasked());
        }
        self.answered.push((conversion, values, answered));
        Ok(())
    }

    /// Whether all are answered.
    pub(super) fn is_answered(&self) -> bool {
        self.left.is_empty()
    }

    /// All answers, and what they are for.
    pub(super) fn into_forms(mut self) -> (OpaqueForms, Purpose) {
        let answered = std::mem::take(&mut self.answered);
        (OpaqueForms::of_answers(answered), self.take_purpose())
    }

    /// What the forms are asked for, once.
    pub(super) fn take_purpose(&mut self) -> Purpose {
        std::mem::replace(&mut self.purpose, Purpose::Server)
    }
}

impl Drop for FormQuestions {
    fn drop(&mut self) {
        let left = self.left.iter_mut().map(|(_, values)| values);
        let answered = self.answered.iter_mut();
        let answered = answered.flat_map(|(_, values, forms)| [values, forms]);
        for value in left.chain(answered).flatten() {
            value.zeroize();
        }
    }
}

fn takes_one_by_one(conversion: Conversion) -> bool {
    let is_text = matches!(conversion, Conversion::FromText(_));
    let opaque = conversion.logical().opaque();
    opaque.is_some_and(OpaqueType::is_array) && !is_text
}

/// What an answer is computed by from an expression of the type without its modifier.
fn result(conversion: Conversion, value: &str) -> String {
    match conversion {
        Conversion::ToText(_) | Conversion::ToExactText(_) => value.to_owned(),
        Conversion::FromText(opaque) | Conversion::FromBinary(opaque) => opaque.assigned(value),
        Conversion::Check(_) => value.to_owned(),
    }
}

/// A question with all values in one array.
fn at_once(
    conversion: Conversion,
    values: &[Box<[u8]>],
) -> (String, Vec<u32>, Vec<Option<Vec<u8>>>) {
    let logical = conversion.logical();
    let (element_type, array_type, value) = match conversion {
        Conversion::FromText(opaque) => {
            let cast = format!("CAST(x AS {})", opaque.qualified_name());
            (values::TEXT, values::TEXT_ARRAY, cast)
        }
        _ => (
            values::oid(logical),
            values::array_oid(logical),
            "x".to_owned(),
        ),
    };
    let result = result(conversion, &value);
    let array = array_of(element_type, values);
    let query = format!("SELECT {result} FROM unnest($1) AS u (x)");
    (query, vec![array_type], vec![Some(array)])
}

fn array_of(element_type: u32, values: &[Box<[u8]>]) -> Vec<u8> {
    let mut array = ArrayBuilder::new(element_type);
    for value in values {
        let Ok(()) = array.push::<std::convert::Infallible>(value.len(), |out| {
            out.extend_from_slice(value);
            Ok(true)
        });
    }
    array.into_value()
}

/// A query, the types of its parameters, and their values.
type Question = (String, Vec<u32>, Vec<Option<Vec<u8>>>);

/// The condition of a check constraint, and the name of its column.
fn condition_of(check: CheckOf, schema: &Schema) -> Option<(&str, String)> {
    let column = schema.protected.get(check.column as usize)?;
    let own = column.checks.own.get(usize::from(check.index))?;
    Some((&own.question, column.column.replace('"', "\"\"")))
}

/// Whether the values in one array pass a check constraint.
fn checked_at_once(check: CheckOf, values: &[Box<[u8]>], schema: &Schema) -> Option<Question> {
    let (condition, column) = condition_of(check, schema)?;
    let query = format!("SELECT {condition} FROM unnest($1) AS u (\"{column}\")");
    let array = array_of(values::oid(check.logical), values);
    let array_type = values::array_oid(check.logical);
    Some((query, vec![array_type], vec![Some(array)]))
}

/// The same with a parameter for each value.
fn checked_one_by_one(check: CheckOf, values: &[Box<[u8]>], schema: &Schema) -> Option<Question> {
    let (condition, column) = condition_of(check, schema)?;
    let (count, own) = padded(values);
    let rows: Vec<String> = (1..=count).map(|number| format!("(${number})")).collect();
    let query = format!(
        "SELECT {condition} FROM (VALUES {}) AS u (\"{column}\")",
        rows.join(", ")
    );
    Some((query, vec![values::oid(check.logical); count], own))
}

/// As many values as a power of two: those behind the last are NULL.
fn padded(values: &[Box<[u8]>]) -> (usize, Vec<Option<Vec<u8>>>) {
    let count = values.len().next_power_of_two();
    let mut own: Vec<Option<Vec<u8>>> = values.iter().map(|value| Some(value.to_vec())).collect();
    own.resize(count, None);
    (count, own)
}

/// A question with a parameter for each value. There are as many as a power of two, so that few
/// questions have to be prepared.
fn one_by_one(
    conversion: Conversion,
    values: &[Box<[u8]>],
) -> (String, Vec<u32>, Vec<Option<Vec<u8>>>) {
    let oid = values::oid(conversion.logical());
    let (count, own) = padded(values);
    let rows: Vec<String> = (1..=count)
        .map(|number| format!("({})", result(conversion, &format!("${number}"))))
        .collect();
    (format!("VALUES {}", rows.join(", ")), vec![oid; count], own)
}
