//! The schema after a DDL statement, for the statements that follow it in the same text.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AlterTableOperation, CreateView, ObjectType, Query, SelectItem, SetExpr, Statement,
};

use super::{checked, create, find, guarded, own_name};
use crate::dialect::postgres::names::folded;
use crate::dialect::postgres::output_names::output_name;
use crate::schema::views::{shown_by_query, takes_rows};
use crate::walk;
use crate::{Column, ColumnId, RelationKind, Schema, Table};

/// The schema after a statement that names a protected table. None: it is not known before the
/// statement has been executed.
pub(crate) fn after<'s>(
    statement: &Statement,
    schema: &Cow<'s, Schema>,
) -> Option<Cow<'s, Schema>> {
    let made = match statement {
        Statement::CreateTable(table) => create::described(table, schema),
        Statement::CreateView(view) => described_view(view, schema),
        _ if keeps_names(statement) => return Some(schema.clone()),
        _ => return None,
    };
    let mut made = made?;
    let mut schema = schema.clone().into_owned();
    let name = (made.schema.clone(), made.name.clone());
    if let Statement::CreateTable(_) = statement {
        // The order of its columns may be another one, if it was dropped before.
        schema.dissolve_groups(&made);
    }
    let there = schema.tables.get(&name);
    let replaces = matches!(statement, Statement::CreateView(view) if view.or_replace);
    made.has_triggers |= replaces && there.is_some_and(|there| there.has_triggers);
    let is_there = there.filter(|there| there.oid != 0);
    if let (true, Some(there)) = (may_be_there(statement), is_there) {
        // It remains, unless an earlier statement of the text has dropped it.
        return has_columns_of(there, &made).then_some(Cow::Owned(schema));
    }
    // What was there has been dropped, or the statement fails.
    if let Statement::CreateTable(create) = statement {
        let guard = guarded::made(create, &made, &schema);
        schema.guards.retain(|own| !own.is_of(&made));
        schema.guards.extend(guard);
        checked::note_made(create, &made, &mut schema);
    }
    schema.tables.insert(name.clone(), made);
    if let Statement::CreateView(view) = statement
        && takes_rows(&view.query)
    {
        let reads = relations(&view.query, &schema);
        schema.note_hidden_defaults(&name, &reads);
    }
    Some(Cow::Owned(schema))
}

/// Whether names mean after a statement what they meant before, or nothing.
fn keeps_names(statement: &Statement) -> bool {
    match statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Copy { .. }
        | Statement::Explain { .. }
        | Statement::Prepare { .. }
        | Statement::Declare { .. }
        | Statement::Truncate(_)
        | Statement::Comment { .. }
        | Statement::Grant(_)
        | Statement::Revoke(_)
        | Statement::CreateIndex(_)
        | Statement::AlterIndex { .. }
        | Statement::Drop {
            object_type: ObjectType::Table | ObjectType::View | ObjectType::Index,
            ..
        } => true,
        // A key more than is known of harms nothing.
        Statement::AlterTable(alter) => alter.operations.iter().all(|one| match one {
            AlterTableOperation::AddConstraint { constraint, .. } => !checked::may_be(constraint),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether a statement leaves a relation of the name that is there (`IF NOT EXISTS`).
fn may_be_there(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTable(table) => table.if_not_exists,
        Statement::CreateView(view) => view.if_not_exists,
        _ => false,
    }
}

/// Whether two relations have the same columns, protected by the same rules.
fn has_columns_of(one: &Table, other: &Table) -> bool {
    let columns = |table: &Table| -> Vec<(String, Option<ColumnId>)> {
        let columns = table.columns.iter();
        columns
            .map(|column| (column.name.clone(), column.protected))
            .collect()
    };
    columns(one) == columns(other)
}

/// The relations that a query names.
fn relations(query: &Query, schema: &Schema) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let _: ControlFlow<()> = walk::relations(query, |name| {
        let table = find(name, schema);
        found.extend(table.map(|table| (table.schema.clone(), table.name.clone())));
        ControlFlow::Continue(())
    });
    found
}

fn described_view(view: &CreateView, schema: &Schema) -> Option<Table> {
    let (own_schema, name) = own_name(&view.name, schema)?;
    let shown = shown_by_query(&view.query, schema);
    let names = names(view);
    let columns = match (&shown, &names) {
        (Some(shown), Some(names)) if shown.len() == names.len() => {
            let columns = names.iter().zip(shown).zip(1..);
            columns
                .map(|((name, protected), number)| column(name, number, *protected))
                .collect()
        }
        _ => Vec::new(),
    };
    Some(Table {
        schema: own_schema,
        name,
        oid: u32::MAX,
        kind: RelationKind::View,
        opaque: columns.is_empty(),
        columns,
        unique_keys: Vec::new(),
        has_primary_key: false,
        has_triggers: false,
        has_column_privileges: false,
        rows: crate::RowRules::default(),
    })
}

fn column(name: &str, number: i16, protected: Option<ColumnId>) -> Column {
    Column {
        name: name.to_owned(),
        written: None,
        number,
        not_null: false,
        has_default: false,
        is_generated: false,
        protected,
        physical: None,
    }
}

/// The names of a view's columns; None: the text does not show all of them.
fn names(view: &CreateView) -> Option<Vec<String>> {
    if !view.columns.is_empty() {
        return Some(view.columns.iter().map(|own| folded(&own.name)).collect());
    }
    let SetExpr::Select(select) = &*view.query.body else {
        return None;
    };
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expression) => output_name(expression),
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    };
    select.projection.iter().map(name).collect()
}
