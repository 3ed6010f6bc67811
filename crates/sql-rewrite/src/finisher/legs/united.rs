//! One statement that returns the rows of all legs.

use sqlparser::ast::{
    Expr, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, Statement, Value, With,
};

use super::{Analysed, ArrayColumn, Fetched, read};
use crate::analysis::Analysis;
use crate::dialect::postgres::finisher;
use crate::{Dialect, Output, OutputKind, Refusal, Schema};
use sql_plan::{FetchedColumnPlan, FetchedRelation, unsupported};

/// One statement of all legs.
pub(super) fn together(
    mut analysed: Vec<Analysed>,
    analysis: &Analysis,
) -> Result<Fetched, Refusal> {
    let dialect = analysis.dialect();
    let has_index = analysed.len() != 1;
    let mut outputs = Vec::new();
    if has_index {
        outputs.push(Output::shown(OutputKind::Plain));
    }
    let mut relations = Vec::new();
    let mut fillers = Vec::new();
    for leg in &analysed {
        let mut relation = FetchedRelation {
            columns: Vec::new(),
        };
        let mut arrays = Vec::new();
        for (kind, element, array) in &leg.columns {
            relation.columns.push(FetchedColumnPlan {
                output: outputs.len(),
                element: *element,
            });
            outputs.push(Output::shown(*kind));
            fillers.push(filler(*kind, array, analysis.schema)?);
            arrays.push(array.clone());
        }
        relations.push((relation, arrays));
    }
    let query = match has_index {
        false => analysed.pop().map(|leg| leg.query),
        true => united(analysed, &fillers, dialect)?,
    };
    let query = query.ok_or_else(|| unsupported("a query without a table"))?;
    Ok(Fetched {
        statement: Statement::Query(Box::new(query)),
        outputs,
        relations,
        has_index,
    })
}

/// What stands in a column in the rows of the other legs.
fn filler(kind: OutputKind, array: &ArrayColumn, schema: &Schema) -> Result<Expr, Refusal> {
    let type_name = match kind {
        OutputKind::Plain => &array.type_name,
        OutputKind::Sealed(id) | OutputKind::Gathered(id, _) => {
            schema.column(id).server_type().name()
        }
    };
    let query = read(&format!("SELECT CAST(NULL AS {type_name})"), schema.dialect)?;
    let unknown = || unsupported(&format!("a column of type {type_name}"));
    match *query.body {
        SetExpr::Select(select) => match <[SelectItem; 1]>::try_from(select.projection) {
            Ok([SelectItem::UnnamedExpr(null)]) => Ok(null),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

/// One query that returns the rows of all legs.
fn united(
    legs: Vec<Analysed>,
    fillers: &[Expr],
    dialect: Dialect,
) -> Result<Option<Query>, Refusal> {
    let mut whole: Option<Query> = None;
    let mut with: Option<With> = None;
    let mut start = 0;
    for (index, leg) in legs.into_iter().enumerate() {
        let mut query = leg.query;
        if !query.locks.is_empty() {
            // No part of a union may lock.
            let name = (finisher::LOCKED_RELATION, index, leg.columns.len());
            query = over(name, query, dialect)?;
        }
        match (&mut with, query.with.take()) {
            (Some(with), Some(own)) => with.cte_tables.extend(own.cte_tables),
            (None, Some(own)) => with = Some(own),
            (_, None) => {}
        }
        let SetExpr::Select(select) = &mut *query.body else {
            return Ok(None);
        };
        widen(select, index, start, fillers);
        start += leg.columns.len();
        whole = Some(match whole {
            None => query,
            Some(mut earlier) => {
                earlier.body = Box::new(SetExpr::SetOperation {
                    op: SetOperator::Union,
                    set_quantifier: SetQuantifier::All,
                    left: earlier.body,
                    right: query.body,
                });
                earlier
            }
        });
    }
    if let Some(whole) = &mut whole {
        whole.with = with;
    }
    Ok(whole)
}

/// A query over another one, in its `WITH`, which returns so many columns.
pub(super) fn over(
    (name, index, count): (&str, usize, usize),
    inner: Query,
    dialect: Dialect,
) -> Result<Query, Refusal> {
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    let names = names.join(", ");
    let name = format!("{name}_{index}");
    let text = format!("WITH {name} ({names}) AS (SELECT 1) SELECT {names} FROM {name}");
    let mut query = read(&text, dialect)?;
    for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        *cte.query = inner.clone();
    }
    Ok(query)
}

/// Puts the index of a leg and the columns of the others around its own, which begin at `start`.
fn widen(select: &mut Select, index: usize, start: usize, fillers: &[Expr]) {
    let own = std::mem::take(&mut select.projection);
    let end = start + own.len();
    let number = Value::Number(index.to_string(), false);
    let filler = |null: &Expr| SelectItem::UnnamedExpr(null.clone());
    select
        .projection
        .push(SelectItem::UnnamedExpr(Expr::Value(number.into())));
    select
        .projection
        .extend(fillers[..start].iter().map(filler));
    select.projection.extend(own);
    select.projection.extend(fillers[end..].iter().map(filler));
}
