//! `WITH moved AS (DELETE … RETURNING …) INSERT INTO t SELECT … FROM moved` and the like, where
//! only the finisher can tell which rows are written, or what is computed for them.
//!
//! The rows are fetched and locked as for `UPDATE` and `DELETE` ([`super::writes`]). Then the
//! server gets the client's statement, in which the part that writes has the rows that were found
//! in the place of its condition: `DELETE FROM t USING unnest($1, $2) AS r (…) WHERE t.ctid = r.…`.
//! New values of protected columns come as arrays, too, sealed. So what the other parts see of the
//! part that writes is the server's own.
//!
//! Invariant: no other part reads a table. The two statements have one snapshot each (READ
//! COMMITTED), and what was committed between them would be seen by one of them alone. The rows
//! that are written are locked by the first, so both see them alike.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment as Set, Delete, Expr, FromTable, LockClause, Query, SelectItem, SetExpr, Statement,
    TableFactor, TableWithJoins, Update, UpdateTableFromKind, Visitor,
};

use super::parameters::note_casts;
use super::rows::expanded;
use super::skip_locked::verb_of;
use super::writes::{Target, check_deleted, note_types, skeleton};
use super::{Prepared, arrays, others};
use crate::analysis::{Analysis, Scope, output_list};
use crate::increment::{Computed, has_query, locked_as_written, part_assignments};
use crate::spread;
use crate::walk;
use crate::{Dialect, Form, InsertedColumn, Plan, Purpose, Refusal, Schema, Source};
use sql_plan::unsupported;

/// The plan of a query behind a `WITH` that writes. None: it has no such part, or more than one.
///
/// # Errors
/// The finisher would do otherwise than the server.
pub(super) fn of_query(query: &Query, schema: &Schema) -> Result<Option<Plan>, Refusal> {
    let Some((index, part)) = writing(query) else {
        return Ok(None);
    };
    check_others(query, index, schema.dialect)?;
    let part = Part::of(part, schema)?;
    let found = part.find(schema)?;
    let locks: Vec<LockClause> = skeleton(schema.dialect)?.locks;
    let (analysis, (fetched, written, outputs, columns)) = Analysis::run(schema, |analysis| {
        let fetched = found.fetch(&locks, analysis)?;
        let mut written = query.clone();
        let place = place_of(&mut written, index)?;
        *place = part.stripped(analysis)?;
        note_casts(&written, analysis)?;
        let outputs = analysis.query(&mut written, None, None).map_err(hinted)?;
        let columns = part.spread(place_of(&mut written, index)?, analysis)?;
        Ok((fetched, written, outputs, columns))
    })?;
    let verb = verb_of(&Statement::Query(Box::new(query.clone())));
    let holes = analysis.holes.clone();
    let writes = analysis.writes.clone();
    let mut query = found.plan(fetched, analysis, None)?;
    if matches!(part.statement, Statement::Update(_)) {
        query.fetch.template = locked_as_written(query.fetch.template, schema.dialect);
    }
    query.effects.writes = writes;
    query.effects.forgets_locks = true;
    let written = Statement::Query(Box::new(written));
    let outputs = output_list(outputs);
    let write = arrays::translated(written, &holes, outputs, &query, schema.dialect)?;
    Ok(Some(arrays::plan(query, columns, write, verb)))
}

/// The only part of `WITH` that updates or deletes, and its place among the parts.
fn writing(query: &Query) -> Option<(usize, &Statement)> {
    let tables = query.with.iter().flat_map(|with| &with.cte_tables);
    let mut parts = tables
        .enumerate()
        .filter_map(|(index, cte)| match &*cte.query.body {
            SetExpr::Update(statement) | SetExpr::Delete(statement) => Some((index, statement)),
            _ => None,
        });
    let first = parts.next();
    first.filter(|_| parts.next().is_none())
}

/// The statement of a part.
fn place_of(query: &mut Query, index: usize) -> Result<&mut Statement, Refusal> {
    let with = query.with.as_mut();
    let cte = with.and_then(|with| with.cte_tables.get_mut(index));
    match cte.map(|cte| &mut *cte.query.body) {
        Some(SetExpr::Update(statement) | SetExpr::Delete(statement)) => Ok(statement),
        _ => Err(unsupported("a WITH that writes, of this form")),
    }
}

/// Refuses a statement of which another part reads or changes rows of a table.
pub(super) fn check_others(query: &Query, index: usize, dialect: Dialect) -> Result<(), Refusal> {
    struct Tables {
        dialect: Dialect,
        names: Vec<String>,
    }
    impl Visitor for Tables {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let TableFactor::Table {
                name, args: None, ..
            } = factor
            else {
                return ControlFlow::Continue(());
            };
            match self.dialect.split(name) {
                Some((None, name)) if self.names.contains(&name) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        }
    }
    let mut others = query.clone();
    let mut names = Vec::new();
    if let Some(with) = &mut others.with {
        let cte = with.cte_tables.remove(index);
        let is_bare = cte.query.with.is_none();
        names.extend(
            with.cte_tables
                .iter()
                .map(|own| dialect.fold(&own.alias.name)),
        );
        names.push(dialect.fold(&cte.alias.name));
        // The part is evaluated by itself.
        let reads = |relation: &sqlparser::ast::ObjectName| match dialect.split(relation) {
            Some((None, name)) if names.contains(&name) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        if !is_bare || walk::relations(&cte.query, reads).is_break() {
            return Err(unsupported(
                "another query of WITH in the part that writes, where the finisher finds its rows,",
            )
            .with_hint("Put it into the condition, as a subquery."));
        }
    }
    match walk::visit(&others, &mut Tables { dialect, names }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(unsupported(
            "a table that is read or changed beside a WITH that writes rows which the finisher \
             finds",
        )
        .with_hint("Send two statements, in one transaction.")),
    }
}

/// A part that updates or deletes rows which the finisher finds.
struct Part<'s> {
    statement: Statement,
    target: Target<'s>,
    /// Assignments that the server can do.
    kept: Vec<Set>,
    /// Those that the finisher computes.
    computed: Vec<Computed>,
    returning: Option<Vec<SelectItem>>,
}

