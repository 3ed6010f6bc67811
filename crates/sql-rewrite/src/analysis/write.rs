//! `INSERT`, `UPDATE`, `DELETE`.

mod insert;
mod insert_targets;
mod joined;

pub(crate) use insert::{given_always, overriding_user};

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, ObjectName, OrderByExpr, SelectItem,
    SqliteOnConflict, Statement, TableAlias, TableFactor, TableWithJoins, Update,
    UpdateTableFromKind,
};
use sqlstate::SqlState;

use super::query::{
    Outputs, check_relation_name, check_simple_alias, explicit_name, make_explicit,
};
use super::{Analysis, Relation, Scope};
use crate::analysis::query::{FromContext, is_default};
use crate::dialect::marks;
use crate::{ColumnId, Dialect, Refusal, RelationKind, Table};
use sql_plan::{refuse, unsupported};

impl<'s> Analysis<'s> {
    /// A statement that writes, and what it returns.
    pub fn writing(&mut self, statement: &mut Statement) -> Result<Outputs, Refusal> {
        match statement {
            Statement::Insert(insert) => self.insert(insert, None),
            Statement::Update(update) => self.update(update, None),
            Statement::Delete(delete) => self.delete(delete, None),
            _ => Err(unsupported("a statement of this kind")),
        }
    }

    /// The table that a statement writes; None where it is not known, and not protected.
    fn written(
        &mut self,
        name: &mut ObjectName,
        alias: Option<&TableAlias>,
    ) -> Result<(Option<&'s Table>, Relation), Refusal> {
        check_simple_alias(alias)?;
        check_relation_name(name)?;
        let (schema, table) = self
            .dialect()
            .split(name)
            .ok_or_else(|| unsupported("a computed name"))?;
        self.find_table(schema.as_deref(), &table)?;
        let found = self.schema.find(schema.as_deref(), &table);
        let Some(found) = found.filter(|found| !found.columns.is_empty()) else {
            let name = alias.map_or(table, |alias| self.dialect().fold(&alias.name));
            let relation = Relation {
                name,
                schema: None,
                columns: None,
                merged: Vec::new(),
                table: None,
                is_free: false,
            };
            return Ok((None, relation));
        };
        if found.kind != RelationKind::Table {
            if found.is_protected() {
                check_writable(found)?;
            }
            // The rows that are written are those of another table.
            self.fires_triggers = true;
        }
        *name = explicit_name(found, marks::take_only(name), self.dialect());
        let written = (found.schema.clone(), found.name.clone());
        // Locked rows of several tables cannot be told apart here: all are forgotten.
        let others = self.writes.as_ref().is_some_and(|other| *other != written);
        self.writes = Some(written);
        self.fires_triggers |= found.has_triggers || others;
        let renamed = alias.map(|alias| self.dialect().alias(&alias.name));
        let relation = Relation::of_table(found, renamed, self.schema);
        Ok((Some(found), relation))
    }

    /// The table of `UPDATE` or `DELETE`.
    fn written_factor(
        &mut self,
        table: &mut TableWithJoins,
    ) -> Result<(Option<&'s Table>, Relation), Refusal> {
        let TableWithJoins { relation, joins } = table;
        match relation {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if joins.is_empty()
                && with_hints.is_empty()
                && partitions.is_empty()
                && index_hints.is_empty() =>
            {
                let written = self.written(name, alias.as_ref())?;
                if written.0.is_none() {
                    make_explicit(alias.as_mut());
                }
                Ok(written)
            }
            _ => Err(unsupported(
                "a table of this form in a statement that writes",
            )),
        }
    }

