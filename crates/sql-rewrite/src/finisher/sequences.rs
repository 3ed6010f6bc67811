//! `SELECT setval('numbers', max(id)) FROM t`: programs set a sequence to what a table has.
//!
//! The finisher computes the values, and the server sets the sequence to them in clear: `SELECT
//! setval('numbers', r.c0) FROM UNNEST($1) AS r (c0)`.
//!
//! Invariant: of the protected columns, only those whose values come from sequences take part, and
//! all rows of their tables do. The server has drawn such values itself, but for those that clients
//! gave; no other column decides what it is told.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Query, Select,
    SelectItem, SetExpr, Statement, Visitor,
};

use super::legs::{Leg, select_of};
use super::{Prepared, arrays};
use crate::analysis::{Analysis, Constant};
use crate::dialect::postgres::finisher;
use crate::walk;
use crate::{Form, InsertedColumn, Output, OutputKind, Plan, Refusal, Schema, Source};
use sql_plan::{refuse, unsupported};

/// The function that sets a sequence.
const SET: &str = "setval";

/// The plan of a query that sets a sequence. None: it is another query.
///
/// # Errors
/// It would tell the server of protected columns whose values it has not drawn.
pub(super) fn of_query(query: &Query, schema: &Schema) -> Result<Option<Plan>, Refusal> {
    let Some((item, function)) = call(query, schema) else {
        return Ok(None);
    };
    let mut values = arguments(function)?;
    let sequence = values.remove(0);
    if !is_of_server(&sequence)? {
        return Err(unsupported(
            "a sequence that a query names, in a call of setval",
        ));
    }
    let mut source = query.clone();
    let items = values.iter().cloned().map(SelectItem::UnnamedExpr);
    select_of(&mut source)?.projection = items.collect();
    check_whole(&source)?;
    finisher::check(&source, schema)?;
    let prepared = Prepared::new(source, None, schema)?;
    check_drawn(&prepared.legs, schema)?;
    let (analysis, (fetched, written)) = Analysis::run(schema, |analysis| {
        let fetched = prepared.fetch(&[], analysis)?;
        let mut hole = |index| analysis.hole(Source::Computed(index), Form::Plain);
        let holes = (0..values.len()).map(&mut hole).collect();
        let item = set_to_rows(item, &sequence, values.len());
        let written = arrays::select(vec![item], holes, schema.dialect)?;
        Ok((fetched, written))
    })?;
    let holes = analysis.holes.clone();
    let query = prepared.plan(fetched, analysis, None)?;
    let write = arrays::translated(
        Statement::Query(Box::new(written)),
        &holes,
        vec![Output::shown(OutputKind::Plain)],
        &query,
        schema.dialect,
    )?;
    let columns = (0..values.len()).map(InsertedColumn::Plain).collect();
    Ok(Some(arrays::plan(query, columns, write, "SELECT")))
}

/// The only column of a query, if it is a call of [`SET`].
fn call<'q>(query: &'q Query, schema: &Schema) -> Option<(&'q SelectItem, &'q Function)> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let [item] = select.projection.as_slice() else {
        return None;
    };
    let (SelectItem::UnnamedExpr(expression)
    | SelectItem::ExprWithAlias {
        expr: expression, ..
    }) = item
    else {
        return None;
    };
    match expression {
        Expr::Function(function)
            if schema.dialect.builtin(&function.name).as_deref() == Some(SET) =>
        {
            Some((item, function))
        }
        _ => None,
    }
}

fn arguments(function: &Function) -> Result<Vec<Expr>, Refusal> {
    let other = || unsupported("a call of setval of this form");
    let FunctionArguments::List(list) = &function.args else {
        return Err(other());
    };
    let is_plain = list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && function.over.is_none()
        && function.filter.is_none()
        && function.within_group.is_empty();
    let values = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if is_plain => Ok(value.clone()),
        _ => Err(other()),
    });
    let values: Vec<Expr> = values.collect::<Result<_, _>>()?;
    match values.len() {
        2 | 3 => Ok(values),
        _ => Err(other()),
    }
}

/// Whether the server can evaluate the name of a sequence: no column and no parameter is in it.
fn is_of_server(sequence: &Expr) -> Result<bool, Refusal> {
    let is_parameter = Constant::of(sequence)?
        .is_some_and(|constant| matches!(constant.source, Source::Parameter(_)));
    Ok(!is_parameter && finisher::is_of_no_row(sequence)?)
}

/// Refuses a query in which a column decides which rows take part.
fn check_whole(query: &Query) -> Result<(), Refusal> {
    struct Whole;
    impl Visitor for Whole {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let is_whole = query.with.is_none()
                && query.order_by.is_none()
                && query.limit_clause.is_none()
                && query.fetch.is_none()
                && matches!(*query.body, SetExpr::Select(_));
            match is_whole {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let has_joins =
                select.from.len() > 1 || select.from.iter().any(|from| !from.joins.is_empty());
            let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(of, more)
                if of.is_empty() && more.is_empty());
            let is_whole = !has_joins
                && !is_grouped
                && select.selection.is_none()
                && select.having.is_none()
                && select.qualify.is_none()
                && select.distinct.is_none();
            match is_whole {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }
    match walk::visit(query, &mut Whole) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(unsupported(
            "a call of setval in a query with conditions, joins, groups or bounds",
        )
        .with_hint("Read the value first, and pass it to setval as a constant.")),
    }
}

/// Refuses protected columns whose values the server has not drawn.
fn check_drawn(legs: &[Leg], schema: &Schema) -> Result<(), Refusal> {
    for leg in legs {
        let Some(table) = schema.tables.get(&leg.table) else {
            continue;
        };
        let mut columns = leg.columns.iter().map(|index| &table.columns[*index]);
        let hidden = columns.find(|column| {
            let rule = column.protected.map(|id| schema.column(id));
            rule.is_some_and(|rule| rule.draws.is_none())
        });
        if let Some(column) = hidden {
            return Err(refuse(format!(
                "setval would tell the server of protected column {}.{}, whose values do not come \
                 from a sequence",
                table.name, column.name
            )));
        }
    }
    Ok(())
}

/// The call with values of rows in the place of those that the client's has.
fn set_to_rows(item: &SelectItem, sequence: &Expr, count: usize) -> SelectItem {
    let mut item = item.clone();
    if let SelectItem::UnnamedExpr(expression)
    | SelectItem::ExprWithAlias {
        expr: expression, ..
    } = &mut item
        && let Expr::Function(function) = expression
        && let FunctionArguments::List(list) = &mut function.args
    {
        let values = (0..count).map(arrays::column);
        let given = std::iter::once(sequence.clone()).chain(values);
        let given = given.map(FunctionArgExpr::Expr);
        list.args = given.map(FunctionArg::Unnamed).collect();
    }
    item
}
