//! `UPDATE` and `DELETE` of rows of joined tables, which MySQL and MariaDB have.
//!
//! The server finds the rows by conditions as those of a `SELECT`. Each value that is assigned is
//! checked against the column that it is for, of whichever table that is.

use sqlparser::ast::{Assignment, AssignmentTarget, Delete, FromTable, Ident, ObjectName, Update};

use crate::analysis::query::{FromContext, Outputs};
use crate::analysis::{Analysis, Relation, Scope};
use crate::{Dialect, Refusal, RelationKind};
use sql_plan::{refuse, unsupported};

/// Whether an `UPDATE` has joined tables before `SET`.
pub(super) fn updates_joined(update: &Update, dialect: Dialect) -> bool {
    matches!(dialect, Dialect::MySql(_)) && !update.table.joins.is_empty()
}

/// Whether a `DELETE` names the tables whose rows go apart from those that it reads.
pub(super) fn deletes_joined(delete: &Delete, dialect: Dialect) -> bool {
    matches!(dialect, Dialect::MySql(_)) && !delete.tables.is_empty()
}

impl Analysis<'_> {
    /// `UPDATE a JOIN b ON … SET a.x = …`
    pub(super) fn update_joined(
        &mut self,
        update: &mut Update,
        outer: Option<&Scope>,
    ) -> Result<Outputs, Refusal> {
        if update.from.is_some() || update.returning.is_some() {
            return Err(unsupported("a clause of another dialect"));
        }
        if !update.order_by.is_empty() || update.limit.is_some() {
            return Err(unsupported(
                "ORDER BY or LIMIT in an UPDATE of joined tables",
            ));
        }
        let mut scope = Scope::of(Vec::new(), outer, self.dialect());
        self.from(&mut update.table, FromContext::JOINED, &mut scope)?;
        for Assignment { target, value } in &mut update.assignments {
            let AssignmentTarget::ColumnName(name) = target else {
                return Err(unsupported("an assignment of this form"));
            };
            let resolved = scope.resolve(&parts(name)?)?;
            let Some((table, _)) = resolved.column else {
                return Err(unsupported("an assignment to what is no column of a table"));
            };
            self.write_joined(&table)?;
            self.refuse_members(resolved.sealed)?;
            let assigned = self.assign(value, resolved.sealed, &scope);
            assigned.map_err(|refusal| match (resolved.sealed, &refusal.hint) {
                (Some(_), None) => refusal.with_hint(
                    "Read the rows with FOR UPDATE, and write each by its key with the new value \
                     as a parameter.",
                ),
                _ => refusal,
            })?;
        }
        if let Some(condition) = &mut update.selection {
            self.zero_dates(condition, &scope, [&update.table])?;
            self.plain(condition, &scope)?;
        }
        Ok(Some(Vec::new()))
    }

    /// `DELETE a FROM a JOIN b ON …`
    pub(super) fn delete_joined(
        &mut self,
        delete: &mut Delete,
        outer: Option<&Scope>,
    ) -> Result<Outputs, Refusal> {
        let Delete {
            delete_token: _,
            optimizer_hints: _,
            tables,
            from: FromTable::WithFromKeyword(from),
            using: None,
            selection,
            returning: None,
            output: None,
            order_by,
            limit: None,
        } = delete
        else {
            return Err(unsupported("a clause in a DELETE of joined tables"));
        };
        if !order_by.is_empty() {
            return Err(unsupported("ORDER BY in a DELETE of joined tables"));
        }
        let mut scope = Scope::of(Vec::new(), outer, self.dialect());
        for joined in &mut *from {
            self.from(joined, FromContext::JOINED, &mut scope)?;
        }
        for name in tables {
            let relation = named(name, &scope)?;
            let table = relation.table.clone();
            let table = table.ok_or_else(|| unsupported("a DELETE from what is no table"))?;
            self.write_joined(&table)?;
        }
        if let Some(condition) = selection {
            self.zero_dates(condition, &scope, &*from)?;
            self.plain(condition, &scope)?;
        }
        Ok(Some(Vec::new()))
    }

    /// Notes that rows of a table are written.
    fn write_joined(&mut self, table: &(String, String)) -> Result<(), Refusal> {
        let found = self.schema.find(Some(&table.0), &table.1);
        if !found.is_some_and(|found| found.kind == RelationKind::Table) {
            return Err(unsupported("a statement that writes what is no table"));
        }
        self.writes = Some(table.clone());
        // Locked rows of several tables cannot be told apart here: all are forgotten.
        self.fires_triggers = true;
        Ok(())
    }
}

fn parts(name: &ObjectName) -> Result<Vec<Ident>, Refusal> {
    let parts = name.0.iter().map(|part| part.as_ident().cloned());
    let parts: Option<Vec<Ident>> = parts.collect();
    parts.ok_or_else(|| unsupported("a computed name"))
}

/// The one relation that a `DELETE` names by its alias or name.
fn named<'s>(name: &ObjectName, scope: &'s Scope<'_>) -> Result<&'s Relation, Refusal> {
    let (database, table) = scope
        .dialect
        .split(name)
        .ok_or_else(|| unsupported("a computed name"))?;
    let alias = name.0.last().and_then(|last| last.as_ident());
    let alias = alias.map(|own| scope.dialect.fold(own));
    let mut found = scope.relations.iter().filter(|relation| {
        // An alias is folded, also where the names of tables are not. It hides the schema.
        let own = Some(relation.name.as_str());
        let is_named = match relation.schema {
            Some(_) => scope.dialect.qualifies(Some(&table), own),
            None => alias.is_some() && scope.dialect.qualifies(alias.as_deref(), own),
        };
        is_named && (database.is_none() || relation.schema.as_deref() == database.as_deref())
    });
    match (found.next(), found.next()) {
        (Some(relation), None) => Ok(relation),
        _ => Err(refuse(format!(
            "DELETE names {name}, which is no table or alias of its FROM, or several"
        ))
        .with_hint("Give each table an alias, and name the alias.")),
    }
}
