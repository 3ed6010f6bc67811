//! What a column is compared with, computed from parameters and constants alone (`c >= $1 - 20`).
//! The proxy computes and seals it, so the server need not return the other rows.

use column_value::LogicalType;
use sqlparser::ast::{BinaryOperator, Expr};

use super::comparison::Comparison;
use super::lower::Lowering;
use super::{Analysis, Constant, Scope};
use crate::dialect::mysql::calculated;
use crate::{ColumnId, Dialect, Expression, Form, Mode, Refusal, Source};

impl Analysis<'_> {
    /// Whether one side is such a value and the other a column whose mode allows the comparison;
    /// then the value is a hole.
    pub(super) fn calculates(
        &mut self,
        left: &mut Expr,
        right: &mut Expr,
        comparison: Comparison,
        scope: &Scope,
    ) -> Result<bool, Refusal> {
        Ok(self.calculated(left, right, comparison, scope)?
            || self.calculated(right, left, comparison, scope)?)
    }

    fn calculated(
        &mut self,
        operand: &mut Expr,
        other: &mut Expr,
        comparison: Comparison,
        scope: &Scope,
    ) -> Result<bool, Refusal> {
        let is_of_mysql = matches!(self.dialect(), Dialect::MySql(_));
        let is_name = matches!(operand, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
        let is_found = is_of_mysql || comparison == Comparison::Order;
        if !is_name || !is_found || !is_calculated(other)? {
            return Ok(false);
        }
        let Some(id) = self.value(operand, scope)? else {
            return Ok(false);
        };
        let column = self.column(id);
        let may_compare = match comparison {
            Comparison::Equality => column.mode != Mode::Random,
            Comparison::Order => column.mode == Mode::Order,
        };
        let lowered = match (may_compare, is_of_mysql) {
            (false, _) => None,
            (true, true) => calculated::lower(other, column.logical, self)?,
            (true, false) => self.bound(other, id, scope),
        };
        let Some((value, logical)) = lowered else {
            return Ok(false);
        };
        let source = Source::Calculated(Box::new(value), logical);
        *other = self.hole(source, Form::Sealed(id, comparison.purpose()));
        Ok(true)
    }

    /// The bound of a column of PostgreSQL's, with its type. None: it is computed otherwise.
    fn bound(
        &mut self,
        bound: &Expr,
        id: ColumnId,
        scope: &Scope,
    ) -> Option<(Expression, LogicalType)> {
        let column = self.column(id);
        if !column.logical.is_number() {
            return None;
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
            return None;
        };
        if !lowering.fetched.is_empty() || !is_exact(logical) {
            return None;
        }
        *self = attempt;
        Some((value, logical))
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
