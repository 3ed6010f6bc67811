//! Bounds that are computed from parameters and constants alone (`c >= $1 - 20`). The proxy
//! computes and seals them, so the server need not return the rows beyond.

use column_value::LogicalType;
use sqlparser::ast::{BinaryOperator, Expr};

use super::lower::Lowering;
use super::{Analysis, Constant, Scope};
use crate::{Expression, Form, Mode, Purpose, Refusal, Source};

impl Analysis<'_> {
    /// Whether one side is such a bound and the other a column in mode `order`; then the bound is a
    /// hole.
    pub(super) fn bounds(
        &mut self,
        left: &mut Expr,
        right: &mut Expr,
        scope: &Scope,
    ) -> Result<bool, Refusal> {
        Ok(self.bound(left, right, scope)? || self.bound(right, left, scope)?)
    }

    fn bound(
        &mut self,
        operand: &mut Expr,
        bound: &mut Expr,
        scope: &Scope,
    ) -> Result<bool, Refusal> {
        let is_name = matches!(operand, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        if !is_name || !is_calculated(bound)? {
            return Ok(false);
        }
        let Some(id) = self.value(operand, scope)? else {
            return Ok(false);
        };
        let column = self.column(id);
        if column.mode != Mode::Order || !column.logical.is_number() {
            return Ok(false);
        }
        let mut attempt = self.clone();
        let mut lowering = Lowering {
            analysis: &mut attempt,
            scope,
            fetched: Vec::new(),
            before: 0,
            plain: false,
        };
        let Ok((value, Some(logical))) = lowering.lower(bound, Some(column.logical)) else {
            return Ok(false);
        };
        if !lowering.fetched.is_empty() || !is_exact(logical) {
            return Ok(false);
        }
        *self = attempt;
        let source = Source::Calculated(Box::new(value), logical);
        *bound = self.hole(source, Form::Sealed(id, Purpose::Bound));
        Ok(true)
    }
}

/// Sums and differences of constants and parameters.
fn is_calculated(expression: &Expr) -> Result<bool, Refusal> {
    let Expr::BinaryOp {
        left,
        op: BinaryOperator::Plus | BinaryOperator::Minus,
        right,
    } = expression
    else {
        return match expression {
            Expr::Nested(inner) => is_calculated(inner),
            _ => Ok(false),
        };
    };
    for side in [left, right] {
        if Constant::of(side)?.is_none() && !is_calculated(side)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_exact(logical: LogicalType) -> bool {
    use LogicalType as T;
    matches!(
        logical,
        T::SmallInt | T::Integer | T::BigInt | T::Numeric(_)
    )
}

/// The parameters that a value is made of.
pub(super) fn parameters(source: &Source) -> Vec<usize> {
    match source {
        Source::Parameter(number) => vec![*number],
        Source::Calculated(value, _) => parameters_of(value),
        Source::Members(members) => members.iter().flat_map(parameters).collect(),
        Source::Literal(_) | Source::Computed(_) | Source::Locator(_) => Vec::new(),
    }
}

fn parameters_of(expression: &Expression) -> Vec<usize> {
    match expression {
        Expression::Value(source, _) => parameters(source),
        Expression::Unary(_, inner) | Expression::Cast(inner, _) => parameters_of(inner),
        Expression::Binary(_, left, right) => {
            let mut found = parameters_of(left);
            found.extend(parameters_of(right));
            found
        }
        // Nothing else is made of sums and differences.
        _ => Vec::new(),
    }
}
