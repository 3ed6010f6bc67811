//! `CREATE INDEX`

use sqlparser::ast::{CreateIndex, Expr, IndexColumn, IndexType, Statement};

use super::{constraint, find_known, pass, put_schema, refusal, subject_of, written};
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
        return Ok(pass());
    }
    let mut anew = create.clone();
    anew.columns.clear();
    for column in &create.columns {
        anew.columns.extend(kept(column, create, table, schema)?);
    }
    if anew.columns.is_empty() {
        return Err(refusal(
            &format!("protected table {}.{}", table.schema, table.name),
            "an index over columns of mode \"random\" finds nothing",
            "Give a column of it mode = \"equality\" or \"order\", or leave the index out.",
        ));
    }
    if let Some(predicate) = &create.predicate {
        constraint::check_expression(predicate, "the condition of an index", table, schema)?;
    }
    put_schema(&mut anew.table_name, &table.schema);
    written(&Statement::CreateIndex(anew))
}

/// The column as it stands in the server's index. A column of mode `random` is left out: its
/// ciphertexts sort by chance, and would make the index larger and no better.
fn kept(
    column: &IndexColumn,
    create: &CreateIndex,
    table: &Table,
    schema: &Schema,
) -> Result<Option<IndexColumn>, Refusal> {
    let expr = &column.column.expr;
    let view = View::of_table(schema, table);
    let rule = match view.column(expr) {
        Some(Some(id)) => schema.column(id),
        Some(None) => return Ok(Some(column.clone())),
        None => {
            constraint::check_expression(expr, "an index", table, schema)?;
            refuse_condition(expr, &view, table)?;
            return Ok(Some(column.clone()));
        }
    };
    let subject = subject_of(table, &rule.column);
    if create.unique {
        constraint::check_unique(&rule.column, table, schema)?;
    }
    if !matches!(
        create.using,
        None | Some(IndexType::BTree | IndexType::Hash)
    ) {
        return Err(refusal(
            &subject,
            "only indexes of the kinds btree and hash work on ciphertext",
            "Leave USING out.",
        ));
    }
    if rule.mode == Mode::Random {
        return Ok(None);
    }
    let mut column = column.clone();
    if let Some(class) = &column.operator_class {
        let name = split(class).map(|(_, name)| name).unwrap_or_default();
        if !PATTERN_CLASSES.contains(&name.as_str()) {
            return Err(refusal(
                &subject,
                &format!("the operator class {class} does not work on ciphertext"),
                "Leave the operator class out.",
            ));
        }
        column.operator_class = None;
    }
    Ok(Some(column))
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
