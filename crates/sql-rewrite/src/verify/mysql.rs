//! What is proved of plans for MySQL and MariaDB alone.

use super::Doubt;
use super::label::Label;
use crate::{
    Current, Dialect, Form, Hole, Mode, OutputKind, Purpose, ReadModifyWrite, Schema, Source,
};
use sqlparser::ast::{BinaryOperator, Expr, Statement, Value};

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
