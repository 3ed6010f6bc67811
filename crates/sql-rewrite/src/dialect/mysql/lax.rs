//! Statements in an SQL mode that is not strict, as dumps and programs that make them set it. The
//! server then cuts values, and puts an empty one in the place of NULL: columns are wide enough for
//! sealed values, but an empty one is no sealed value.

use sqlparser::ast::{
    Expr, Insert, ObjectName, Parens, SetExpr, Statement, TableObject, UnaryOperator, Value,
};

use super::{ModeError, MySql, names};
use crate::{Refusal, Schema, Table};
use sql_plan::unsupported;

/// Lets a statement through that means the same as in a strict mode, as far as protected columns
/// are concerned.
///
/// # Errors
/// The server could store something that is not sealed.
pub(super) fn check(statement: &Statement, schema: &Schema, own: MySql) -> Result<(), Refusal> {
    let is_same = match statement {
        Statement::Query(_)
        | Statement::CreateTable(_)
        | Statement::Drop { .. }
        | Statement::Truncate(_) => true,
        Statement::Insert(insert) => gives_constants(insert, schema, own).unwrap_or(false),
        _ => false,
    };
    match is_same {
        true => Ok(()),
        false => Err(unsupported(&ModeError::NotStrict.to_string()).with_hint(
            "Without a strict mode only SELECT and CREATE TABLE work, and INSERT of constants that \
             are not NULL into protected columns that are NOT NULL.",
        )),
    }
}

/// Whether each row has a constant for each protected column that is `NOT NULL`.
fn gives_constants(insert: &Insert, schema: &Schema, own: MySql) -> Option<bool> {
    let TableObject::TableName(name) = &insert.table else {
        return None;
    };
    let (database, table) = names::split(name, own)?;
    let table = schema.find(database.as_deref(), &table)?;
    let SetExpr::Values(values) = &*insert.source.as_ref()?.body else {
        return None;
    };
    // Values of other rows may be NULL.
    let is_plain = insert.on.is_none();
    let columns = (table, &insert.columns[..]);
    Some(is_plain && gives_all(columns, &values.rows, is_constant, schema))
}

/// Whether each row has such a value for each protected column that is `NOT NULL`, or its default.
pub(super) fn gives_all(
    (table, columns): (&Table, &[ObjectName]),
    rows: &[Parens<Vec<Expr>>],
    is_given: impl Fn(&Expr) -> bool,
    schema: &Schema,
) -> bool {
    let named = |name: &ObjectName| name.0.last()?.as_ident().map(names::fold);
    let given: Vec<Option<String>> = columns.iter().map(named).collect();
    let mut needed = table.columns.iter().enumerate();
    needed.all(|(index, column)| {
        let Some(id) = column.protected.filter(|_| column.not_null) else {
            return true;
        };
        let is_it = |own: &Option<String>| own.as_ref() == Some(&column.name);
        let place = match given.is_empty() {
            true => Some(index),
            false => given.iter().position(is_it),
        };
        let mut rows = rows.iter();
        match place {
            None => schema.column(id).default.is_some(),
            Some(at) => rows.all(|row| row.content.get(at).is_some_and(&is_given)),
        }
    })
}

pub(super) fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => matches!(
            value.value,
            Value::Number(..) | Value::SingleQuotedString(_) | Value::Boolean(_)
        ),
        Expr::Prefixed { .. } => true,
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => is_constant(expr),
        _ => false,
    }
}
