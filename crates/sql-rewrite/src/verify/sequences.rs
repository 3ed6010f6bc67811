//! A sequence that is set to what the finisher computes: the server is told of nothing but values
//! that it has drawn itself.
//!
//! The plan fetches all rows of its tables, and of their protected columns only such whose values
//! come from sequences.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, Statement, TableFactor, Visitor,
};

use super::{Doubt, read};
use crate::walk;
use crate::{FinisherWrite, Form, InsertedColumn, InsertedRows, OutputKind, Schema, Source};

/// The function that may be given such values.
const SET: &str = "setval";

/// Checks what is sent, if the plan's write is a query. False: it is another statement.
pub(super) fn check(
    plan: &FinisherWrite,
    inserted: &InsertedRows,
    schema: &Schema,
) -> Result<bool, Doubt> {
    let Statement::Query(written) = read(&plan.write.template, schema.dialect)? else {
        return Ok(false);
    };
    let parts = written.with.iter().flat_map(|with| &with.cte_tables);
    let mut parts = parts.map(|cte| &*cte.query.body);
    if parts.any(|part| matches!(part, SetExpr::Update(_) | SetExpr::Delete(_))) {
        // Rows that are written, of which the arrays are looked at.
        return Ok(false);
    }
    if !sets_sequence(&written, schema) {
        return Err(Doubt(
            "a query that takes computed values does more than set a sequence".to_owned(),
        ));
    }
    let is_clear = |hole: &crate::Hole| match hole.source {
        Source::Computed(index) => {
            hole.form == Form::Plain
                && matches!(inserted.columns.get(index), Some(InsertedColumn::Plain(_)))
        }
        _ => false,
    };
    let is_drawn = |kind: OutputKind| match kind {
        OutputKind::Plain => true,
        OutputKind::Sealed(id) => schema.column(id).draws.is_some(),
        OutputKind::Gathered(..) => false,
    };
    let fetch = &plan.query.fetch;
    let text = schema.dialect.parse(&plan.query.text);
    let text = text.map_err(|_| Doubt("the finisher's query cannot be read".to_owned()))?;
    let is_whole = fetch.holes.is_empty()
        && takes_all_rows(&read(&fetch.template, schema.dialect)?)
        && takes_all_rows(&text);
    let is_right = plan.upsert.is_none()
        && plan.write.holes.iter().all(is_clear)
        && fetch.outputs.iter().all(|output| is_drawn(output.kind))
        && is_whole;
    match is_right {
        true => Ok(true),
        false => Err(Doubt(
            "a sequence would be set to what other protected columns decide".to_owned(),
        )),
    }
}

/// Whether a query only sets a sequence, once for each row of its arrays.
fn sets_sequence(query: &Query, schema: &Schema) -> bool {
    let SetExpr::Select(select) = &*query.body else {
        return false;
    };
    let ([item], [from]) = (select.projection.as_slice(), select.from.as_slice()) else {
        return false;
    };
    let (SelectItem::UnnamedExpr(Expr::Function(function))
    | SelectItem::ExprWithAlias {
        expr: Expr::Function(function),
        ..
    }) = item
    else {
        return false;
    };
    schema.dialect.builtin(&function.name).as_deref() == Some(SET)
        && matches!(from.relation, TableFactor::UNNEST { .. })
        && from.joins.is_empty()
        && query.with.is_none()
}

/// Whether nothing in a statement chooses rows.
fn takes_all_rows(statement: &Statement) -> bool {
    struct Chosen;
    impl Visitor for Chosen {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            match query.limit_clause.is_some() || query.fetch.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let is_grouped = match &select.group_by {
                GroupByExpr::Expressions(columns, more) => !columns.is_empty() || !more.is_empty(),
                GroupByExpr::All(_) => true,
            };
            let joins = select.from.iter().any(|from| !from.joins.is_empty());
            let chooses = select.selection.is_some()
                || select.having.is_some()
                || select.distinct.is_some()
                || select.qualify.is_some()
                || select.from.len() > 1
                || is_grouped
                || joins;
            match chooses {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    walk::visit(statement, &mut Chosen).is_continue()
}
