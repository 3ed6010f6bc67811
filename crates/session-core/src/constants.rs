//! Constants and values on their way into statements: read and sealed.

use std::iter;

use column_value::{LogicalType, Value, ValueError};
use semantics_postgres::{CheckOf, TextContext, ValueText, assign, cast};
use sql_plan::{ColumnId, Literal, Purpose};
use sqlstate::SqlState;
use zeroize::Zeroize;

use crate::loaded::Loaded;
use crate::value_format::ValueFormat;

/// A message to the server has become so long, while it is written: sealed, short values have many
/// times their size.
///
/// # Errors
/// The server would not take it.
pub fn check_size<F: ValueFormat>(size: usize) -> Result<(), ValueError> {
    if size <= F::MESSAGE_SIZE_MAX {
        return Ok(());
    }
    Err(ValueError {
        sqlstate: SqlState::PROGRAM_LIMIT_EXCEEDED,
        message: "the values of the statement are longer, sealed, than a message to the server \
                  may be: split it, or use COPY"
            .to_owned(),
    })
}

/// Seals a constant. False: it is NULL.
///
/// # Errors
/// It is no value of the column.
pub fn seal_literal<F: ValueFormat>(
    loaded: &Loaded,
    literal: &Literal,
    (column, purpose): (ColumnId, Purpose),
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<bool, ValueError> {
    let logical = loaded.schema.column(column).logical;
    if *literal == Literal::Drawn {
        let number = context.drawn.take(column.0).ok_or_else(|| ValueError {
            // Nothing was asked for in a transaction that has failed.
            sqlstate: SqlState::IN_FAILED_SQL_TRANSACTION,
            message: "current transaction is aborted, commands ignored until end of transaction \
                      block"
                .to_owned(),
        })?;
        let value = (Value::Integer(number), LogicalType::BigInt);
        seal::<F>(loaded, (column, purpose), value, context, out)?;
        return Ok(true);
    }
    let (Some(value), from) = read_literal(literal, logical, context)? else {
        return Ok(false);
    };
    seal::<F>(loaded, (column, purpose), (value, from), context, out)?;
    Ok(true)
}

/// The value of a constant, a text taken for one of a type, and its type. None: NULL.
///
/// # Errors
/// It is no value of the type.
pub fn read_literal(
    literal: &Literal,
    logical: LogicalType,
    context: &TextContext,
) -> Result<(Option<Value>, LogicalType), ValueError> {
    let (value, own) = match literal {
        Literal::Null => return Ok((None, logical)),
        Literal::Drawn => {
            return Err(ValueError {
                sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
                message: "the next value of a sequence is stored, and not computed with".to_owned(),
            });
        }
        Literal::Boolean(truth) => (Value::Boolean(*truth), LogicalType::Boolean),
        Literal::Number(digits) => Value::from_number(digits)?,
        Literal::Bytes(bytes) => (Value::Bytes(bytes.clone()), LogicalType::Bytes),
        Literal::Text(text) => (Value::from_text(text, logical, context)?, logical),
        Literal::TransactionTime => (
            Value::Timestamp(context.now),
            LogicalType::TimestampTz(None),
        ),
    };
    Ok((Some(value), own))
}

/// Seals a value of a type for its purpose in a column.
///
/// # Errors
/// It is no value of the column, or cannot be compared with it.
pub fn seal<F: ValueFormat>(
    loaded: &Loaded,
    (column, purpose): (ColumnId, Purpose),
    (value, from): (Value, LogicalType),
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let to = loaded.schema.column(column).logical;
    match purpose {
        Purpose::Store => {
            let value = assign(value, from, to, context)?;
            store::<F>(loaded, column, &value, context, out)
        }
        Purpose::Match | Purpose::MatchEnd | Purpose::Bound => {
            let value = compared(value, from, to, context)?;
            loaded.sealer.seal(column, purpose, &value, out)
        }
    }
}

/// Seals a value as its column stores it. One that fails a check constraint gets the mark of the
/// first, in the order of their names: the server refuses it where it would refuse the value.
///
/// # Errors
/// It is no value of the column, or nobody has evaluated the constraints for it.
pub fn store<F: ValueFormat>(
    loaded: &Loaded,
    column: ColumnId,
    value: &Value,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let own = loaded.schema.column(column);
    let start = out.len();
    loaded.sealer.seal(column, Purpose::Store, value, out)?;
    if !own.checks.are_in_table {
        return Ok(());
    }
    let mut mark = None;
    if own.is_checked() {
        let mut bytes = Vec::new();
        F::BINARY.write(value, own.logical, context, &mut bytes)?;
        // A value that is kept unread is not known before its form is.
        let is_unknown =
            context.opaque.is_noting() && matches!(value, Value::Opaque(bytes) if bytes.is_empty());
        for (index, check) in (0..).zip(&own.checks.own).filter(|_| !is_unknown) {
            let asked = CheckOf {
                column: column.0,
                index,
                logical: own.logical,
            };
            // All are asked for at once.
            if !context.opaque.passes(asked, &bytes)? && mark.is_none() {
                mark = Some(check.mark);
            }
        }
        bytes.zeroize();
    }
    if let Some(mark) = mark {
        // A guard refuses such a header, should the check not be there.
        let header = own.layout().mode.marked_header();
        out.splice(start..=start, iter::once(header).chain(mark));
    }
    if !context.opaque.is_noting() {
        context.noted.note(&out[start..], column.0, value);
    }
    Ok(())
}

/// Seals values that were computed for columns of a row. Those that are sealed together are one,
/// in the place of the column that has it.
///
/// # Errors
/// One is no value of its column.
pub fn seal_computed<F: ValueFormat>(
    loaded: &Loaded,
    columns: &[ColumnId],
    mut values: Vec<Option<Value>>,
    context: &TextContext,
) -> Result<Vec<Option<Box<[u8]>>>, ValueError> {
    let mut sealed: Vec<Option<Box<[u8]>>> = Vec::with_capacity(columns.len());
    for (place, column) in columns.iter().enumerate() {
        let mut out = Vec::new();
        let has_value = match loaded.schema.group_of(*column) {
            None => match &values[place] {
                Some(value) => {
                    store::<F>(loaded, *column, value, context, &mut out).map(|()| true)?
                }
                None => false,
            },
            Some(group) if group.holder() == Some(*column) => {
                let place = |own: &ColumnId| columns.iter().position(|column| column == own);
                let members = group.members.iter();
                let members: Vec<Option<Value>> = members
                    .map(|own| place(own).and_then(|place| values[place].take()))
                    .collect();
                seal_together(loaded, *column, &members, &mut out)?
            }
            Some(_) => false,
        };
        sealed.push(has_value.then(|| out.into_boxed_slice()));
    }
    Ok(sealed)
}

/// Seals the values of the members of a group, in their order. False: NULL stands for them.
///
/// That is so where one is NULL that must not be: the column that has the values is NOT NULL then,
/// and the server refuses the row where it would refuse it in clear. NULLs alone are sealed as
/// other values are: the guard compares with how many members that was done.
///
/// # Errors
/// One is no value of its column.
pub fn seal_together(
    loaded: &Loaded,
    holder: ColumnId,
    values: &[Option<Value>],
    out: &mut Vec<u8>,
) -> Result<bool, ValueError> {
    let group = loaded.schema.group_of(holder);
    let members = group.map(|own| own.members.as_slice()).unwrap_or_default();
    let mut lacking = values.iter().zip(members);
    let lacks = |(value, id): (&Option<Value>, &ColumnId)| {
        value.is_none() && loaded.schema.column(*id).not_null
    };
    if lacking.any(lacks) {
        return Ok(false);
    }
    loaded.sealer.seal_group(holder, values, out).map(|()| true)
}

/// A value that is compared with those of a type: a moment and a time of the clock stand to each
/// other as the clock of the session shows them, and only between equal types by what is stored.
///
/// Blanks at the end of a `char` are no part of it, nor has it any beside a `text`, which keeps its
/// own. Beside a `varchar`, both lose theirs, and values that are sealed cannot. A `text` that ends
/// with blanks is equal to no `char` by `=`, but may be to some by `IN` with several values: the
/// server makes `char` of those, and here both look the same.
fn compared(
    value: Value,
    from: LogicalType,
    to: LogicalType,
    context: &TextContext,
) -> Result<Value, ValueError> {
    use LogicalType as T;
    match (from, to) {
        // What is compared is not rounded.
        (T::Date | T::Timestamp(_), T::TimestampTz(_)) => {
            cast(value, from, T::TimestampTz(None), context)
        }
        (T::Char(_), T::Text) => cast(value, from, to, context),
        (T::TimestampTz(_), T::Date | T::Timestamp(_)) => match value {
            Value::Timestamp(moment) => {
                let local = context.time_zone.only_local_of(moment);
                local.map(Value::Timestamp).ok_or_else(|| ValueError {
                    sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
                    message: format!(
                        "a timestamptz is compared with a column of type {to} as the clock of \
                         TimeZone shows it, and around this moment the clock is changed: compare \
                         with a timestamp, or set TimeZone to UTC"
                    ),
                })
            }
            value => Ok(value),
        },
        (T::Text, T::Char(_)) => match value {
            Value::Text(text) if text.ends_with(' ') => Err(ValueError {
                sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
                message: format!(
                    "a text that ends with blanks is compared with a column of type {to}, which \
                     has none at its end: leave them out, or pass the value as varchar, beside \
                     which they do not count"
                ),
            }),
            value => Ok(value),
        },
        (T::Char(_), T::Varchar(_)) => Err(ValueError {
            sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
            message: format!(
                "a char is compared with a column of type {to} without the blanks that its values \
                 end with, which are sealed with them: pass the value as text or varchar"
            ),
        }),
        _ => Ok(value),
    }
}
