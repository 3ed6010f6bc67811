//! Which rows of the target can have a partner in the source, as far as the text shows: only those
//! are fetched and locked.
//!
//! The conditions are for the fetch alone. The finisher evaluates the client's own.

use sqlparser::ast::{BinaryOperator, Expr, Ident, Query, SetExpr, TableFactor, Value};

use crate::analysis::Constant;
use crate::finisher::legs;
use crate::{Schema, Table};

/// Conditions that rows of the target meet which have a partner, given the condition of the join.
pub(super) fn conditions(
    source: &TableFactor,
    on: &Expr,
    (name, table): (&Ident, &Table),
    schema: &Schema,
) -> Vec<Expr> {
    let mut equal = Vec::new();
    pairs(on, &mut equal);
    let Some(own_name) = name_of(source) else {
        return Vec::new();
    };
    let dialect = schema.dialect;
    let of = |expression: &Expr, relation: &Ident| match expression {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [own, column] if dialect.fold(own) == dialect.fold(relation) => Some(column.clone()),
            _ => None,
        },
        _ => None,
    };
    let found = equal.into_iter().filter_map(|(left, right)| {
        let (target, other) = match (of(left, name), of(right, own_name)) {
            (Some(target), Some(other)) => (target, other),
            _ => (of(right, name)?, of(left, own_name)?),
        };
        table.position(&dialect.fold(&target))?;
        let column = Expr::CompoundIdentifier(vec![name.clone(), target]);
        among(column, source, (own_name, &other), schema)
    });
    found.collect()
}

/// The two sides of comparisons for equality that are joined by `AND`.
fn pairs<'e>(condition: &'e Expr, found: &mut Vec<(&'e Expr, &'e Expr)>) {
    match condition {
        Expr::Nested(inner) => pairs(inner, found),
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::And => {
                pairs(left, found);
                pairs(right, found);
            }
            BinaryOperator::Eq => found.push((left, right)),
            _ => {}
        },
        _ => {}
    }
}

/// That a value is one of those of a column of the source.
fn among(
    value: Expr,
    source: &TableFactor,
    (name, column): (&Ident, &Ident),
    schema: &Schema,
) -> Option<Expr> {
    let dialect = schema.dialect;
    let position = |columns: &[sqlparser::ast::TableAliasColumnDef]| {
        let mut columns = columns.iter();
        columns.position(|own| dialect.fold(&own.name) == dialect.fold(column))
    };
    match source {
        TableFactor::Table { args: None, .. } => {
            let text = format!("SELECT 1 FROM {source} WHERE 1 = 1");
            let mut query = legs::read(&text, dialect).ok()?;
            let SetExpr::Select(select) = &mut *query.body else {
                return None;
            };
            let other = Expr::CompoundIdentifier(vec![name.clone(), column.clone()]);
            select.selection = Some(Expr::BinaryOp {
                left: Box::new(other),
                op: BinaryOperator::Eq,
                right: Box::new(value),
            });
            Some(Expr::Exists {
                subquery: Box::new(query),
                negated: false,
            })
        }
        TableFactor::Derived {
            subquery,
            alias: Some(alias),
            ..
        } => {
            let list = cells(subquery, position(&alias.columns)?)?;
            Some(Expr::InList {
                expr: Box::new(value),
                list,
                negated: false,
            })
        }
        TableFactor::UNNEST {
            alias: Some(alias),
            array_exprs,
            ..
        } => {
            let array = array_exprs.get(position(&alias.columns)?)?;
            Constant::of(array).ok()??;
            Some(Expr::AnyOp {
                left: Box::new(value),
                compare_op: BinaryOperator::Eq,
                right: Box::new(array.clone()),
                is_some: false,
            })
        }
        _ => None,
    }
}

/// The cells of a column of VALUES, if all are constants.
fn cells(query: &Query, index: usize) -> Option<Vec<Expr>> {
    let SetExpr::Values(values) = &*query.body else {
        return None;
    };
    if query.with.is_some() {
        return None;
    }
    let cells = values.rows.iter().map(|row| {
        let cell = row.content.get(index)?;
        Constant::of(cell).ok()??;
        let is_null = matches!(cell, Expr::Value(own) if own.value == Value::Null);
        (!is_null).then(|| cell.clone())
    });
    cells.collect()
}

/// The name that qualifies the columns of a source, if it has one.
pub(super) fn name_of(source: &TableFactor) -> Option<&Ident> {
    match source {
        TableFactor::Table { name, alias, .. } => {
            let last = name.0.last().and_then(|part| part.as_ident());
            alias.as_ref().map(|alias| &alias.name).or(last)
        }
        TableFactor::Derived { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::Function { alias, .. } => alias.as_ref().map(|alias| &alias.name),
        _ => None,
    }
}