impl<'s> Part<'s> {
    fn of(statement: &Statement, schema: &'s Schema) -> Result<Self, Refusal> {
        let (table, returning) = match statement {
            Statement::Update(update) => (&update.table, &update.returning),
            Statement::Delete(delete) => (target_of(delete)?, &delete.returning),
            _ => return Err(unsupported("a statement of this kind")),
        };
        let target = Target::of(table, schema)?;
        if matches!(statement, Statement::Delete(_)) {
            check_deleted(target.table)?;
        }
        let (mut kept, mut computed) = (Vec::new(), Vec::new());
        if let Statement::Update(update) = statement {
            let name = target.known_as(schema.dialect);
            let scope = Scope::of_table(target.table, Some(name), schema);
            let analysis = Analysis::new(schema);
            (kept, computed) = part_assignments(update, target.table, &analysis, &scope)?;
            analysis.refuse_members(computed.iter().map(|(column, ..)| *column))?;
        }
        if has_query(returning) || has_query(&kept) {
            return Err(unsupported(
                "a query in RETURNING, or for a plain column, of rows that the finisher finds",
            ));
        }
        let (tables, _) = others_of(statement);
        let own = target.known_as(schema.dialect);
        others::check(returning.as_deref(), &kept, (own, tables), schema)?;
        Ok(Self {
            returning: returning
                .as_ref()
                .map(|items| expanded(items, (&target.name, target.table), schema.dialect)),
            statement: statement.clone(),
            target,
            kept,
            computed,
        })
    }

    /// The query that finds its rows: their locators, then values.
    fn find(&self, schema: &Schema) -> Result<Prepared, Refusal> {
        let (others, condition) = others_of(&self.statement);
        let values = self.computed.iter().map(|(_, _, value)| value.clone());
        self.target
            .query(values.collect(), others, condition, schema)
    }

    /// The statement without what the finisher evaluates. Computed values are holes.
    fn stripped(&self, analysis: &mut Analysis) -> Result<Statement, Refusal> {
        note_types(&self.kept, self.target.table, analysis)?;
        let returning = self.returning.clone();
        Ok(match &self.statement {
            Statement::Update(update) => {
                let first = analysis.dialect().row_locator().len();
                let mut assignments = self.kept.clone();
                for (number, (column, target, _)) in self.computed.iter().enumerate() {
                    let form = Form::Sealed(*column, Purpose::Store);
                    assignments.push(Set {
                        target: target.clone(),
                        value: analysis.hole(Source::Computed(first + number), form),
                    });
                }
                Statement::Update(Update {
                    assignments,
                    from: None,
                    selection: None,
                    returning,
                    ..update.clone()
                })
            }
            Statement::Delete(delete) => Statement::Delete(Delete {
                using: None,
                selection: None,
                returning,
                ..delete.clone()
            }),
            other => other.clone(),
        })
    }

    /// Puts the rows that were found into the statement, as arrays. Returns what these hold.
    fn spread(
        &self,
        written: &mut Statement,
        analysis: &mut Analysis,
    ) -> Result<Vec<InsertedColumn>, Refusal> {
        let dialect = analysis.dialect();
        let first = dialect.row_locator().len();
        let mut columns: Vec<_> = (0..first).map(InsertedColumn::Plain).collect();
        let mut arrays: Vec<Expr> = (0..first)
            .map(|number| analysis.hole(Source::Computed(number), Form::Plain))
            .collect();
        for (number, (id, ..)) in self.computed.iter().enumerate() {
            let index = first + number;
            columns.push(InsertedColumn::Sealed(index, *id));
            let form = Form::SealedArray(*id, Purpose::Store);
            arrays.push(analysis.hole(Source::Computed(index), form));
        }
        match written {
            Statement::Update(update) => {
                // The computed ones come last.
                spread::update(update, &self.target.name, arrays, dialect)?;
            }
            Statement::Delete(delete) => {
                spread::delete(delete, &self.target.name, arrays, dialect)?;
            }
            _ => return Err(unsupported("a statement of this kind")),
        }
        Ok(columns)
    }
}

/// The other relations by which a statement finds its rows, and its condition.
fn others_of(statement: &Statement) -> (&[TableWithJoins], Option<&Expr>) {
    match statement {
        Statement::Update(update) => {
            let others = match &update.from {
                None => &[][..],
                Some(
                    UpdateTableFromKind::AfterSet(tables) | UpdateTableFromKind::BeforeSet(tables),
                ) => tables,
            };
            (others, update.selection.as_ref())
        }
        Statement::Delete(delete) => {
            let others = delete.using.as_deref().unwrap_or_default();
            (others, delete.selection.as_ref())
        }
        _ => (&[], None),
    }
}

/// A refusal of what the other parts do, with what to do instead.
fn hinted(refusal: Refusal) -> Refusal {
    match refusal.hint {
        Some(_) => refusal,
        None => refusal.with_hint("Send two statements, in one transaction."),
    }
}

/// The table of a `DELETE`.
fn target_of(delete: &Delete) -> Result<&TableWithJoins, Refusal> {
    match &delete.from {
        FromTable::WithFromKeyword(from) if from.len() == 1 => Ok(&from[0]),
        _ => Err(unsupported("DELETE of several tables")),
    }
}
