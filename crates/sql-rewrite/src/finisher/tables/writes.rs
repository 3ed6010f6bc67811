//! `UPDATE` and `DELETE` of rows that only the finisher before MariaDB can find, or with values
//! that only it can compute.
//!
//! The server locks the rows that may be meant, and gives them. The finisher executes the client's
//! own text over them, so errors, warnings, order and counts are those of the server's product.
//! Each row that it has changed or deleted is then written by its primary key: a protected column
//! gets the finisher's value, sealed; a plain column is computed by the server itself, from the
//! client's own assignment.
//!
//! Invariant: no value that the finisher computes reaches the server in clear.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, AssignmentTarget, BinaryOperator, Delete, Expr, FromTable, Ident, Query, SetExpr,
    Statement, TableFactor, TableWithJoins, Update,
};

use super::alone::alone;
use super::{column, declared, refuse_lax};
use crate::analysis::{Analysis, Constant, Relation, Scope, template};
use crate::dialect::mysql::finisher::Scanned;
use crate::dialect::mysql::{MySql, kinds, names, subset};
use crate::increment::{has_query, part_assignments, written_table};
use crate::{
    ColumnId, Dialect, Effects, FilledForm, FilledWrite, Form, Plan, Purpose, Refusal, Schema,
    Source, Table, Translated, walk,
};
use sql_plan::{refuse, unsupported};

/// What is written.
pub(super) struct Target<'s> {
    /// The table.
    pub table: &'s Table,
    statement: Statement,
    /// Indices of the columns of its primary key.
    key: Vec<usize>,
    /// Whether it is joined with others.
    is_joined: bool,
    /// Whether it returns rows.
    returns: bool,
    /// Protected columns that get computed values.
    computed: Vec<(AssignmentTarget, ColumnId)>,
}

/// A query of the rows that a write may mean. None: it is a query itself.
pub(super) fn rows_of(tree: &Statement) -> Option<Box<Query>> {
    let (tables, selection) = match tree {
        Statement::Update(update) => (vec![update.table.clone()], &update.selection),
        Statement::Delete(delete) => match &delete.from {
            FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from) => {
                (from.clone(), &delete.selection)
            }
        },
        _ => return None,
    };
    let parsed = Dialect::MySql(MySql::default()).parse("SELECT 1 FROM a");
    let Ok(Statement::Query(mut query)) = parsed else {
        return None;
    };
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    select.from = tables;
    select.selection = selection.clone();
    Some(query)
}

fn other_form() -> Refusal {
    unsupported("a write of this form over protected columns that the server cannot compare")
        .with_hint("Write one table, and find its rows by joins or subqueries.")
}

