//! `UPDATE` and `DELETE` of rows that only the finisher can find, or with values that only it can
//! compute.
//!
//! The server returns and locks the rows of the table that meet the conditions which it can decide.
//! The finisher evaluates all conditions over them and computes the new values. The proxy seals
//! these, and one statement writes all rows, each found by its locator ([`spread`]): it is locked,
//! so it lies where it lay. The server locks more rows than it would alone, and never fewer.
//!
//! Invariant: a value that the finisher computes is stored in a protected column, sealed. A plain
//! column gets only what the server can compute by itself.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment as Set, BinaryOperator, Delete, Distinct, Expr, FromTable, Ident, LockClause, Query,
    SelectItem, Statement, TableFactor, TableWithJoins, Update, UpdateTableFromKind, Visitor,
};

use super::legs::select_of;
use super::rows::cast_constant;
use super::{Prepared, arrays, others as other_relations};
use crate::analysis::{Analysis, Constant, Outputs, Scope, output_list};
use crate::dialect::marks;
use crate::dialect::postgres::{calls, finisher};
use crate::increment::{
    computed_holes, has_query, locked_as_written, part_assignments, written_table,
};
use crate::{ColumnId, Dialect, FinisherWrite, Output, Plan, Refusal, Schema, Table};
use crate::{locks, spread, walk};
use sql_plan::unsupported;

/// The plan of an `UPDATE` that neither the server nor the proxy can do alone.
///
/// # Errors
/// The finisher would do otherwise than the server.
pub(crate) fn of_update(update: &Update, schema: &Schema) -> Result<Plan, Refusal> {
    let target = Target::of(&update.table, schema)?;
    let known_as = Some(target.known_as(schema.dialect));
    let scope = Scope::of_table(target.table, known_as, schema);
    let analysis = Analysis::new(schema);
    let (kept, mut computed) = part_assignments(update, target.table, &analysis, &scope)?;
    analysis.complete_groups(&mut computed, &target.known_as(schema.dialect))?;
    for (id, _, value) in &mut computed {
        let mut columns = target.table.columns.iter();
        let column = columns.find(|own| own.protected == Some(*id));
        if let Some(column) = column.filter(|_| schema.is_member(*id)) {
            // Alone, the server would assign it.
            cast_constant(value, column, (target.table, schema))?;
        }
    }
    if has_query(&kept) {
        return Err(unsupported(
            "a query for a plain column of rows that the finisher finds",
        ));
    }
    let others = match &update.from {
        None => &[][..],
        Some(UpdateTableFromKind::AfterSet(tables) | UpdateTableFromKind::BeforeSet(tables)) => {
            tables
        }
    };
    let returning = update.returning.as_deref();
    let found_by = (update.selection.as_ref(), has_query(&update.assignments));
    check_returning(returning, &target, (found_by, others), schema)?;
    if !others.is_empty() {
        // The server would evaluate it for each of several rows that one row meets.
        let mut kept = kept.iter();
        kept.try_for_each(|own| calls::check_condition(Some(&own.value), schema))?;
    }
    let own = target.known_as(schema.dialect);
    other_relations::check(returning, &kept, (own, others), schema)?;
    let values = computed.iter().map(|(_, _, value)| value.clone());
    let found = target.query(values.collect(), others, update.selection.as_ref(), schema)?;
    let columns: Vec<ColumnId> = computed.iter().map(|(column, ..)| *column).collect();
    let write = |analysis: &mut Analysis| {
        note_types(&kept, target.table, analysis)?;
        let mut assignments = kept.clone();
        assignments.extend(computed_holes(&computed, analysis));
        let mut write = Update {
            assignments,
            from: None,
            selection: None,
            ..update.clone()
        };
        let outputs = analysis.update(&mut write, None)?;
        let mut arrays = located(analysis)?;
        arrays.extend(spread::computed(&columns, analysis));
        spread::update(&mut write, &target.name, arrays, schema.dialect)?;
        Ok((Statement::Update(write), outputs))
    };
    planned(found, (columns.clone(), "UPDATE"), write, (&target, schema))
}

