//! Rows to write, as the finisher has found them: their locators, then new values, which are
//! sealed.

use semantics_postgres::{TextContext, assign};
use session_core::plans::TextPlan;
use session_core::{Changed, StatementError, ValueFormat};
use sql_plan::{ColumnId, FinisherWrite, Purpose};
use sqlstate::SqlState;
use wire_postgres::backend;
use wire_postgres::{HEADER_SIZE, Header, values};

use super::format::FormatCode;
use crate::finisher::FinisherRows;

/// How many columns of the finisher's answer locate a row that is written.
const LOCATORS: usize = 2;

/// The rows to write, from the finisher's answer.
///
/// # Errors
/// A value cannot be assigned to its column, as the server would say.
pub(super) fn read_changes(
    plan: &TextPlan,
    write: &FinisherWrite,
    rows: &FinisherRows,
    context: &TextContext,
) -> Result<Vec<Changed>, StatementError> {
    let fields = backend::read_row_description(&rows.row_description).map_err(|_| unasked())?;
    if fields.len() != LOCATORS + write.columns.len() {
        return Err(unasked());
    }
    let mut changed = Vec::new();
    let mut left = rows.messages.as_slice();
    while !left.is_empty() {
        let header = Header::read(left, usize::MAX).ok().flatten();
        let size = header.map_or(0, |header| header.size);
        let message = left.get(HEADER_SIZE..size).ok_or_else(unasked)?;
        left = &left[size..];
        let row = backend::read_data_row(message).map_err(|_| unasked())?;
        let row: Vec<Option<&[u8]>> = row.iter().collect();
        let [first, second, values @ ..] = row.as_slice() else {
            return Err(unasked());
        };
        let values = values.iter().zip(&fields[LOCATORS..]).zip(&write.columns);
        let sealed = values.map(|((value, field), column)| {
            seal_assigned(plan, *column, (*value, field.type_oid), context)
        });
        changed.push(Changed {
            locators: [first.map(Into::into), second.map(Into::into)],
            computed: sealed.collect::<Result<_, _>>()?,
        });
    }
    Ok(changed)
}

/// A value as the server would assign it to a column, sealed. None: NULL.
fn seal_assigned(
    plan: &TextPlan,
    column: ColumnId,
    (value, type_oid): (Option<&[u8]>, u32),
    context: &TextContext,
) -> Result<Option<Box<[u8]>>, StatementError> {
    let own = plan.loaded.schema.column(column);
    let from = values::logical(type_oid, -1).ok_or_else(|| {
        let message = format!(
            "column \"{}\" is of type {} but expression is of another type",
            own.column, own.logical
        );
        StatementError::statement(SqlState::DATATYPE_MISMATCH, message)
            .hint("You will need to rewrite or cast the expression.")
    })?;
    let Some(bytes) = value else {
        return Ok(None);
    };
    let value = FormatCode::BINARY.read(bytes, from, context)?;
    let value = assign(value, from, own.logical, context)?;
    let mut sealed = Vec::new();
    let sealer = &plan.loaded.sealer;
    sealer.seal(column, Purpose::Store, &value, &mut sealed)?;
    Ok(Some(sealed.into_boxed_slice()))
}

/// The finisher does not keep to the protocol.
pub(super) fn unasked() -> StatementError {
    StatementError::defect("the finisher answers what it was not asked")
}
