//! `FOR UPDATE SKIP LOCKED` where only the finisher can tell which rows are meant, or in which
//! order: programs take their next jobs so, by `LIMIT`.
//!
//! The server returns the rows that may be meant, without locks. The finisher evaluates conditions
//! and order over them, and answers with their locators. Then the server gets the client's
//! statement, in which the rows of these locators stand in the place of conditions and order:
//! `SELECT id FROM unnest($1, $2, $3) WITH ORDINALITY AS r (…), jobs WHERE jobs.ctid = r.… ORDER BY
//! r.number LIMIT 1 FOR UPDATE SKIP LOCKED`. So `LIMIT`, `OFFSET`, the locks and the rows that are
//! returned are the server's own. It locks one row after the other, in their order, and ends with
//! the last one that `LIMIT` takes.
//!
//! A row may change between both statements. A locator has the version of its row (`xmin`) beside
//! its place: a place may be given to another row, but no later transaction has the same number.
//! - READ COMMITTED: the second statement sees what was committed meanwhile. A row that was changed
//!   or deleted has no row of this version any more, and is skipped. If the change is committed
//!   while the server waits for nothing but is about to lock, it looks at the newest version again
//!   (`EvalPlanQual`), whose `xmin` is another one: the row is skipped, too. The server alone would
//!   evaluate the conditions again in that moment, and skip the row if it had come a moment
//!   earlier, while the other transaction held its lock. Nobody can tell the two apart. The
//!   conditions are true of each row that is returned, because it is as it was when the finisher
//!   saw it. Rows that were inserted meanwhile are not seen, as by a statement that began before.
//! - REPEATABLE READ, SERIALIZABLE: both statements have one snapshot. The server finds the version
//!   that was fetched. If it was changed since, the lock fails with 40001, as by the server alone.
//! - A lock alone changes no version: a row that was locked and is free again is returned.
//!
//! Without SKIP LOCKED the server would wait, and evaluate the conditions over what it then finds.
//! Such statements lock what they fetch.

use std::ops::ControlFlow;

use column_value::LogicalType;
use sqlparser::ast::{
    Expr, GroupByExpr, Ident, LimitClause, NonBlock, OrderByExpr, Query, Select, SelectItem,
    SetExpr, Statement, TableFactor, Value, Visitor, VisitorMut,
};

use super::legs::{read, select_of};
use super::parameters::note_casts;
use super::rows::expanded;
use super::writes::note_types;
use super::{Prepared, arrays};
use crate::analysis::function::sort_keys;
use crate::analysis::{Analysis, Constant, Outputs, check_key, key_of, output_list};
use crate::dialect::postgres::finisher;
use crate::increment::{has_query, written_table};
use crate::walk;
use crate::{ColumnId, Dialect, Form, InsertedColumn, Plan, Refusal, Schema, Source, Table, Use};
use sql_plan::{refuse, unsupported};
use sqlstate::SqlState;

/// The relation of the locators in the statement for the server.
const ROWS: &str = "strongroom_rows";
/// Its column that counts the rows.
const NUMBER: &str = "strongroom_number";

/// The plan of a statement in which one query skips locked rows. None: there is no such query, or
/// it may lock all rows that are fetched.
///
/// # Errors
/// The finisher would do otherwise than the server.
pub(super) fn of_statement(
    statement: &Statement,
    schema: &Schema,
) -> Result<Option<Plan>, Refusal> {
    let Some(query) = skipping(statement)? else {
        return Ok(None);
    };
    let is_whole = matches!(statement, Statement::Query(whole) if **whole == query);
    if is_whole && query.limit_clause.is_none() && query.fetch.is_none() {
        return Ok(None);
    }
    let choice = Choice::of(query, schema)?;
    choice.check_names(statement, schema.dialect)?;
    check_alone(&choice.query, schema.dialect)?;
    let prepared = choice.find(schema)?;
    let (analysis, (fetched, written, outputs)) = Analysis::run(schema, |analysis| {
        let fetched = prepared.fetch(&[], analysis)?;
        choice.note_bounds(analysis)?;
        let mut written = statement.clone();
        change(&mut written, |query| choice.strip(query))?;
        let outputs = analysed(&mut written, analysis)?;
        let locators = schema.dialect.row_version();
        let holes = (0..locators.len())
            .map(|number| analysis.hole(Source::Computed(number), Form::Plain))
            .collect::<Vec<_>>();
        change(&mut written, |query| {
            choice.choose(query, locators, holes.clone(), schema.dialect)
        })?;
        Ok((fetched, written, outputs))
    })?;
    let holes = analysis.holes.clone();
    let (writes, fires_triggers) = (analysis.writes.clone(), analysis.fires_triggers);
    let mut query = prepared.plan(fetched, analysis, None)?;
    query.effects.uses.extend(choice.sorted_by(schema.dialect)?);
    query.effects.writes = writes;
    query.effects.forgets_locks = fires_triggers;
    let count = schema.dialect.row_version().len();
    let columns = (0..count).map(InsertedColumn::Plain).collect();
    let outputs = output_list(outputs);
    let write = arrays::translated(written, &holes, outputs, &query, schema.dialect)?;
    Ok(Some(arrays::plan(
        query,
        columns,
        write,
        verb_of(statement),
    )))
}

