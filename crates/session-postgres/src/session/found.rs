//! Rows to write, as the finisher has found them: their locators, then new values, which are
//! sealed.

use std::cmp::Ordering;

use column_value::{LogicalType, Value};
use semantics_postgres::{TextContext, assign, check_assignment};
use session_core::plans::TextPlan;
use session_core::{
    Changed, Sealed, StatementError, ValueFormat, seal_computed, seal_literal, store,
};
use sql_plan::{
    ColumnId, FinisherMerge, FinisherWrite, InsertedColumn, InsertedRows, Purpose, Upsert,
};
use sqlstate::SqlState;
use wire_postgres::backend;
use wire_postgres::{HEADER_SIZE, Header, values};

use super::arrays::ArrayBuilder;
use super::format::FormatCode;
use crate::finisher::FinisherRows;
use crate::server_types;

/// How many columns of the finisher's answer locate a row that is written.
const LOCATORS: usize = 2;
/// What the server says beside 42804.
const HINT: &str = "You will need to rewrite or cast the expression.";

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
    for (field, column) in fields[LOCATORS..].iter().zip(&write.columns) {
        check_type(plan, *column, field.type_oid)?;
    }
    let mut changed = Vec::new();
    each_row(rows, |row| {
        let [first, second, values @ ..] = row else {
            return Err(unasked());
        };
        let values = values.iter().zip(&fields[LOCATORS..]).zip(&write.columns);
        let values = values.map(|((value, field), column)| {
            assigned(plan, *column, (*value, field.type_oid), context)
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let sealed = seal_computed::<FormatCode>(&plan.loaded, &write.columns, values, context)?;
        changed.push(Changed {
            locators: [first.map(Into::into), second.map(Into::into)],
            computed: sealed,
        });
        Ok(())
    })?;
    Ok(changed)
}

/// Gives the rows of an answer one by one.
pub(super) fn each_row(
    rows: &FinisherRows,
    mut take: impl FnMut(&[Option<&[u8]>]) -> Result<(), StatementError>,
) -> Result<(), StatementError> {
    let mut left = rows.messages.as_slice();
    while !left.is_empty() {
        let header = Header::read(left, usize::MAX).ok().flatten();
        let size = header.map_or(0, |header| header.size);
        let message = left.get(HEADER_SIZE..size).ok_or_else(unasked)?;
        left = &left[size..];
        let row = backend::read_data_row(message).map_err(|_| unasked())?;
        let row: Vec<Option<&[u8]>> = row.iter().collect();
        take(&row)?;
    }
    Ok(())
}

/// The type of arrays of a type.
///
/// # Errors
/// It has none.
pub(super) fn array_type(element: u32) -> Result<u32, StatementError> {
    values::array_of(element).ok_or_else(|| {
        let message = "the finisher computes an array or a row for a column that is not \
                       protected, which is not supported";
        StatementError::unsupported(message).hint("Give the column a constant or a parameter.")
    })
}

/// The types of the arrays that insert rows, given the columns of the finisher's answer. 0: an
/// array of sealed values.
///
/// # Errors
/// The answer has other columns than the statement inserts, or values that come in no array.
pub(super) fn array_types(
    plan: &TextPlan,
    inserted: &InsertedRows,
    row_description: &[u8],
) -> Result<Vec<u32>, StatementError> {
    let fields = backend::read_row_description(row_description).map_err(|_| unasked())?;
    let message = match fields.len().cmp(&inserted.width) {
        Ordering::Less => "INSERT has more target columns than expressions",
        Ordering::Greater => "INSERT has more expressions than target columns",
        Ordering::Equal => "",
    };
    if !message.is_empty() {
        return Err(StatementError::statement(SqlState::SYNTAX_ERROR, message));
    }
    let types = inserted.columns.iter().map(|column| match column {
        InsertedColumn::Plain(answer) => {
            let field = fields.get(*answer).ok_or_else(unasked)?;
            array_type(field.type_oid)
        }
        InsertedColumn::Sealed(_, id) | InsertedColumn::Default(_, id) => {
            let server_type = plan.loaded.schema.column(*id).server_type();
            Ok(server_types::array_number(server_type))
        }
    });
    types.collect()
}

/// The arrays that insert the rows of the finisher's answer. None: they would take more than so
/// many bytes.
///
/// # Errors
/// A value cannot be assigned to its column, as the server would say.
pub(super) fn read_inserted(
    plan: &TextPlan,
    inserted: &InsertedRows,
    rows: &FinisherRows,
    (context, bytes_max): (&TextContext, usize),
) -> Result<Option<Sealed>, StatementError> {
    let (fields, elements) = element_types(plan, inserted, rows)?;
    let elements = elements.into_iter();
    let mut arrays: Vec<ArrayBuilder> = elements.map(ArrayBuilder::new).collect();
    let mut is_too_large = false;
    each_row(rows, |row| {
        if row.len() != inserted.width {
            return Err(unasked());
        }
        if is_too_large {
            return Ok(());
        }
        for (column, array) in inserted.columns.iter().zip(&mut arrays) {
            let value = cell(plan, column, (row, &fields), context)?;
            array.push(value.as_ref().map_or(0, |value| value.len()), |out| {
                out.extend_from_slice(value.as_deref().unwrap_or_default());
                Ok::<_, StatementError>(value.is_some())
            })?;
        }
        let size: usize = arrays.iter().map(ArrayBuilder::size).sum();
        is_too_large = size > bytes_max;
        Ok(())
    })?;
    let arrays = arrays.into_iter();
    let values = arrays.map(|array| Some(array.into_value().into_boxed_slice()));
    Ok((!is_too_large).then(|| values.collect()))
}

/// The columns of the finisher's answer, and the types of single values that the server gets.
///
/// # Errors
/// The answer has other columns than the statement takes.
pub(super) fn element_types<'r>(
    plan: &TextPlan,
    inserted: &InsertedRows,
    rows: &'r FinisherRows,
) -> Result<(Vec<backend::Field<'r>>, Vec<u32>), StatementError> {
    let fields = backend::read_row_description(&rows.row_description).map_err(|_| unasked())?;
    array_types(plan, inserted, &rows.row_description)?;
    let elements = inserted.columns.iter().map(|column| {
        if let InsertedColumn::Sealed(answer, id) = column {
            let field = fields.get(*answer).ok_or_else(unasked)?;
            check_type(plan, *id, field.type_oid)?;
        }
        match column {
            InsertedColumn::Plain(answer) => {
                let field = fields.get(*answer).ok_or_else(unasked)?;
                Ok(field.type_oid)
            }
            InsertedColumn::Sealed(_, id) | InsertedColumn::Default(_, id) => {
                let server_type = plan.loaded.schema.column(*id).server_type();
                Ok(server_types::number(server_type))
            }
        }
    });
    let elements = elements.collect::<Result<_, StatementError>>()?;
    Ok((fields, elements))
}