    pub fn update(
        &mut self,
        update: &mut Update,
        outer: Option<&Scope>,
    ) -> Result<Outputs, Refusal> {
        if joined::updates_joined(update, self.dialect()) {
            return self.update_joined(update, outer);
        }
        let Update {
            update_token: _,
            optimizer_hints: _,
            table,
            assignments,
            from,
            selection,
            returning,
            output: None,
            or,
            order_by,
            limit,
        } = update
        else {
            return Err(unsupported("a clause of another dialect"));
        };
        let (found, relation) = self.written_factor(table)?;
        let mut scope = Scope::of(vec![relation], outer, self.dialect());
        match from {
            None => {}
            Some(UpdateTableFromKind::AfterSet(tables)) => {
                for joined in tables {
                    self.from(joined, FromContext::JOINED, &mut scope)?;
                }
            }
            Some(UpdateTableFromKind::BeforeSet(_)) => {
                return Err(unsupported("FROM before SET"));
            }
        }
        match (or, self.dialect()) {
            (None, _) => {}
            (Some(SqliteOnConflict::Ignore), Dialect::MySql(_)) => {
                self.ignoring_update(assignments, found)?;
            }
            (Some(_), _) => return Err(unsupported("a clause of another dialect")),
        }
        self.all_assignments(assignments, found, &scope)?;
        if let Some(condition) = selection {
            self.zero_dates(condition, &scope, [])?;
            self.plain(condition, &scope)?;
        }
        self.first_rows(order_by, limit.as_mut(), &scope)?;
        self.returning(returning.as_mut(), &scope)
    }

    /// `ORDER BY` and `LIMIT` of rows that are written, which only MySQL has.
    fn first_rows(
        &mut self,
        order_by: &mut [OrderByExpr],
        limit: Option<&mut Expr>,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        if order_by.is_empty() && limit.is_none() {
            return Ok(());
        }
        if !matches!(self.dialect(), Dialect::MySql(_)) {
            return Err(unsupported("ORDER BY or LIMIT of rows that are written"));
        }
        for key in order_by {
            self.sort_key(key, scope)?;
        }
        limit.map_or(Ok(()), |limit| self.plain(limit, scope))
    }

    /// The assignments of a statement, in which columns that are sealed together are one.
    pub fn all_assignments(
        &mut self,
        assignments: &mut Vec<Assignment>,
        table: Option<&Table>,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        self.assignments(assignments, table, scope)?;
        match table {
            Some(table) => self.group_assignments(assignments, table),
            None => Ok(()),
        }
    }

    pub fn assignments(
        &mut self,
        assignments: &mut [Assignment],
        table: Option<&Table>,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        for Assignment { target, value } in assignments {
            match target {
                AssignmentTarget::ColumnName(name) => {
                    let target = target_column(table, name, self.dialect())?;
                    self.assign(value, target, scope)?;
                }
                AssignmentTarget::Tuple(names) => {
                    let targets: Result<Vec<_>, _> = names
                        .iter()
                        .map(|name| target_column(table, name, self.dialect()))
                        .collect();
                    self.assign_row(value, &targets?, scope)?;
                }
            }
        }
        Ok(())
    }

    fn assign(
        &mut self,
        value: &mut Expr,
        target: Option<ColumnId>,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        if let Some(id) = target {
            self.check_drawn(value, id)?;
        }
        let stored = self.store(value, target, scope)?;
        self.check_stored(stored, target)
    }

    /// A column with a sequence: each row that is updated would need a value of its own.
    fn check_drawn(&self, value: &Expr, id: ColumnId) -> Result<(), Refusal> {
        let column = self.column(id);
        let Some(draws) = &column.draws else {
            return Ok(());
        };
        match (is_default(value), draws.always) {
            (true, _) => Err(refuse(format!(
                "protected column {} is set to DEFAULT, which is the next value of its sequence",
                self.title(id)
            ))
            .with_hint("Ask for nextval() first, and pass its value as a parameter.")),
            (false, true) => {
                let name = &column.column;
                let message = format!("column \"{name}\" can only be updated to DEFAULT");
                Err(refuse(message).with_state(SqlState::GENERATED_ALWAYS))
            }
            (false, false) => Ok(()),
        }
    }

