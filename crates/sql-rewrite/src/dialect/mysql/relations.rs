//! Whether the tables of a statement are known.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Statement};
use sqlstate::SqlState;

use super::{MySql, names};
use crate::{Refusal, Schema, Table, walk};
use sql_plan::refuse;

/// Every table of a statement over a protected one is known: one that is not may be temporary, a
/// view, or of a database that the user may not see.
pub(super) fn check_relations(
    statement: &Statement,
    schema: &Schema,
    own: MySql,
) -> Result<(), Refusal> {
    if !crate::dialect::has_rows(statement) {
        return Ok(());
    }
    let checked = walk::relations(statement, |name| {
        let found = names::split(name, own)
            .and_then(|(database, table)| schema.find(database.as_deref(), &table));
        match check_relation(name, found, schema) {
            Ok(()) => ControlFlow::Continue(()),
            Err(refusal) => ControlFlow::Break(refusal),
        }
    });
    match checked {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

pub(super) fn check_relation(
    name: &ObjectName,
    found: Option<&Table>,
    schema: &Schema,
) -> Result<(), Refusal> {
    let known = found.filter(|table| table.opaque || !table.columns.is_empty());
    let Some(table) = known else {
        return Err(refuse(format!(
            "table {name} is not known to the proxy: it does not exist, is temporary or a view, or \
             has invisible columns or some with letters beyond ASCII"
        ))
        .with_state(SqlState::UNDEFINED_TABLE)
        .with_hint("Name the database before the table, or query the two one after the other."));
    };
    let own = (table.schema.clone(), table.name.clone());
    match (schema.closed.get(&own), table.opaque) {
        (Some(why), _) => Err(refuse(why.clone())),
        (None, true) => Err(
            refuse(format!("view {name} reads what is protected, or may do so"))
                .with_hint("Query the tables themselves."),
        ),
        (None, false) => Ok(()),
    }
}