/// What the client is told that was done.
pub(super) fn verb_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::Query(query) => match *query.body {
            SetExpr::Insert(_) => "INSERT 0",
            SetExpr::Update(_) => "UPDATE",
            SetExpr::Delete(_) => "DELETE",
            _ => "SELECT",
        },
        _ => "SELECT",
    }
}

/// Analyses what the server gets, but for the rows that were chosen.
fn analysed(written: &mut Statement, analysis: &mut Analysis) -> Result<Outputs, Refusal> {
    let body = match written {
        Statement::Query(query) => match &*query.body {
            SetExpr::Update(update) => Some(update.clone()),
            _ => None,
        },
        Statement::Update(_) => Some(written.clone()),
        _ => None,
    };
    if let Some(Statement::Update(update)) = &body
        && let Ok(table) = written_table(&update.table.relation, analysis.schema)
    {
        note_types(&update.assignments, table, analysis)?;
    }
    note_casts(written, analysis)?;
    let outputs = match written {
        Statement::Query(query) => analysis.query(query, None, None),
        Statement::Update(update) => analysis.update(update, None),
        Statement::Delete(delete) => analysis.delete(delete, None),
        _ => Err(unsupported("a statement of this kind")),
    };
    outputs.map_err(|refusal| match refusal.hint {
        Some(_) => refusal,
        None => refusal.with_hint(
            "Beside SKIP LOCKED, only WHERE and ORDER BY compute from protected columns. Lock the \
             rows, then compute in a statement of its own.",
        ),
    })
}

fn skips(query: &Query) -> bool {
    let mut locks = query.locks.iter();
    locks.any(|lock| lock.nonblock == Some(NonBlock::SkipLocked))
}

