//! Evaluates an expression over a row, with SQL's three-valued logic: NULL is `None`.

use std::borrow::Cow;
use std::cmp::Ordering;

use column_value::{LogicalType, Value, ValueError};
use semantics_postgres::{Like, TextContext, cast, compare, compare_char, negate};
use sql_plan::{BinaryOperator, ScalarFunction};
use sqlstate::SqlState;

use crate::expression::{Node, Ready, Relation, error, other_type};

/// A field of a row.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// NULL
    Null,
    /// A value that can be computed with.
    Value(Value),
    /// The server's bytes, which are only passed on.
    Raw(&'a [u8]),
}

/// The input of an expression.
pub struct Row<'a> {
    /// Fields of the fetched row; empty when computing over groups.
    pub columns: &'a [Cell<'a>],
    /// Keys of the group.
    pub groups: &'a [Option<Value>],
    /// Aggregates of the group.
    pub aggregates: &'a [Option<Value>],
    /// Settings that affect text output.
    pub context: &'a TextContext,
}

type Computed<'a> = Result<Option<Cow<'a, Value>>, ValueError>;

impl Ready {
    /// The value for a row.
    ///
    /// # Errors
    ///
    /// The server's: 22012, 22003, 22P02, …
    pub fn value<'a>(&'a self, row: &Row<'a>) -> Computed<'a> {
        self.node.value(row)
    }

    /// The value for a row, owned.
    pub fn owned(&self, row: &Row<'_>) -> Result<Option<Value>, ValueError> {
        Ok(self.node.value(row)?.map(Cow::into_owned))
    }

    /// Whether a condition is true; NULL is not.
    pub fn is_true(&self, row: &Row<'_>) -> Result<bool, ValueError> {
        Ok(self.node.truth(row)? == Some(true))
    }
}

impl Node {
    fn value<'a>(&'a self, row: &Row<'a>) -> Computed<'a> {
        Ok(match self {
            Self::Column(index) => match row.columns.get(*index) {
                Some(Cell::Value(value)) => Some(Cow::Borrowed(value)),
                Some(Cell::Null) => None,
                Some(Cell::Raw(_)) | None => return Err(unknown_column()),
            },
            Self::Group(index) => row.groups.get(*index).and_then(borrowed),
            Self::Aggregate(index) => row.aggregates.get(*index).and_then(borrowed),
            Self::Constant(value) => borrowed(value),
            Self::Negate(inner, logical) => match inner.value(row)? {
                Some(value) => Some(Cow::Owned(negate(&value, *logical)?)),
                None => None,
            },
            Self::Calculate(arithmetic, left, right, result) => {
                let Some((left, right)) = both(left, right, row)? else {
                    return Ok(None);
                };
                Some(Cow::Owned(arithmetic.calculate(&left, &right, *result)?))
            }
            Self::Concatenate(left, right) => {
                let Some((left, right)) = both(left, right, row)? else {
                    return Ok(None);
                };
                let joined = [text(&left)?, text(&right)?].concat();
                Some(Cow::Owned(Value::Text(joined)))
            }
            Self::Coalesce(nodes) => {
                for node in nodes {
                    if let Some(value) = node.value(row)? {
                        return Ok(Some(value));
                    }
                }
                None
            }
            Self::Case(whens, otherwise) => {
                for (when, then) in whens {
                    if when.truth(row)? == Some(true) {
                        return then.value(row);
                    }
                }
                match otherwise {
                    Some(otherwise) => otherwise.value(row)?,
                    None => None,
                }
            }
            Self::Cast(inner, from, to) => match inner.value(row)? {
                Some(value) => {
                    let value = cast(value.into_owned(), *from, *to, row.context)?;
                    Some(Cow::Owned(value))
                }
                None => None,
            },
            Self::Call(function, inner, logical) => match inner.value(row)? {
                Some(value) => Some(Cow::Owned(call(*function, &value, *logical, row)?)),
                None => None,
            },
            Self::Not(_)
            | Self::IsNull(..)
            | Self::Compare(..)
            | Self::And(..)
            | Self::Or(..)
            | Self::Like(..)
            | Self::LikeComputed(..)
            | Self::In(_)
            | Self::InSet(..) => self
                .truth(row)?
                .map(|truth| Cow::Owned(Value::Boolean(truth))),
        })
    }

