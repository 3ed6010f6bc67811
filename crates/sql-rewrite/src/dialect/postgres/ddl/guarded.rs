//! Guards of tables that a statement creates or changes: see
//! [`crate::dialect::postgres::table_guard`].

use sqlparser::ast::{
    AlterTable, AlterTableOperation, CheckConstraint, ColumnDef, CreateTable, Ident,
    TableConstraint,
};

use super::{refusal, unknown};
use crate::dialect::postgres::names::{folded, quoted};
use crate::dialect::postgres::parse;
use crate::dialect::postgres::table_guard::{self, TableGuard};
use crate::schema::Guard;
use crate::{Refusal, Schema, Table};

/// The guard of a table that is made. Its parents give their own to it.
pub(super) fn of_new(
    create: &CreateTable,
    table: &Table,
    schema: &Schema,
) -> Result<Option<TableConstraint>, Refusal> {
    match schema.leaves_guards_out {
        true => Ok(None),
        false => constraint(&declared(&create.columns), table, schema),
    }
}

fn declared<'a>(columns: impl IntoIterator<Item = &'a ColumnDef>) -> Vec<String> {
    let columns = columns.into_iter();
    columns.map(|column| folded(&column.name)).collect()
}

/// What an `ALTER TABLE` is to do beside, so that what was guarded is so afterwards, and columns
/// that come are. The server drops a check with each column that it reads.
///
/// Rows from before are not looked for: a new column is NULL in them, and the others have been
/// guarded.
///
/// If a check of a rule is added, no row is there. The guard is then to come after it, and has
/// another name.
pub(super) fn of_changed(
    alter: &AlterTable,
    adds_check: bool,
    table: &Table,
    schema: &Schema,
) -> Result<Vec<AlterTableOperation>, Refusal> {
    let operations = || alter.operations.iter();
    let dropped: Vec<String> = operations()
        .filter_map(|own| match own {
            AlterTableOperation::DropColumn { column_names, .. } => Some(column_names),
            _ => None,
        })
        .flatten()
        .map(folded)
        .collect();
    let added = operations().filter_map(|own| match own {
        AlterTableOperation::AddColumn { column_def, .. } => Some(column_def),
        _ => None,
    });
    let is_early = |guard: &Guard| adds_check && !table_guard::is_last(&guard.name);
    let goes =
        |guard: &&Guard| is_early(guard) || guard.columns.iter().any(|own| dropped.contains(own));
    let own = schema.guards.iter().filter(|guard| guard.is_of(table));
    let (gone, kept): (Vec<&Guard>, Vec<&Guard>) = own.partition(goes);
    let left = gone.iter().map(|guard| {
        let columns = guard.columns.iter();
        columns
            .filter(|own| !dropped.contains(*own))
            .cloned()
            .collect()
    });
    let added = match schema.leaves_guards_out {
        true => Vec::new(),
        false => declared(added),
    };
    let mut guarded: Vec<Vec<String>> = [added].into_iter().chain(left).collect();
    for columns in &mut guarded {
        columns.retain(|own| !kept.iter().any(|guard| guard.columns.contains(own)));
    }
    // A guard compares members of groups that were the last ones when it was made.
    if !schema.has_groups(table) {
        guarded = vec![guarded.concat()];
    }
    let early = gone.iter().filter(|guard| is_early(guard));
    let mut changes: Vec<AlterTableOperation> = early
        .map(|guard| AlterTableOperation::DropConstraint {
            // The server drops it with a column.
            if_exists: true,
            name: quoted(&guard.name),
            drop_behavior: None,
        })
        .collect();
    for columns in guarded {
        let constraint = constraint(&columns, table, schema)?;
        changes.extend(
            constraint.map(|constraint| AlterTableOperation::AddConstraint {
                constraint,
                not_valid: !adds_check,
            }),
        );
    }
    Ok(changes)
}

/// The guard of those of these columns that are protected; None: none is.
fn constraint(
    columns: &[String],
    table: &Table,
    schema: &Schema,
) -> Result<Option<TableConstraint>, Refusal> {
    let Some(guard) = TableGuard::new(schema.guarded(table, columns)) else {
        return Ok(None);
    };
    let text = guard.condition();
    let condition = parse::expression(&text);
    let Some(condition) = condition.filter(|own| own.to_string() == text) else {
        return Err(unknown("a column of such a name"));
    };
    Ok(Some(TableConstraint::Check(CheckConstraint {
        name: Some(quoted(&guard.name())),
        expr: Box::new(condition),
        no_inherit: false,
        enforced: None,
    })))
}

/// The guard of a table that a statement has made.
pub(super) fn made(create: &CreateTable, table: &Table, schema: &Schema) -> Option<Guard> {
    let mut columns = declared(&create.columns);
    columns.retain(|own| {
        let at = table.position(own);
        at.is_some_and(|at| table.columns[at].protected.is_some())
    });
    let guard = TableGuard::new(schema.guarded(table, &columns));
    let guard = guard.filter(|_| !schema.leaves_guards_out)?;
    Some(Guard {
        oid: 0,
        relation: table.oid,
        schema: table.schema.clone(),
        table: table.name.clone(),
        name: guard.name(),
        columns,
        is_valid: true,
    })
}

/// Whether it could be the name of a guard.
pub(super) fn is_name(name: &Ident) -> bool {
    table_guard::is_name(&folded(name))
}

/// Refuses the name of a guard: what has it is the proxy's.
pub(super) fn refuse_name(name: &Ident, table: &Table) -> Result<(), Refusal> {
    if !table.is_protected() || !is_name(name) {
        return Ok(());
    }
    Err(refusal(
        &format!("protected table {}.{}", table.schema, table.name),
        &format!("the constraint {name} has the name of a guard, which the proxy adds by itself"),
        "Give the constraint another name. A guard can be dropped at the server itself; `guard = \
         false` below [proxy] makes tables without one.",
    ))
}

#[cfg(test)]
mod tests;