/// The number of the clause of `MERGE` that applies to a row of the finisher's answer.
pub(super) fn number_of_clause(row: &[Option<&[u8]>]) -> Option<usize> {
    let bytes: &[u8] = row.get(FinisherMerge::NUMBER).copied()??;
    let number = i32::from_be_bytes(bytes.try_into().ok()?);
    usize::try_from(number).ok()
}

/// The types of the plain values that a statement takes of a row that was to be inserted, behind
/// the computed ones.
pub(super) fn passed_types(
    upsert: &Upsert,
    inserted: &InsertedRows,
    row_description: &[u8],
) -> Vec<u32> {
    let fields = backend::read_row_description(row_description).unwrap_or_default();
    let passed = upsert.passed.iter().map(|index| {
        let field = match inserted.columns.get(*index) {
            Some(InsertedColumn::Plain(answer)) => fields.get(*answer),
            _ => None,
        };
        field.map_or(0, |field| field.type_oid)
    });
    let computed = std::iter::repeat_n(0, upsert.columns.len());
    computed.chain(passed).collect()
}

/// The numbers of pairs of rows and their new values, from the finisher's answer.
///
/// # Errors
/// A value cannot be assigned to its column, as the server would say.
pub(super) fn read_pairs(
    plan: &TextPlan,
    upsert: &Upsert,
    rows: &FinisherRows,
    context: &TextContext,
) -> Result<Vec<(usize, Sealed)>, StatementError> {
    let fields = backend::read_row_description(&rows.row_description).map_err(|_| unasked())?;
    if fields.len() != upsert.columns.len() + 1 {
        return Err(unasked());
    }
    let mut pairs = Vec::new();
    each_row(rows, |row| {
        let [Some(number), values @ ..] = row else {
            return Err(unasked());
        };
        let number = <[u8; 4]>::try_from(*number).map_err(|_| unasked())?;
        let number = usize::try_from(i32::from_be_bytes(number)).map_err(|_| unasked())?;
        let values = values.iter().zip(&fields[1..]).zip(&upsert.columns);
        let sealed = values.map(|((value, field), column)| {
            seal_assigned(plan, *column, (*value, field.type_oid), context)
        });
        pairs.push((number, sealed.collect::<Result<_, _>>()?));
        Ok(())
    })?;
    Ok(pairs)
}