    fn truth(&self, row: &Row<'_>) -> Result<Option<bool>, ValueError> {
        Ok(match self {
            Self::Not(inner) => inner.truth(row)?.map(|truth| !truth),
            Self::IsNull(inner, turned) => Some(inner.is_null(row)? != *turned),
            Self::Compare(relation, left, right) => match both(left, right, row)? {
                Some((left, right)) => Some(relation.holds(&left, &right)?),
                None => None,
            },
            // Short-circuits like the server: if the left side decides, the right is not evaluated.
            Self::And(left, right) => match left.truth(row)? {
                Some(false) => Some(false),
                Some(true) => right.truth(row)?,
                None => right.truth(row)?.filter(|truth| !truth),
            },
            Self::Or(left, right) => match left.truth(row)? {
                Some(true) => Some(true),
                Some(false) => right.truth(row)?,
                None => right.truth(row)?.filter(|truth| *truth),
            },
            Self::Like(operand, pattern) => match operand.value(row)? {
                Some(operand) => Some(pattern.matches(text(&operand)?, row.context.letters)?),
                None => None,
            },
            Self::LikeComputed(operand, pattern, escape, case_sensitive) => {
                let Some((operand, pattern)) = both(operand, pattern, row)? else {
                    return Ok(None);
                };
                let pattern = Like::new(text(&pattern)?, Some(*escape), *case_sensitive);
                Some(pattern.matches(text(&operand)?, row.context.letters)?)
            }
            Self::In(compared) => {
                let mut found = Some(false);
                for comparison in compared {
                    match comparison.truth(row)? {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => found = None,
                    }
                }
                found
            }
            Self::InSet(operand, logical, set, has_null) => match operand.value(row)? {
                None => (set.is_empty() && !has_null).then_some(false),
                Some(value) => {
                    let mut bytes = Vec::new();
                    if !column_codec::append_equal(&value, *logical, &mut bytes) {
                        return Err(other_type());
                    }
                    match set.contains(&*bytes) {
                        true => Some(true),
                        false => (!has_null).then_some(false),
                    }
                }
            },
            _ => match self.value(row)? {
                Some(value) => match *value {
                    Value::Boolean(truth) => Some(truth),
                    _ => {
                        return Err(error(
                            SqlState::DATATYPE_MISMATCH,
                            "a condition must be boolean",
                        ));
                    }
                },
                None => None,
            },
        })
    }

    fn is_null(&self, row: &Row<'_>) -> Result<bool, ValueError> {
        if let Self::Column(index) = self {
            return Ok(matches!(row.columns.get(*index), Some(Cell::Null) | None));
        }
        Ok(self.value(row)?.is_none())
    }
}

impl Relation {
    fn holds(self, left: &Value, right: &Value) -> Result<bool, ValueError> {
        let order = if self.is_char { compare_char } else { compare };
        let order = order(left, right).ok_or_else(|| {
            error(
                SqlState::UNDEFINED_FUNCTION,
                "operator does not exist for these types",
            )
        })?;
        Ok(match self.operator {
            BinaryOperator::Equal => order == Ordering::Equal,
            BinaryOperator::NotEqual => order != Ordering::Equal,
            BinaryOperator::Less => order == Ordering::Less,
            BinaryOperator::LessOrEqual => order != Ordering::Greater,
            BinaryOperator::Greater => order == Ordering::Greater,
            BinaryOperator::GreaterOrEqual => order != Ordering::Less,
            BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Power
            | BinaryOperator::Concatenate
            | BinaryOperator::And
            | BinaryOperator::Or => unreachable!("only comparisons become relations"),
        })
    }
}

fn call(
    function: ScalarFunction,
    value: &Value,
    logical: LogicalType,
    row: &Row<'_>,
) -> Result<Value, ValueError> {
    let letters = row.context.letters;
    Ok(match function {
        ScalarFunction::Lower => Value::Text(letters.lower(text(value)?)?),
        ScalarFunction::Upper => Value::Text(letters.upper(text(value)?)?),
        ScalarFunction::Length => {
            let count = text(value)?.chars().count();
            Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
        }
        ScalarFunction::Trim => Value::Text(text(value)?.trim_matches(' ').to_owned()),
        ScalarFunction::Absolute => {
            if let Value::Float(number) = value {
                return Ok(Value::Float(number.abs()));
            }
            let zero = cast(
                Value::Integer(0),
                LogicalType::BigInt,
                logical,
                &TextContext::default(),
            )?;
            match compare(value, &zero) {
                Some(Ordering::Less) => negate(value, logical)?,
                _ => value.clone(),
            }
        }
    })
}

fn borrowed(value: &Option<Value>) -> Option<Cow<'_, Value>> {
    value.as_ref().map(Cow::Borrowed)
}

type Pair<'a> = (Cow<'a, Value>, Cow<'a, Value>);

fn both<'a>(
    left: &'a Node,
    right: &'a Node,
    row: &Row<'a>,
) -> Result<Option<Pair<'a>>, ValueError> {
    // Both are evaluated, since either may fail.
    let (left, right) = (left.value(row)?, right.value(row)?);
    Ok(left.zip(right))
}

fn text(value: &Value) -> Result<&str, ValueError> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(error(
            SqlState::UNDEFINED_FUNCTION,
            "operator does not exist for these types",
        )),
    }
}

fn unknown_column() -> ValueError {
    let message = "the proxy cannot compute with a column of this type beside protected ones";
    error(SqlState::FEATURE_NOT_SUPPORTED, message)
}
