//! Sums and differences that the proxy computes: of constants and parameters, with which a column
//! is compared, and of protected numbers of a row, for its new values.

use column_value::{LogicalType, WholeType};
use semantics_mysql::{ArithmeticError, COMPARED, Given, Number};
use sqlparser::ast::{BinaryOperator as B, Expr};

use crate::analysis::{Analysis, Constant};
use crate::{BinaryOperator, Expression, Literal, Refusal, Source, guard};

/// What a column of a type is compared with, and the type, if the proxy computes it. The tree is
/// one of sums and differences.
///
/// # Errors
/// A parameter has no number.
pub(crate) fn lower(
    value: &Expr,
    logical: LogicalType,
    analysis: &mut Analysis,
) -> Result<Option<(Expression, LogicalType)>, Refusal> {
    if !is_exact(logical) || logical == LogicalType::Whole(WholeType::Year) {
        return Ok(None);
    }
    let Some(lowered) = sum(value, logical)? else {
        return Ok(None);
    };
    if guard::check_depth(std::iter::once(&lowered)).is_err() || !is_known(&lowered, logical) {
        return Ok(None);
    }
    for source in sources(&lowered) {
        note(source, logical, analysis);
    }
    Ok(Some((lowered, logical)))
}

fn sum(value: &Expr, logical: LogicalType) -> Result<Option<Expression>, Refusal> {
    if let Some(constant) = Constant::of(value)? {
        let is_number = match &constant.source {
            Source::Parameter(_) => true,
            Source::Literal(literal) => of_literal(literal).is_some(),
            _ => false,
        };
        let is_number = is_number && constant.cast.is_none();
        return Ok(is_number.then_some(Expression::Value(constant.source, logical)));
    }
    match value {
        Expr::Nested(inner) => sum(inner, logical),
        Expr::BinaryOp { left, op, right } => {
            let both = (operator(op), sum(left, logical)?, sum(right, logical)?);
            let (Some(operator), Some(left), Some(right)) = both else {
                return Ok(None);
            };
            let (left, right) = (Box::new(left), Box::new(right));
            Ok(Some(Expression::Binary(operator, left, right)))
        }
        _ => Ok(None),
    }
}

/// The operators whose results are computed.
pub(crate) fn operator(own: &B) -> Option<BinaryOperator> {
    match own {
        B::Plus => Some(BinaryOperator::Add),
        B::Minus => Some(BinaryOperator::Subtract),
        _ => None,
    }
}

/// Whether values of a type are added up as exact numbers.
pub(crate) fn is_exact(logical: LogicalType) -> bool {
    logical.is_whole() || matches!(logical, LogicalType::Numeric(Some(_)))
}

/// Notes a constant or parameter that is computed with.
pub(crate) fn note(source: &Source, logical: LogicalType, analysis: &mut Analysis) {
    if let Source::Parameter(number) = source {
        analysis.parameters.compute(*number);
    }
    analysis.parameters.hide(source);
    analysis.parameters.note_type(source, logical);
}

/// Whether a value that a column is compared with is one of those that are computed here.
pub fn is_sum(value: &Expression) -> bool {
    use BinaryOperator as O;
    matches!(value, Expression::Binary(O::Add | O::Subtract, ..))
}

fn sources(value: &Expression) -> Vec<&Source> {
    let (mut found, mut rest) = (Vec::new(), vec![value]);
    while let Some(part) = rest.pop() {
        if let Expression::Value(source, _) = part {
            found.push(source);
        }
        rest.extend(part.parts());
    }
    found
}

/// Whether the server computes the same number, as far as the constants tell.
fn is_known(value: &Expression, logical: LogicalType) -> bool {
    let is_parameter = |source: &&Source| matches!(source, Source::Parameter(_));
    if sources(value).iter().any(is_parameter) {
        return true;
    }
    let leaf = |part: &Expression| match part {
        Expression::Value(Source::Literal(literal), _) => Ok(of_literal(literal)),
        _ => Ok(None),
    };
    let computed: Result<_, ArithmeticError> = number(value, COMPARED, &leaf);
    matches!(computed, Ok(Some(number)) if number.compared(logical).is_ok())
}

/// A constant that may be a part of what a column is compared with.
fn of_literal(literal: &Literal) -> Option<Number> {
    let given = match literal {
        Literal::Number(digits) => Given::Number(digits),
        Literal::Text(text) => Given::Text(text),
        _ => return None,
    };
    let number = Number::of_given(given).ok()?;
    // Of double precision, only whole numbers are.
    let is_kept = number.with(&Number::whole(0), false, COMPARED).is_ok();
    is_kept.then_some(number)
}

/// The number that sums and differences give, on the way to a column of this type. `leaf` gives
/// that of their other parts. None: NULL.
///
/// # Errors
/// [`ArithmeticError`], and the first of `leaf`.
pub fn number<E: From<ArithmeticError>>(
    value: &Expression,
    logical: LogicalType,
    leaf: &dyn Fn(&Expression) -> Result<Option<Number>, E>,
) -> Result<Option<Number>, E> {
    let Expression::Binary(
        operator @ (BinaryOperator::Add | BinaryOperator::Subtract),
        left,
        right,
    ) = value
    else {
        return leaf(value);
    };
    let both = (number(left, logical, leaf)?, number(right, logical, leaf)?);
    let (Some(left), Some(right)) = both else {
        return Ok(None);
    };
    let subtracts = *operator == BinaryOperator::Subtract;
    Ok(Some(left.with(&right, subtracts, logical)?))
}
