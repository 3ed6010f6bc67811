//! The columns that an `INSERT` or `MERGE` through the finisher writes.

use sqlparser::ast::{Expr, ObjectName};
use sqlstate::SqlState;

use crate::{Column, Refusal, Schema, Table};
use sql_plan::{refuse, unsupported};

/// A column that is written.
pub(super) struct Target<'s> {
    pub name: ObjectName,
    pub column: &'s Column,
    pub value: Value,
}

/// What a column gets.
#[derive(Clone)]
pub(super) enum Value {
    /// A column of the finisher's answer.
    Computed,
    /// An expression that the server evaluates.
    Kept(Box<Expr>),
    /// `DEFAULT`
    Default,
}

/// A column of a table, by its name in a list of columns to write.
///
/// # Errors
/// There is none.
pub(super) fn column_of<'s>(
    name: &ObjectName,
    table: &'s Table,
    schema: &Schema,
) -> Result<&'s Column, Refusal> {
    let (None, own) = schema
        .dialect
        .split(name)
        .ok_or_else(|| unsupported("a computed name"))?
    else {
        return Err(unsupported("a field of a composite column"));
    };
    let index = table.position(&own).ok_or_else(|| {
        let message = format!("column {own:?} of relation {:?} does not exist", table.name);
        refuse(message).with_state(SqlState::UNDEFINED_COLUMN)
    })?;
    Ok(&table.columns[index])
}

/// Checks that a row has a value for each column.
///
/// # Errors
/// It has more or fewer.
pub(super) fn check_width(columns: usize, values: usize) -> Result<(), Refusal> {
    let message = match columns.cmp(&values) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "INSERT has more expressions than target columns",
        std::cmp::Ordering::Greater => "INSERT has more target columns than expressions",
    };
    Err(refuse(message).with_state(SqlState::SYNTAX_ERROR))
}
