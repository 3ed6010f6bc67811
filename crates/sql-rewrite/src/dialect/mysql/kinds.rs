//! Constants beside protected columns. A server gives a column and a constant of another kind a
//! common type and then finds more than equal values (`'1abc' = 1`): only a constant of the
//! column's own kind, in one full form, is the same value sealed and in clear.

use column_value::{LogicalType, ValueError, WholeType};
use semantics_mysql::{Given, bound, matched, stored_under};
use sql_plan::{refuse, unsupported};
use sqlstate::SqlState;

use super::{calculated, zone};
use crate::{
    Assignment, ColumnId, Expression, Form, Literal, Plan, ProtectedColumn, Purpose,
    ReadModifyWrite, Refusal, Schema, Source,
};

/// Lets a plan through whose sealed constants mean the same for their columns as for the server.
///
/// # Errors
/// One is of another kind, does not fit its column, or would have to be computed.
pub(crate) fn check(plan: &Plan, schema: &Schema) -> Result<(), Refusal> {
    let parts = match plan {
        Plan::One(translated, _) => vec![translated],
        Plan::ReadModifyWrite(modify) => {
            check_computed(modify, schema)?;
            vec![&modify.read, &modify.write]
        }
        Plan::Finish(finish) => vec![&finish.fetch],
        _ => return Ok(()),
    };
    let mut holes = parts.iter().flat_map(|part| &part.holes);
    holes.try_for_each(|hole| match (hole.form, &hole.source) {
        (Form::Plain, _) => Ok(()),
        (Form::Sealed(holder, Purpose::Store), Source::Members(members)) => {
            let group = schema.group_of(holder);
            let columns = group.map_or(&[][..], |group| &group.members);
            let mut members = members.iter().zip(columns);
            members
                .try_for_each(|(source, id)| check_constant(source, (*id, Purpose::Store), schema))
        }
        (Form::Sealed(id, purpose), source) => check_constant(source, (id, purpose), schema),
        (Form::SealedArray(..), _) => Err(unsupported("an array of sealed values")),
    })
}

/// Constants among what is computed for columns that are sealed together: they are stored as they
/// are, and the others are parts of numbers.
fn check_computed(modify: &ReadModifyWrite, schema: &Schema) -> Result<(), Refusal> {
    let mut assignments = modify.assignments.iter();
    assignments.try_for_each(|Assignment { column, value }| match value {
        Expression::Value(source, _) if schema.is_member(*column) => {
            check_constant(source, (*column, Purpose::Store), schema)
        }
        _ => Ok(()),
    })
}

fn check_constant(
    source: &Source,
    (id, purpose): (ColumnId, Purpose),
    schema: &Schema,
) -> Result<(), Refusal> {
    let column = schema.column(id);
    let given = match source {
        Source::Parameter(_) | Source::Literal(Literal::Null) => return Ok(()),
        // What the proxy computes, and what the server has given.
        Source::Computed(_) | Source::Locator(_) => return Ok(()),
        // It was looked at when it was found, and the session computes it.
        Source::Calculated(value, _)
            if matches!(purpose, Purpose::Match | Purpose::Bound) && calculated::is_sum(value) =>
        {
            return Ok(());
        }
        // The session reads it before it sends the statement.
        Source::Literal(Literal::TransactionTime)
            if purpose == Purpose::Store && is_of_moments(column.logical) =>
        {
            return Ok(());
        }
        Source::Literal(Literal::Number(digits)) => Given::Number(digits),
        Source::Literal(Literal::Text(text)) => Given::Text(text),
        Source::Literal(Literal::Bytes(bytes))
            if matches!(column.logical, LogicalType::Bytes | LogicalType::Bits(_)) =>
        {
            Given::Bytes(bytes)
        }
        _ => return Err(other_kind(column)),
    };
    let utc = zone::in_utc(given, column.logical, schema).map_err(|own| refusal(column, own))?;
    let given = utc.as_deref().map_or(given, Given::Text);
    let read = match purpose {
        Purpose::Store => stored_under(given, column.logical, schema.terms(id)).map(drop),
        Purpose::Match | Purpose::MatchEnd if column.form.tokens.is_some() => {
            semantics_mysql::matched_by_collation(given).map(drop)
        }
        Purpose::MatchEnd => return Err(other_kind(column)),
        Purpose::Match => matched(given, column.logical).map(drop),
        Purpose::Bound => bound(given, column.logical).map(drop),
    };
    read.map_err(|error| refusal(column, error))
}

fn is_of_moments(logical: LogicalType) -> bool {
    matches!(
        logical,
        LogicalType::Timestamp(_) | LogicalType::TimestampTz(_)
    )
}

fn refusal(column: &ProtectedColumn, error: ValueError) -> Refusal {
    let title = format!("{}.{}", column.table, column.column);
    let wrong_kind = other_kind(column);
    // It is of the column's kind where only its size is wrong.
    let is_too_much = matches!(
        error.sqlstate,
        SqlState::STRING_DATA_RIGHT_TRUNCATION
            | SqlState::NUMERIC_VALUE_OUT_OF_RANGE
            | SqlState::INVALID_PARAMETER_VALUE
            | SqlState::INVALID_DATETIME_FORMAT
    );
    Refusal {
        sqlstate: error.sqlstate,
        message: format!("protected column {title}: {}", error.message),
        hint: wrong_kind.hint.filter(|_| !is_too_much),
    }
}

fn other_kind(column: &ProtectedColumn) -> Refusal {
    let form = match column.logical {
        LogicalType::Date => "a text like '2024-12-31'",
        LogicalType::SignedTime(_) => "a text like '23:59:59'",
        LogicalType::Timestamp(_) | LogicalType::TimestampTz(_) => {
            "a text like '2024-12-31 23:59:59'"
        }
        LogicalType::Varchar(_) | LogicalType::Text | LogicalType::Bytes => "a text",
        LogicalType::Enum(_) => "one of its labels as a text, in the letters of its rule",
        LogicalType::Set(_) => {
            "labels with commas between them as a text, in the letters and the order of its rule"
        }
        LogicalType::Whole(WholeType::Year) => "a year of four digits",
        LogicalType::Bits(_) => "a whole number in digits, or bits like b'101'",
        _ => "a number in digits",
    };
    refuse(format!(
        "a constant of another kind beside protected column {}.{}, or a computed value",
        column.table, column.column
    ))
    .with_hint(&format!("Write {form}, or use a parameter."))
}