/// The plan of a `DELETE` that the server cannot do alone.
///
/// # Errors
/// The finisher would do otherwise than the server.
pub(crate) fn of_delete(delete: &Delete, schema: &Schema) -> Result<Plan, Refusal> {
    let FromTable::WithFromKeyword(from) = &delete.from else {
        return Err(unsupported("a DELETE of another dialect"));
    };
    let [table] = from.as_slice() else {
        return Err(unsupported("DELETE of several tables"));
    };
    let target = Target::of(table, schema)?;
    check_deleted(target.table)?;
    let others = delete.using.as_deref().unwrap_or_default();
    let returning = delete.returning.as_deref();
    let found_by = (delete.selection.as_ref(), false);
    check_returning(returning, &target, (found_by, others), schema)?;
    let own = target.known_as(schema.dialect);
    other_relations::check(returning, &[], (own, others), schema)?;
    let found = target.query(Vec::new(), others, delete.selection.as_ref(), schema)?;
    let write = |analysis: &mut Analysis| {
        let mut write = Delete {
            using: None,
            selection: None,
            ..delete.clone()
        };
        let outputs = analysis.delete(&mut write, None)?;
        spread::delete(&mut write, &target.name, located(analysis)?, schema.dialect)?;
        Ok((Statement::Delete(write), outputs))
    };
    planned(found, (Vec::new(), "DELETE"), write, (&target, schema))
}

/// Refuses a query in `RETURNING` that may see other rows than the server alone would: the
/// statement that returns it comes later than the one that reads the rows, with a snapshot of its
/// own. A single row that is found by its key, and by nothing else, is the same at that moment: it
/// is locked.
fn check_returning(
    returning: Option<&[SelectItem]>,
    target: &Target,
    ((condition, has_others), others): ((Option<&Expr>, bool), &[TableWithJoins]),
    schema: &Schema,
) -> Result<(), Refusal> {
    let items = returning.unwrap_or_default();
    let reads = items.iter().any(|item| {
        let query = walk::visit(item, &mut Tables);
        query.is_break()
    });
    let is_alone = others.is_empty() && !has_others && condition.is_some_and(|own| !has_query(own));
    let is_one = || {
        let mut pairs = Vec::new();
        condition.map_or(Ok(()), |own| equalities(own, target, schema, &mut pairs))?;
        let key = locks::unique_key(target.table, &pairs);
        Ok::<_, Refusal>(key.is_some_and(|key| !key.is_empty()))
    };
    if !reads || is_alone && is_one()? {
        return Ok(());
    }
    Err(
        unsupported("a query of tables in RETURNING of rows that the finisher finds").with_hint(
            "Find the row by a unique key (id = $1) and without other queries, or read by a \
             statement of its own, in one transaction of isolation REPEATABLE READ.",
        ),
    )
}

/// Stops at a table that a query reads.
struct Tables;

