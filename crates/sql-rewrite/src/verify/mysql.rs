//! What is proved of plans for MySQL and MariaDB alone.

use super::Doubt;
use super::label::Label;
use crate::{
    AggregateFunction, Current, Dialect, Expression, Finish, Form, Hole, Mode, OutputKind,
    ProtectedColumn, Purpose, ReadModifyWrite, Schema, Source,
};
use sqlparser::ast::{BinaryOperator, Expr, GroupByExpr, LimitClause, SetExpr, Statement, Value};

/// Checks that the server compares a sealed value as it would compare the value: by a form that
/// equal values share, or that is sorted as they are. A value that the server itself gave for the
/// row is compared with what the row has, in any mode.
pub(super) fn check_compared(hole: &Hole, schema: &Schema) -> Result<(), Doubt> {
    let (Dialect::MySql(_), Form::Sealed(id, purpose)) = (schema.dialect, hole.form) else {
        return Ok(());
    };
    let column = schema.column(id);
    let wrong = match (purpose, column.mode) {
        _ if matches!(hole.source, Source::Locator(_)) => None,
        (Purpose::Store, _) | (Purpose::Bound, Mode::Order) => None,
        (Purpose::Match, Mode::Equality | Mode::Order) => {
            let is_other = column.logical.is_text() && !schema.catalogue.binary_texts.contains(&id);
            is_other.then_some("a text is compared by its bytes, which its collation may not do")
        }
        (Purpose::Match | Purpose::Bound, _) => {
            Some("sealed values are compared that are not alike")
        }
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(Doubt(wrong.to_owned())),
    }
}

/// Whether the server finds the least and greatest of sealed values by their bytes, as these are
/// sorted.
pub(super) fn is_extreme(one: &Label, schema: &Schema) -> bool {
    matches!(schema.dialect, Dialect::MySql(_))
        && one.sealed.is_some_and(|sealed| {
            !sealed.is_array && schema.column(sealed.column).mode == Mode::Order
        })
}

/// Whether an operand is a value that the server gave for the row.
pub(super) fn is_given(operand: &Expr, holes: &[Hole], dialect: Dialect) -> bool {
    matches!(dialect, Dialect::MySql(_)) && given(operand, holes).is_some()
}

/// The number of the value that the server gave for the row, by the name of its parameter.
fn given(operand: &Expr, holes: &[Hole]) -> Option<usize> {
    let Expr::Value(value) = operand else {
        return None;
    };
    let Value::Placeholder(name) = &value.value else {
        return None;
    };
    let number: usize = name.strip_prefix('$')?.parse().ok()?;
    match holes.get(number.checked_sub(1)?)?.source {
        Source::Locator(number) => Some(number),
        _ => None,
    }
}

/// Checks an `UPDATE` that the proxy computes for: at most one row is read, each value is written
/// back where it was read, and only if the row still has all that was computed from.
pub(super) fn check_modify(modify: &ReadModifyWrite, schema: &Schema) -> Result<(), Doubt> {
    if !matches!(schema.dialect, Dialect::MySql(_)) {
        return Ok(());
    }
    if modify.write_by_key.is_some() || modify.locks.is_some() {
        return Err(Doubt("a row is written without what it has".to_owned()));
    }
    for (number, current) in modify.current.iter().enumerate() {
        let Current::Sealed(column) = *current else {
            return Err(Doubt("a plain value is computed with".to_owned()));
        };
        let is_read = modify
            .read
            .outputs
            .get(number)
            .is_some_and(|output| output.kind == OutputKind::Sealed(column));
        let is_compared = |hole: &Hole| hole.form == Form::Sealed(column, Purpose::Match);
        let mut own = modify.write.holes.iter();
        let is_own = |hole: &&Hole| matches!(hole.source, Source::Locator(at) if at == number);
        if !is_read || !own.find(is_own).is_some_and(is_compared) {
            return Err(Doubt(
                "a row is written that need not have what was computed from".to_owned(),
            ));
        }
    }
    let Statement::Query(read) = super::read(&modify.read.template, schema.dialect)? else {
        return Err(Doubt("what is computed from is not read".to_owned()));
    };
    if read.locks.len() != 1 {
        return Err(Doubt("what is computed from is not locked".to_owned()));
    }
    let Statement::Update(write) = super::read(&modify.write.template, schema.dialect)? else {
        return Err(Doubt("what is computed is not written".to_owned()));
    };
    let mut left: Vec<usize> = (0..modify.current.len()).collect();
    let mut rest: Vec<&Expr> = write.selection.iter().collect();
    while let Some(part) = rest.pop() {
        match part {
            Expr::BinaryOp {
                left: one,
                op: BinaryOperator::And,
                right: other,
            } => rest.extend([&**one, &**other]),
            Expr::BinaryOp {
                left: column,
                op: BinaryOperator::Spaceship,
                right,
            } if names(column, given(right, &modify.write.holes), modify, schema) => {
                left.retain(|number| Some(*number) != given(right, &modify.write.holes));
            }
            _ => {}
        }
    }
    match left.is_empty() {
        true => Ok(()),
        false => Err(Doubt("a row is written whatever it has".to_owned())),
    }
}