/// The value of a row for a column, as the server gets it.
pub(super) fn cell(
    plan: &TextPlan,
    column: &InsertedColumn,
    (row, fields): (&[Option<&[u8]>], &[backend::Field]),
    context: &TextContext,
) -> Result<Option<Box<[u8]>>, StatementError> {
    let value = |answer: usize| row.get(answer).copied().ok_or_else(unasked);
    match column {
        InsertedColumn::Plain(answer) => Ok(value(*answer)?.map(Into::into)),
        InsertedColumn::Sealed(answer, id) => {
            let field = fields.get(*answer).ok_or_else(unasked)?;
            seal_assigned(plan, *id, (value(*answer)?, field.type_oid), context)
        }
        InsertedColumn::Default(literal, id) => {
            let mut sealed = Vec::new();
            let target = (*id, Purpose::Store);
            Ok(
                seal_literal::<FormatCode>(&plan.loaded, literal, target, context, &mut sealed)?
                    .then(|| sealed.into_boxed_slice()),
            )
        }
    }
}

/// Refuses a type whose values the column does not take, as the server does before it has a row.
/// Returns the type.
pub(super) fn check_type(
    plan: &TextPlan,
    column: ColumnId,
    type_oid: u32,
) -> Result<LogicalType, StatementError> {
    let own = plan.loaded.schema.column(column);
    let from = values::logical(type_oid, -1).ok_or_else(|| {
        let message = format!(
            "column \"{}\" is of type {} but expression is of another type",
            own.column, own.logical
        );
        StatementError::statement(SqlState::DATATYPE_MISMATCH, message).hint(HINT)
    })?;
    let checked = check_assignment(&own.column, from, own.logical);
    checked.map_err(|error| StatementError::from(error).hint(HINT))?;
    Ok(from)
}

/// A value as the server would assign it to a column, sealed. None: NULL.
pub(super) fn seal_assigned(
    plan: &TextPlan,
    column: ColumnId,
    (value, type_oid): (Option<&[u8]>, u32),
    context: &TextContext,
) -> Result<Option<Box<[u8]>>, StatementError> {
    let Some(value) = assigned(plan, column, (value, type_oid), context)? else {
        return Ok(None);
    };
    let mut sealed = Vec::new();
    store::<FormatCode>(&plan.loaded, column, &value, context, &mut sealed)?;
    Ok(Some(sealed.into_boxed_slice()))
}

/// A value as the server would assign it to a column. None: NULL.
fn assigned(
    plan: &TextPlan,
    column: ColumnId,
    (value, type_oid): (Option<&[u8]>, u32),
    context: &TextContext,
) -> Result<Option<Value>, StatementError> {
    let own = plan.loaded.schema.column(column);
    let from = check_type(plan, column, type_oid)?;
    let Some(bytes) = value else {
        return Ok(None);
    };
    let value = FormatCode::BINARY.read(bytes, from, context)?;
    Ok(Some(assign(value, from, own.logical, context)?))
}

/// The finisher does not keep to the protocol.
pub(super) fn unasked() -> StatementError {
    StatementError::defect("the finisher answers what it was not asked")
}