impl<'s> Target<'s> {
    /// What a text writes.
    ///
    /// # Errors
    /// Its rows cannot be found again, or a plain column gets what the server cannot compute.
    pub fn of(
        tree: Option<&Statement>,
        scanned: &Scanned,
        (schema, own): (&'s Schema, MySql),
    ) -> Result<Self, Refusal> {
        refuse_lax(own)?;
        let tree = tree.ok_or_else(other_form)?;
        let joined = alone(tree, schema);
        let is_joined = joined.is_some();
        let mut statement = joined.unwrap_or_else(|| tree.clone());
        let mut returns = false;
        if let Statement::Delete(delete) = &mut statement {
            // What is returned is evaluated over the rows that the finisher has.
            returns = delete.returning.take().is_some();
        }
        let factor = match &statement {
            Statement::Update(update) if is_plain_update(update) => only(&update.table),
            Statement::Delete(delete) if is_plain_delete(delete) => match &delete.from {
                FromTable::WithFromKeyword(from) => from.first().and_then(only),
                FromTable::WithoutKeyword(_) => None,
            },
            _ => None,
        };
        let table = written_table(factor.ok_or_else(other_form)?, schema)?;
        let computed = match &statement {
            Statement::Update(update) => computed(update, (table, scanned), schema)?,
            _ => Vec::new(),
        };
        Ok(Self {
            table,
            is_joined,
            returns,
            statement,
            key: key(table, schema)?,
            computed,
        })
    }

    /// Indices of the columns that have to be fetched.
    pub fn needed(&self) -> Vec<usize> {
        let id = |index: &usize| self.table.columns[*index].protected;
        let all = 0..self.table.columns.len();
        let is_computed = |index: &usize| {
            let mut computed = self.computed.iter();
            id(index).is_some_and(|own| computed.any(|(_, column)| *column == own))
        };
        let computed = all.filter(is_computed);
        self.key.iter().copied().chain(computed).collect()
    }

    pub fn effects(&self) -> Effects {
        Effects {
            writes: Some((self.table.schema.clone(), self.table.name.clone())),
            ..Effects::default()
        }
    }

    /// How its rows are written: the index of the table, the columns that are fetched, and how
    /// often the text names it.
    ///
    /// # Errors
    /// The server cannot compute a plain column.
    pub fn write(
        &self,
        (table, columns, count): (usize, &[usize], usize),
        scanned: &Scanned,
        schema: &Schema,
    ) -> Result<FilledWrite, Refusal> {
        if self.is_joined && count > 1 {
            return Err(unsupported(
                "a write of a table that is joined with itself, which the finisher evaluates",
            )
            .with_hint("Read the rows first, and write them by their keys."));
        }
        let mut fetched = columns.iter().map(|index| &self.table.columns[*index]);
        if fetched.any(|column| column.is_generated) {
            return Err(unsupported(
                "a generated column in a write that the finisher evaluates",
            ));
        }
        let place = |index: &usize| columns.iter().position(|own| own == index);
        let lost = || unsupported("a write of this form");
        let key: Option<Vec<usize>> = self.key.iter().map(place).collect();
        let mut computed: Vec<(usize, ColumnId)> = Vec::new();
        for (_, id) in &self.computed {
            let protected = |index: &usize| self.table.columns[*index].protected;
            let at = columns.iter().position(|own| protected(own) == Some(*id));
            computed.push((at.ok_or_else(lost)?, *id));
        }
        let is_unique = self.table.unique_keys.iter().flatten().any(|index| {
            let protected = self.table.columns[*index].protected;
            self.computed.iter().any(|(_, id)| protected == Some(*id))
        });
        Ok(FilledWrite {
            table,
            key: key.ok_or_else(lost)?,
            computed,
            is_unique,
            deletes: matches!(self.statement, Statement::Delete(_)),
            returns: self.returns,
            write: self.translated(scanned, schema)?,
        })
    }

    /// The statement that writes a row.
    fn translated(&self, scanned: &Scanned, schema: &Schema) -> Result<Translated, Refusal> {
        let hidden = self.hidden(&scanned.constants);
        let (analysis, (mut statement, plain)) = Analysis::run(schema, |analysis| {
            for constant in &hidden {
                analysis.parameters.hide(constant);
                if let Source::Parameter(number) = constant {
                    analysis.parameters.compute(*number);
                }
            }
            match self.statement.clone() {
                Statement::Update(mut update) => {
                    let mut checked = update.clone();
                    (update.selection, update.limit) = (None, None);
                    update.order_by = Vec::new();
                    update.assignments = self.assignments(update.assignments, analysis);
                    // What the server evaluates has to mean what its tree says.
                    let is_kept = |one: &Assignment| self.number(&one.target).is_none();
                    checked.assignments.retain(is_kept);
                    (checked.selection, checked.limit) = (None, None);
                    checked.order_by = Vec::new();
                    analysis.update(&mut update, None)?;
                    update.selection = self.located(analysis);
                    Ok((Statement::Update(update), Statement::Update(checked)))
                }
                Statement::Delete(mut delete) => {
                    (delete.selection, delete.limit) = (None, None);
                    delete.order_by = Vec::new();
                    let checked = delete.clone();
                    analysis.delete(&mut delete, None)?;
                    delete.selection = self.located(analysis);
                    Ok((Statement::Delete(delete), Statement::Delete(checked)))
                }
                _ => Err(other_form()),
            }
        })?;
        subset::check(&plain).map_err(|unread| unread.refusal())?;
        analysis.check_parameters()?;
        let template = template::of(&mut statement, schema.dialect)?;
        let (template, holes, _) = template::compact(template, &analysis.holes, Vec::new());
        let plan = Plan::One(
            Translated {
                template,
                holes,
                outputs: Vec::new(),
                parameter_types: analysis.parameters.types(),
                locks: None,
            },
            Effects::default(),
        );
        kinds::check(&plan, schema)?;
        match plan {
            Plan::One(translated, _) => Ok(translated),
            _ => Err(other_form()),
        }
    }

    /// Constants and parameters of the text, without those that stand in what the server computes
    /// of plain columns alone. One that stands elsewhere, too, is among them.
    fn hidden(&self, constants: &[Source]) -> Vec<Source> {
        let mut hidden = constants.to_vec();
        let Statement::Update(update) = &self.statement else {
            return hidden;
        };
        let is_kept = |one: &&Assignment| self.number(&one.target).is_none();
        for one in update.assignments.iter().filter(is_kept) {
            let _: ControlFlow<()> = walk::expressions(&one.value, |expression| {
                if let Ok(Some(constant)) = Constant::of(expression)
                    && let Some(at) = hidden.iter().position(|own| *own == constant.source)
                {
                    hidden.remove(at);
                }
                ControlFlow::Continue(())
            });
        }
        hidden
    }

    fn number(&self, target: &AssignmentTarget) -> Option<usize> {
        self.computed.iter().position(|(own, _)| own == target)
    }

    /// The assignments in their order: each reads what was assigned before it. Those of columns
    /// that are sealed together are one, which reads nothing.
    fn assignments(&self, all: Vec<Assignment>, analysis: &mut Analysis) -> Vec<Assignment> {
        let schema = analysis.schema;
        let mut hole = |number: usize, target: AssignmentTarget| Assignment {
            value: analysis.hole(
                Source::Computed(number),
                Form::Sealed(self.computed[number].1, Purpose::Store),
            ),
            target,
        };
        let mut own = Vec::new();
        for one in all {
            match self.number(&one.target) {
                None => own.push(one),
                Some(number) if schema.is_member(self.computed[number].1) => {}
                Some(number) => own.push(hole(number, one.target)),
            }
        }
        for (number, (target, id)) in self.computed.iter().enumerate() {
            if schema.is_member(*id) && schema.holder_of(*id) == Some(*id) {
                own.push(hole(number, target.clone()));
            }
        }
        own
    }

    /// `key = locator AND …`
    fn located(&self, analysis: &mut Analysis) -> Option<Expr> {
        let mut condition = None;
        for (number, index) in self.key.iter().enumerate() {
            let column = &self.table.columns[*index];
            let (op, form) = match column.protected {
                None => (BinaryOperator::Eq, Form::Plain),
                // The server gave it: it finds the very same bytes, in any mode.
                Some(id) => (BinaryOperator::Spaceship, Form::Sealed(id, Purpose::Match)),
            };
            let part = Expr::BinaryOp {
                left: Box::new(Expr::Identifier(names::quote(&column.name))),
                op,
                right: Box::new(analysis.hole(Source::Locator(number), form)),
            };
            condition = Some(match condition {
                None => part,
                Some(earlier) => Expr::BinaryOp {
                    left: Box::new(earlier),
                    op: BinaryOperator::And,
                    right: Box::new(part),
                },
            });
        }
        condition
    }
}

fn only(table: &TableWithJoins) -> Option<&TableFactor> {
    table.joins.is_empty().then_some(&table.relation)
}

fn is_plain_update(update: &Update) -> bool {
    update.from.is_none()
        && update.returning.is_none()
        && update.output.is_none()
        && update.or.is_none()
        && update.optimizer_hints.is_empty()
}

fn is_plain_delete(delete: &Delete) -> bool {
    let is_one = match &delete.from {
        FromTable::WithFromKeyword(from) => from.len() == 1,
        FromTable::WithoutKeyword(_) => false,
    };
    is_one
        && delete.tables.is_empty()
        && delete.using.is_none()
        && delete.returning.is_none()
        && delete.output.is_none()
        && delete.optimizer_hints.is_empty()
}

/// The columns of the primary key, if their values can be written as constants that find the row.
fn key(table: &Table, schema: &Schema) -> Result<Vec<usize>, Refusal> {
    let keys = schema.catalogue.finisher.declared_keys.get(&table.oid);
    let key = keys.into_iter().flatten().find(|key| key.is_primary);
    let Some(key) = key.filter(|key| key.columns.iter().all(|(_, letters)| letters.is_none()))
    else {
        return Err(refuse(format!(
            "table {} has no primary key over whole columns, by which its rows could be written",
            table.name
        ))
        .with_hint("Give it one; or read the rows with FOR UPDATE, and write them one by one."));
    };
    for (index, _) in &key.columns {
        let form = column(table, *index, schema)?.form;
        let type_name = declared(table, *index, schema).map(|own| own.type_name.as_str());
        let is_exact = match form {
            FilledForm::Quoted => !type_name.is_some_and(|own| {
                own.starts_with("double") || own.starts_with("time") || own.starts_with("year")
            }),
            FilledForm::Bytes | FilledForm::Text(_) => {
                let is_listed = |own: &str| own.starts_with("enum") || own.starts_with("set");
                !type_name.is_some_and(is_listed)
            }
            FilledForm::Float | FilledForm::Bits | FilledForm::Moment => false,
        };
        if !is_exact && table.columns[*index].protected.is_none() {
            return Err(unsupported(&format!(
                "a primary key of this type in a write of {} that the finisher evaluates",
                table.name
            )));
        }
    }
    Ok(key.columns.iter().map(|(index, _)| *index).collect())
}

/// The protected columns whose new values the finisher computes. The server computes those of plain
/// columns.
fn computed(
    update: &Update,
    (table, scanned): (&Table, &Scanned),
    schema: &Schema,
) -> Result<Vec<(AssignmentTarget, ColumnId)>, Refusal> {
    let TableFactor::Table { alias, .. } = &update.table.relation else {
        return Err(other_form());
    };
    let dialect = schema.dialect;
    let renamed = alias.as_ref().map(|alias| dialect.alias(&alias.name));
    let relation = renamed.clone().unwrap_or_else(|| table.name.clone());
    let scope = Scope::of(
        vec![Relation::of_table(table, renamed, schema)],
        None,
        dialect,
    );
    let analysis = Analysis::new(schema);
    let (kept, mut computed) = part_assignments(update, table, &analysis, &scope)?;
    analysis.complete_groups(&mut computed, &relation)?;
    if has_query(&kept) {
        return Err(unsupported(
            "a query for a plain column in a write that the finisher evaluates",
        ));
    }
    if !kept.is_empty() && !scanned.has_plain_conditions {
        return Err(unsupported(
            "the operators | & ^ ~ and XOR in a write that assigns plain columns, too,",
        )
        .with_hint("Use two statements."));
    }
    check_read(
        &kept,
        &computed.iter().map(|own| &own.2).collect::<Vec<_>>(),
        dialect,
    )?;
    let mut ids = computed.iter().map(|own| own.0);
    if let Some(id) = ids.find(|id| schema.column(*id).form.tokens.is_some()) {
        return Err(unsupported(&format!(
            "a new value that the finisher computes for {}, which is found by a collation",
            schema.title(id)
        ))
        .with_hint("Read the rows with FOR UPDATE, and pass the new values as parameters."));
    }
    let mut found: Vec<(AssignmentTarget, ColumnId)> = Vec::new();
    for (id, target, _) in computed {
        if schema.column(id).is_checked() {
            return Err(unsupported(
                "a computed value for a protected column with check constraints",
            ));
        }
        if found.iter().all(|(own, _)| *own != target) {
            found.push((target, id));
        }
    }
    Ok(found)
}

/// Refuses a computed value that reads what the server assigns: server and finisher may evaluate it
/// at other times. A constant is the same to both.
fn check_read(kept: &[Assignment], computed: &[&Expr], dialect: Dialect) -> Result<(), Refusal> {
    let is_constant = |one: &&Assignment| matches!(one.value, Expr::Value(_));
    for one in kept.iter().filter(|one| !is_constant(one)) {
        let AssignmentTarget::ColumnName(name) = &one.target else {
            return Err(other_form());
        };
        let target = dialect.split(name).map(|(_, column)| column);
        let is_read = |value: &&Expr| {
            let found = walk::expressions(*value, |expression| {
                let name: Option<&Ident> = match expression {
                    Expr::Identifier(name) => Some(name),
                    Expr::CompoundIdentifier(parts) => parts.last(),
                    _ => None,
                };
                match name.is_some_and(|name| Some(dialect.fold(name)) == target) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            found.is_break()
        };
        if computed.iter().any(is_read) {
            return Err(unsupported(
                "an UPDATE that computes a protected column from a plain one which it computes, \
                 too,",
            )
            .with_hint("Use two statements."));
        }
    }
    Ok(())
}