impl Visitor for Tables {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Derived { .. }
            | TableFactor::UNNEST { .. }
            | TableFactor::NestedJoin { .. } => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// The columns of the table that a condition compares with constants for equality.
fn equalities(
    condition: &Expr,
    target: &Target,
    schema: &Schema,
    pairs: &mut Vec<(usize, usize)>,
) -> Result<(), Refusal> {
    match condition {
        Expr::Nested(inner) => equalities(inner, target, schema, pairs),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            equalities(left, target, schema, pairs)?;
            equalities(right, target, schema, pairs)
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => {
            for (own, other) in [(left, right), (right, left)] {
                let column = match &**own {
                    Expr::Identifier(name) => Some(name),
                    Expr::CompoundIdentifier(parts) => parts.last(),
                    _ => None,
                };
                let index = column.and_then(|own| target.table.position(&schema.dialect.fold(own)));
                if let (Some(index), Some(_)) = (index, Constant::of(other)?) {
                    pairs.push((index, 0));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The table that is written.
pub(super) struct Target<'s> {
    pub table: &'s Table,
    /// The name that qualifies its columns, as the statement has it.
    pub name: Ident,
    /// As the statement has it.
    factor: TableWithJoins,
}

impl<'s> Target<'s> {
    pub fn of(factor: &TableWithJoins, schema: &'s Schema) -> Result<Self, Refusal> {
        let table = written_table(&factor.relation, schema)?;
        let TableFactor::Table { name, alias, .. } = &factor.relation else {
            return Err(unsupported("a statement that writes what is no table"));
        };
        if !factor.joins.is_empty() || marks::has_only(name) {
            return Err(unsupported("ONLY of a table whose rows the finisher finds"));
        }
        let last = name.0.last().and_then(|part| part.as_ident()).cloned();
        let known = alias.as_ref().map(|alias| alias.name.clone()).or(last);
        Ok(Self {
            table,
            name: known.ok_or_else(|| unsupported("a computed name"))?,
            factor: factor.clone(),
        })
    }

    /// The name of [`Self::name`] in the catalogue.
    pub fn known_as(&self, dialect: Dialect) -> String {
        dialect.fold(&self.name)
    }

    /// The query that finds its rows: their locators, then values.
    pub fn query(
        &self,
        values: Vec<Expr>,
        others: &[TableWithJoins],
        condition: Option<&Expr>,
        schema: &Schema,
    ) -> Result<Prepared, Refusal> {
        let mut query = skeleton(schema.dialect)?;
        query.locks = Vec::new();
        let select = select_of(&mut query)?;
        select.projection = values.into_iter().map(SelectItem::UnnamedExpr).collect();
        select.from = vec![self.factor.clone()];
        select.from.extend_from_slice(others);
        select.selection = condition.cloned();
        finisher::check_failing(&query, schema)?;
        let factor: *const TableFactor = &select_of(&mut query)?.from[0].relation;
        let locators = schema.dialect.row_locator();
        let mut prepared = Prepared::new(query, Some((factor, locators)), schema)?;
        let locator =
            |column: &&str| Expr::CompoundIdentifier(vec![self.name.clone(), Ident::new(*column)]);
        let locators: Vec<Expr> = locators.iter().map(locator).collect();
        let select = select_of(&mut prepared.query)?;
        if !others.is_empty() {
            // The server writes a row once, by whichever of the others it meets first.
            select.distinct = Some(Distinct::On(locators.clone()));
        }
        let items = locators.into_iter().map(SelectItem::UnnamedExpr);
        select.projection = items
            .chain(std::mem::take(&mut select.projection))
            .collect();
        Ok(prepared)
    }
}

/// Refuses to delete rows by what the finisher finds where policies apply: the rows are read and
/// locked, so the server would apply the policies for UPDATE, and not those for DELETE.
pub(super) fn check_deleted(table: &Table) -> Result<(), Refusal> {
    match table.rows.has_policies {
        false => Ok(()),
        true => Err(unsupported(&format!(
            "DELETE of rows that the finisher finds, from table {}.{}, which has row-level \
             security,",
            table.schema, table.name
        ))
        .with_hint("Select the keys first, and delete by them.")),
    }
}

/// The arrays that locate the rows.
pub(super) fn located(analysis: &mut Analysis) -> Result<Vec<Expr>, Refusal> {
    spread::locators(analysis).ok_or_else(|| unsupported("rows that the finisher finds"))
}

/// `SELECT 1 FROM a FOR UPDATE`
pub(super) fn skeleton(dialect: Dialect) -> Result<Query, Refusal> {
    match dialect.parse("SELECT 1 FROM a FOR UPDATE") {
        Ok(Statement::Query(query)) => Ok(*query),
        _ => Err(unsupported("a query that locks rows")),
    }
}

/// Notes the types of parameters that are stored in plain columns: the finisher does not see them.
pub(super) fn note_types(
    kept: &[Set],
    table: &Table,
    analysis: &mut Analysis,
) -> Result<(), Refusal> {
    for assignment in kept {
        let sqlparser::ast::AssignmentTarget::ColumnName(name) = &assignment.target else {
            continue;
        };
        let column = analysis.dialect().split(name);
        let index = column.and_then(|(_, column)| table.position(&column));
        let column = index.map(|index| &table.columns[index]);
        let column = column.filter(|column| column.protected.is_none());
        let physical = column.and_then(|column| column.physical);
        if let (Some(constant), Some(physical)) = (Constant::of(&assignment.value)?, physical)
            && constant.cast.is_none()
        {
            analysis.parameters.note_type(&constant.source, physical);
        }
    }
    Ok(())
}

/// The plan of a statement, given the query that finds rows and what makes the statement that
/// writes them.
fn planned(
    found: Prepared,
    (columns, verb): (Vec<ColumnId>, &'static str),
    write: impl Fn(&mut Analysis) -> Result<(Statement, Outputs), Refusal>,
    (target, schema): (&Target, &Schema),
) -> Result<Plan, Refusal> {
    let locks: Vec<LockClause> = skeleton(schema.dialect)?.locks;
    let (analysis, (fetched, written, outputs)) = Analysis::run(schema, |analysis| {
        let fetched = found.fetch(&locks, analysis)?;
        let (written, outputs) = write(analysis)?;
        Ok((fetched, written, outputs))
    })?;
    let holes = analysis.holes.clone();
    let outputs: Vec<Output> = output_list(outputs);
    let fires_triggers = analysis.fires_triggers;
    let mut query = found.plan(fetched, analysis, None)?;
    if verb == "UPDATE" {
        query.fetch.template = locked_as_written(query.fetch.template, schema.dialect);
    }
    query.effects.writes = Some((target.table.schema.clone(), target.table.name.clone()));
    query.effects.forgets_locks = fires_triggers;
    let write = arrays::translated(written, &holes, outputs, &query, schema.dialect)?;
    Ok(Plan::FinisherWrite(Box::new(FinisherWrite {
        query,
        columns,
        inserted: None,
        upsert: None,
        write,
        returning: None,
        verb,
    })))
}