/// The only query of a statement that skips locked rows.
fn skipping(statement: &Statement) -> Result<Option<Query>, Refusal> {
    struct Found(Vec<Query>);
    impl Visitor for Found {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            if skips(query) {
                self.0.push(query.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Found(Vec::new());
    let _: ControlFlow<()> = walk::visit(statement, &mut found);
    match found.0.len() {
        0 | 1 => Ok(found.0.pop()),
        _ => Err(unsupported(
            "a statement with several queries that skip locked rows, over protected columns,",
        )
        .with_hint("Send them one by one.")),
    }
}

/// Changes that query.
fn change(
    statement: &mut Statement,
    function: impl Fn(&mut Query) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    struct Changed<F>(F);
    impl<F: Fn(&mut Query) -> Result<(), Refusal>> VisitorMut for Changed<F> {
        type Break = Refusal;

        fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Refusal> {
            match skips(query).then(|| (self.0)(query)) {
                Some(Err(refusal)) => ControlFlow::Break(refusal),
                Some(Ok(())) | None => ControlFlow::Continue(()),
            }
        }
    }
    match walk::visit_mut(statement, &mut Changed(function)) {
        ControlFlow::Break(refusal) => Err(refusal),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A query that chooses rows of a table.
struct Choice<'s> {
    query: Query,
    table: &'s Table,
    /// The name that qualifies the columns of the table.
    name: Ident,
    /// Its select list, with `*` written out.
    items: Vec<SelectItem>,
}

impl<'s> Choice<'s> {
    fn of(mut query: Query, schema: &'s Schema) -> Result<Self, Refusal> {
        let several = || {
            unsupported("SKIP LOCKED over what is no single table, where the finisher evaluates,")
                .with_hint(
                    "Lock rows of one table, and find those of others by IN or EXISTS in WHERE.",
                )
        };
        let select = select_of(&mut query)?;
        check_parts(select)?;
        let [from] = select.from.as_slice() else {
            return Err(several());
        };
        let TableFactor::Table {
            name,
            alias,
            args: None,
            sample: None,
            ..
        } = &from.relation
        else {
            return Err(several());
        };
        if !from.joins.is_empty() {
            return Err(several());
        }
        let last = name.0.last().and_then(|part| part.as_ident()).cloned();
        let name = match alias {
            Some(alias) if !alias.columns.is_empty() => {
                return Err(unsupported(
                    "other names of columns with SKIP LOCKED, where the finisher evaluates,",
                ));
            }
            Some(alias) => Some(alias.name.clone()),
            None => last,
        };
        let mut choice = Self {
            table: written_table(&from.relation, schema)?,
            name: name.ok_or_else(several)?,
            items: Vec::new(),
            query,
        };
        let items = &select_of(&mut choice.query)?.projection;
        choice.items = expanded(items, (&choice.name, choice.table), schema.dialect);
        if choice.query.with.is_some() && has_query(&choice.items) {
            return Err(unsupported(
                "WITH and a query in the select list of one that skips locked rows",
            ));
        }
        Ok(choice)
    }

    /// Refuses names of the statement's common table expressions: the query is evaluated by itself.
    fn check_names(&self, statement: &Statement, dialect: Dialect) -> Result<(), Refusal> {
        let (all, own) = (names_of(statement, dialect), names_of(&self.query, dialect));
        let others: Vec<&String> = all.iter().filter(|name| !own.contains(name)).collect();
        let used = walk::relations(&self.query, |relation| match dialect.split(relation) {
            Some((None, name)) if others.contains(&&name) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        match used {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(unsupported(
                "another query of WITH in a query that skips locked rows, with a finisher,",
            )
            .with_hint("Put it into the condition, as a subquery.")),
        }
    }

    /// The query that finds the rows in their order: their locators.
    fn find(&self, schema: &Schema) -> Result<Prepared, Refusal> {
        let mut query = read("SELECT 1", schema.dialect)?;
        query.with.clone_from(&self.query.with);
        query.order_by.clone_from(&self.query.order_by);
        if let Some(order_by) = &mut query.order_by {
            for key in sort_keys(order_by)? {
                self.resolve(key, schema.dialect)?;
            }
        }
        let SetExpr::Select(own) = &*self.query.body else {
            return Err(unsupported("a query of this form"));
        };
        let select = select_of(&mut query)?;
        select.from.clone_from(&own.from);
        select.selection.clone_from(&own.selection);
        finisher::check_failing(&query, schema)?;
        let locators = schema.dialect.row_version();
        let factor: *const TableFactor = &select_of(&mut query)?.from[0].relation;
        let mut prepared = Prepared::new(query, Some((factor, locators)), schema)?;
        let locators = locators.iter().map(|column| {
            let parts = vec![self.name.clone(), Ident::new(*column)];
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
        });
        select_of(&mut prepared.query)?.projection = locators.collect();
        Ok(prepared)
    }

    /// Protected columns that decide the order of the rows, which the server sees.
    fn sorted_by(&self, dialect: Dialect) -> Result<Vec<(ColumnId, Use)>, Refusal> {
        let mut order_by = self.query.order_by.clone();
        let mut columns = Vec::new();
        let keys = order_by.as_mut().map(sort_keys).transpose()?;
        for key in keys.into_iter().flatten() {
            self.resolve(key, dialect)?;
            let _: ControlFlow<()> = walk::expressions(&key.expr, |expression| {
                let name = match expression {
                    Expr::Identifier(name) => Some(name),
                    Expr::CompoundIdentifier(parts) => parts.last(),
                    _ => None,
                };
                let index = name.and_then(|name| self.table.position(&dialect.fold(name)));
                let column = index.and_then(|index| self.table.columns[index].protected);
                columns.extend(column.map(|column| (column, Use::Sorted)));
                ControlFlow::Continue(())
            });
        }
        Ok(columns)
    }

    /// Puts what it means in the place of a key that is the number or the name of an output.
    fn resolve(&self, key: &mut OrderByExpr, dialect: Dialect) -> Result<(), Refusal> {
        let outputs = self.items.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(value) => Some((dialect.output_name(value), value)),
            SelectItem::ExprWithAlias { expr, alias } => Some((Some(dialect.fold(alias)), expr)),
            _ => None,
        });
        let outputs: Vec<_> = outputs.collect();
        check_key(&key.expr)?;
        let meant = match key_of(&key.expr) {
            Expr::Value(value) => match &value.value {
                Value::Number(number, _) => {
                    let index = number.parse::<usize>().ok();
                    let index = index.and_then(|number| number.checked_sub(1));
                    let output = index.and_then(|index| outputs.get(index));
                    let output = output.ok_or_else(|| {
                        refuse(format!("ORDER BY position {number} is not in select list"))
                            .with_state(SqlState::INVALID_COLUMN_REFERENCE)
                    })?;
                    Some(output.1)
                }
                _ => None,
            },
            Expr::Identifier(name) => {
                let name = dialect.fold(name);
                let mut named = outputs
                    .iter()
                    .filter(|(own, _)| own.as_ref() == Some(&name));
                let first = named.next().map(|(_, value)| *value);
                if named.any(|(_, value)| Some(*value) != first) {
                    return Err(refuse(format!("ORDER BY \"{name}\" is ambiguous"))
                        .with_state(SqlState::AMBIGUOUS_COLUMN));
                }
                first
            }
            _ => None,
        };
        if let Some(meant) = meant {
            key.expr = meant.clone();
        }
        Ok(())
    }

    /// Notes the types of parameters that bound the rows.
    fn note_bounds(&self, analysis: &mut Analysis) -> Result<(), Refusal> {
        let (limit, offset) = match &self.query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(LimitClause::OffsetCommaLimit { .. }) | None => (None, None),
        };
        let first = self.query.fetch.as_ref();
        let first = first.and_then(|fetch| fetch.quantity.as_ref());
        for bound in [limit, offset, first].into_iter().flatten() {
            if let Some(constant) = Constant::of(bound)?
                && constant.cast.is_none()
            {
                let parameters = &mut analysis.parameters;
                parameters.note_type(&constant.source, LogicalType::BigInt);
            }
        }
        Ok(())
    }

    /// Takes from the query what the finisher evaluates.
    fn strip(&self, query: &mut Query) -> Result<(), Refusal> {
        query.with = None;
        query.order_by = None;
        let select = select_of(query)?;
        select.selection = None;
        select.projection.clone_from(&self.items);
        Ok(())
    }

    /// Puts the rows that were found into the query, in their order.
    fn choose(
        &self,
        query: &mut Query,
        locators: &[&str],
        arrays: Vec<Expr>,
        dialect: Dialect,
    ) -> Result<(), Refusal> {
        let names = locators.iter().map(|name| format!("strongroom_{name}"));
        let names: Vec<String> = names.collect();
        let equal = locators
            .iter()
            .zip(&names)
            .map(|(column, name)| format!("{}.{column} = {ROWS}.{name}", self.name));
        let text = format!(
            "SELECT 1 FROM UNNEST(NULL) WITH ORDINALITY AS {ROWS} ({}, {NUMBER}) WHERE {} ORDER BY \
             {ROWS}.{NUMBER}",
            names.join(", "),
            equal.collect::<Vec<_>>().join(" AND ")
        );
        let mut rows = read(&text, dialect)?;
        query.order_by = rows.order_by.take();
        let found = select_of(&mut rows)?;
        for from in &mut found.from {
            if let TableFactor::UNNEST { array_exprs, .. } = &mut from.relation {
                array_exprs.clone_from(&arrays);
            }
        }
        let select = select_of(query)?;
        select.selection = found.selection.take();
        let own = std::mem::replace(&mut select.from, std::mem::take(&mut found.from));
        select.from.extend(own);
        Ok(())
    }
}

/// Refuses what the server refuses with FOR UPDATE.
fn check_parts(select: &Select) -> Result<(), Refusal> {
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(of, more)
        if of.is_empty() && more.is_empty());
    let what = match select {
        _ if select.distinct.is_some() => "DISTINCT clause",
        _ if is_grouped => "GROUP BY clause",
        _ if select.having.is_some() => "HAVING clause",
        _ => return Ok(()),
    };
    Err(refuse(format!("FOR UPDATE is not allowed with {what}")))
}

/// The names of common table expressions.
fn names_of(part: &impl sqlparser::ast::Visit, dialect: Dialect) -> Vec<String> {
    struct Names(Vec<String>, Dialect);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            let names = tables.map(|cte| self.1.fold(&cte.alias.name));
            self.0.extend(names);
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new(), dialect);
    let _: ControlFlow<()> = walk::visit(part, &mut names);
    names.0
}

/// Refuses a query that names a relation of one around it.
fn check_alone(query: &Query, dialect: Dialect) -> Result<(), Refusal> {
    struct Qualified {
        dialect: Dialect,
        relations: Vec<String>,
        used: Vec<String>,
    }
    impl Visitor for Qualified {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let (name, alias) = match factor {
                TableFactor::Table { name, alias, .. } => {
                    (name.0.last().and_then(|part| part.as_ident()), alias)
                }
                TableFactor::Derived { alias, .. }
                | TableFactor::Function { alias, .. }
                | TableFactor::UNNEST { alias, .. }
                | TableFactor::NestedJoin { alias, .. } => (None, alias),
                _ => (None, &None),
            };
            let known = alias.as_ref().map(|alias| &alias.name).or(name);
            self.relations
                .extend(known.map(|name| self.dialect.fold(name)));
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(parts) = expression
                && let [.., relation, _] = parts.as_slice()
            {
                self.used.push(self.dialect.fold(relation));
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Qualified {
        dialect,
        relations: Vec::new(),
        used: Vec::new(),
    };
    let _: ControlFlow<()> = walk::visit(query, &mut found);
    match found
        .used
        .iter()
        .find(|name| !found.relations.contains(name))
    {
        None => Ok(()),
        Some(name) => Err(unsupported(&format!(
            "{name} of another query in one that skips locked rows, where the finisher evaluates,"
        ))
        .with_hint("Lock the rows in a query that can be evaluated by itself.")),
    }
}