    fn assign_row(
        &mut self,
        value: &mut Expr,
        targets: &[Option<ColumnId>],
        scope: &Scope,
    ) -> Result<(), Refusal> {
        let mismatch = || {
            refuse("the row assigned has another number of columns")
                .with_state(SqlState::SYNTAX_ERROR)
        };
        match value {
            Expr::Tuple(values) if values.len() == targets.len() => values
                .iter_mut()
                .zip(targets)
                .try_for_each(|(value, target)| self.assign(value, *target, scope)),
            Expr::Subquery(query) => {
                let outputs = self.query(query, Some(scope), None)?;
                let outputs = outputs.ok_or_else(|| unsupported("* over an unknown table"))?;
                if outputs.len() != targets.len() {
                    return Err(mismatch());
                }
                for (output, target) in outputs.iter().zip(targets) {
                    if let (Some(_), Some(target)) = (output.sealed, target) {
                        self.check_unchecked(*target)?;
                    }
                    self.check_stored(output.sealed, *target)?;
                }
                Ok(())
            }
            _ => Err(mismatch()),
        }
    }

    pub fn delete(
        &mut self,
        delete: &mut Delete,
        outer: Option<&Scope>,
    ) -> Result<Outputs, Refusal> {
        if joined::deletes_joined(delete, self.dialect()) {
            return self.delete_joined(delete, outer);
        }
        let Delete {
            delete_token: _,
            optimizer_hints: _,
            tables,
            from: FromTable::WithFromKeyword(from),
            using,
            selection,
            returning,
            output: None,
            order_by,
            limit,
        } = delete
        else {
            return Err(unsupported("a clause of another dialect"));
        };
        let [table] = from.as_mut_slice() else {
            return Err(unsupported("DELETE of several tables"));
        };
        if !tables.is_empty() {
            return Err(unsupported("a DELETE of another dialect"));
        }
        let (_, relation) = self.written_factor(table)?;
        let mut scope = Scope::of(vec![relation], outer, self.dialect());
        for joined in using.iter_mut().flatten() {
            self.from(joined, FromContext::JOINED, &mut scope)?;
        }
        if let Some(condition) = selection {
            self.zero_dates(condition, &scope, [])?;
            self.plain(condition, &scope)?;
        }
        self.first_rows(order_by, limit.as_mut(), &scope)?;
        self.returning(returning.as_mut(), &scope)
    }

    fn returning(
        &mut self,
        returning: Option<&mut Vec<SelectItem>>,
        scope: &Scope,
    ) -> Result<Outputs, Refusal> {
        match returning {
            None => Ok(Some(Vec::new())),
            Some(items) => self.projection(items, scope, None),
        }
    }
}

/// Refuses to write through a view with triggers or rules, and to a foreign table.
fn check_writable(table: &Table) -> Result<(), Refusal> {
    let title = format!("{}.{}", table.schema, table.name);
    match table.kind {
        RelationKind::View if !table.has_triggers => Ok(()),
        RelationKind::View => Err(refuse(format!(
            "view {title} of protected columns is written by a trigger or a rule of the server"
        ))
        .with_hint("Write the table that it shows.")),
        RelationKind::Table | RelationKind::Foreign => Err(refuse(format!(
            "foreign table {title} of protected columns can only be read"
        ))),
    }
}

/// The protected column that is assigned; None: it is plain.
pub(crate) fn target_column(
    table: Option<&Table>,
    name: &ObjectName,
    dialect: Dialect,
) -> Result<Option<ColumnId>, Refusal> {
    let (None, column) = dialect
        .split(name)
        .ok_or_else(|| unsupported("a computed name"))?
    else {
        return Err(unsupported("a field of a composite column"));
    };
    let Some(table) = table else {
        return Ok(None);
    };
    let Some(index) = table.position(&column) else {
        return Err(refuse(format!(
            "column {column:?} of relation {:?} does not exist",
            table.name
        ))
        .with_state(SqlState::UNDEFINED_COLUMN));
    };
    Ok(table.columns[index].protected)
}
