//! `CREATE INDEX`

use sqlparser::ast::{CreateIndex, Expr, IndexColumn, ObjectName, Statement};

use super::indexed::{is_sorted, other_name, text_of};
use super::{
    constraint, emptied, find_known, pass, put_schema, refusal, refuse_reading, subject_of,
    written_as,
};
use crate::dialect::postgres::names::split;
use crate::schema::views::View;
use crate::{Mode, Plan, Refusal, Schema, Table};

/// Operator classes that serve LIKE and equality: on ciphertext only equality is left.
const PATTERN_CLASSES: &[&str] = &[
    "text_pattern_ops",
    "varchar_pattern_ops",
    "bpchar_pattern_ops",
];

pub(super) fn plan(create: &CreateIndex, schema: &Schema) -> Result<Plan, Refusal> {
    let name = &create.table_name;
    let Some(table) = find_known(name, "given an index before it is there", schema)? else {
        return Ok(pass());
    };
    if !table.is_protected() {
        refuse_reading(create, "CREATE INDEX", schema)?;
        return Ok(pass());
    }
    let view = View::of_table(schema, table);
    let mut anew = create.clone();
    anew.columns.clear();
    for column in &create.columns {
        if create.unique {
            check_unique(column, &view, table, schema)?;
        }
        anew.columns.extend(kept(column, create, &view, schema));
    }
    if let Some(predicate) = &create.predicate
        && !constraint::is_allowed(predicate, table, schema)
    {
        if create.unique {
            constraint::check_expression(predicate, "the condition of an index", table, schema)?;
        }
        anew.predicate = None;
    }
    if anew.columns.is_empty() && create.unique {
        // Only these kinds can be unique. In its own words the server refuses it.
        anew.columns.clone_from(&create.columns);
    }
    if anew.columns.is_empty() {
        anew = emptied::make(create, &view, table, schema)?;
    } else if create.name.is_none() && anew.columns.len() < create.columns.len() {
        return Err(other_name(table));
    }
    put_schema(&mut anew.table_name, &table.schema);
    let text = text_of(&anew);
    written_as(text, &Statement::CreateIndex(anew))
}

/// The column as it stands in the server's index. Left out is what the server finds nothing by:
/// ciphertexts of mode `random`, which sort by chance, what it would compute from ciphertext, and
/// what other kinds of indexes than these two make of it.
fn kept(
    column: &IndexColumn,
    create: &CreateIndex,
    view: &View<'_>,
    schema: &Schema,
) -> Option<IndexColumn> {
    let expr = &column.column.expr;
    let rule = match view.column(expr) {
        Some(Some(id)) => schema.column(id),
        Some(None) => return Some(column.clone()),
        None => return view.is_free(expr).then(|| column.clone()),
    };
    if rule.mode == Mode::Random || !is_sorted(create) {
        return None;
    }
    let mut column = column.clone();
    if let Some(class) = column.operator_class.take() {
        is_pattern(&class).then_some(())?;
    }
    Some(column)
}

/// A unique index says which values there may be, so nothing of it is left out.
fn check_unique(
    column: &IndexColumn,
    view: &View<'_>,
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    let expr = &column.column.expr;
    match view.column(expr) {
        Some(Some(id)) => {
            let rule = schema.column(id);
            constraint::check_unique(&rule.column, table, schema)?;
            match &column.operator_class {
                Some(class) if !is_pattern(class) => Err(refusal(
                    &subject_of(table, &rule.column),
                    &format!("the operator class {class} does not work on ciphertext"),
                    "Leave the operator class out.",
                )),
                _ => Ok(()),
            }
        }
        Some(None) => Ok(()),
        None => {
            constraint::check_expression(expr, "a unique index", table, schema)?;
            refuse_condition(expr, view, table)
        }
    }
}

fn is_pattern(class: &ObjectName) -> bool {
    let name = split(class).map(|(_, name)| name).unwrap_or_default();
    PATTERN_CLASSES.contains(&name.as_str())
}

/// `IS NULL` of a protected column is allowed in conditions, and has no use as a key.
fn refuse_condition(expr: &Expr, view: &View<'_>, table: &Table) -> Result<(), Refusal> {
    if view.is_free(expr) {
        return Ok(());
    }
    Err(refusal(
        &format!("protected table {}.{}", table.schema, table.name),
        "an index over an expression of protected columns would hold what is computed from \
         ciphertext",
        "Name the column itself.",
    ))
}