/// Whether an expression is the column of a value that was read.
fn names(column: &Expr, number: Option<usize>, modify: &ReadModifyWrite, schema: &Schema) -> bool {
    let (Expr::CompoundIdentifier(parts), Some(number)) = (column, number) else {
        return false;
    };
    let read = modify.current.get(number).and_then(|own| own.sealed());
    let last = parts.last().map(|name| schema.dialect.fold(name));
    read.is_some_and(|read| last.as_ref() == Some(&schema.column(read).column))
}

/// Checks a query that the proxy finishes: the server gives all rows, as they are, and the proxy
/// sorts and adds up only values whose order and sum are those of the server.
pub(super) fn check_finish(finish: &Finish, schema: &Schema) -> Result<(), Doubt> {
    if !matches!(schema.dialect, Dialect::MySql(_)) {
        return Ok(());
    }
    let Statement::Query(fetch) = super::read(&finish.fetch.template, schema.dialect)? else {
        return Err(Doubt("what is finished is not read".to_owned()));
    };
    let gives_all = matches!(&fetch.limit_clause,
        Some(LimitClause::LimitOffset { limit: Some(Expr::Value(rows)), offset: None, .. })
            if matches!(&rows.value, Value::Number(digits, _) if digits.parse() == Ok(u64::MAX)));
    let is_as_it_is = matches!(&*fetch.body, SetExpr::Select(select)
        if select.distinct.is_none() && select.having.is_none()
            && matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty()));
    if !gives_all || !is_as_it_is {
        return Err(Doubt(
            "the server does not give all rows as they are".to_owned(),
        ));
    }
    if finish.filter.is_some()
        || finish.having.is_some()
        || finish.distinct
        || !finish.group_by.is_empty()
        || finish.grouped == finish.aggregates.is_empty()
    {
        return Err(Doubt("the proxy would filter or group rows".to_owned()));
    }
    check_values(finish, schema)?;
    let is_shown = |(_, value, logical): &(String, Expression, Option<_>)| match value {
        Expression::Column(index) => {
            !finish.grouped && logical.is_none() && !finish.fetch.outputs[*index].hidden
        }
        Expression::Aggregate(index) => logical.is_some() && *index < finish.aggregates.len(),
        _ => false,
    };
    match finish.project.iter().all(is_shown) {
        true => Ok(()),
        false => Err(Doubt("the proxy would compute an output".to_owned())),
    }
}

/// Checks that values are sorted and added up as the server would do it.
fn check_values(finish: &Finish, schema: &Schema) -> Result<(), Doubt> {
    let column = |value: &Expression| match value {
        Expression::Column(index) => match finish.fetch.outputs.get(*index)?.kind {
            OutputKind::Sealed(id) => Some(schema.column(id)),
            _ => None,
        },
        _ => None,
    };
    let is_text = |own: &ProtectedColumn| own.logical.is_text();
    let is_bytes = |own: &ProtectedColumn| schema.catalogue.binary_texts.contains(&own.id);
    for sort in &finish.order_by {
        let sorted = column(&sort.value).filter(|own| !is_text(own) || is_bytes(own));
        if sorted.is_none() || sort.nulls_first == sort.descending || finish.grouped {
            return Err(Doubt(
                "the proxy would sort otherwise than the server".to_owned(),
            ));
        }
    }
    for one in &finish.aggregates {
        let own = one.argument.as_ref().and_then(column);
        let is_known = match one.function {
            AggregateFunction::Count => {
                !one.distinct || own.is_some_and(|own| !is_text(own) || is_bytes(own))
            }
            AggregateFunction::Sum => {
                !one.distinct
                    && own.is_some_and(|own| semantics_mysql::sum_type(own.logical).is_some())
            }
            AggregateFunction::Minimum | AggregateFunction::Maximum => {
                own.is_some_and(|own| !is_text(own))
            }
            _ => false,
        };
        if !is_known || one.filter.is_some() {
            return Err(Doubt(
                "the proxy would add up otherwise than the server".to_owned(),
            ));
        }
    }
    Ok(())
}
