//! `IS NULL` on a column of dates that is `NOT NULL`: as a condition, MySQL and MariaDB take it for
//! a comparison with the zero date, `0000-00-00`.
//!
//! Both do so with `DATE` and `DATETIME`, and not with `TIMESTAMP`, where such a test is a part of
//! `WHERE` that `AND` and `OR` join to others. Over the rows of an outer join the test finds NULL,
//! too. To the server a protected column is no date, so the comparison is written here.

use std::ops::ControlFlow;

use column_value::LogicalType;
use sqlparser::ast::{
    BinaryOperator, Expr, Join, JoinOperator, TableWithJoins, UnaryOperator, Value,
};

use super::{Analysis, Scope};
use crate::walk;
use crate::{ColumnId, Dialect, Mode, Refusal};
use sql_plan::refuse;

/// As it stands in SQL, for dates and moments.
const ZERO_DATE: &str = "0000-00-00";

impl Analysis<'_> {
    /// Writes the tests of a condition of `WHERE` as comparisons, but for those over an outer join,
    /// within another query, or over a column that the server cannot compare.
    ///
    /// # Errors
    /// A name is not known.
    pub(super) fn zero_dates<'t>(
        &self,
        condition: &mut Expr,
        scope: &Scope,
        tables: impl IntoIterator<Item = &'t TableWithJoins>,
    ) -> Result<(), Refusal> {
        let is_mysql = matches!(self.dialect(), Dialect::MySql(_));
        let mut joins = tables.into_iter().flat_map(|own| &own.joins);
        // A query around this one may have an outer join.
        if !is_mysql || scope.outer.is_some() || joins.any(is_outer) {
            return Ok(());
        }
        let mut open = vec![condition];
        while let Some(part) = open.pop() {
            match part {
                Expr::Nested(inner) => open.push(inner),
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::And | BinaryOperator::Or,
                    right,
                } => open.extend([&mut **left, &mut **right]),
                Expr::IsNull(operand) => {
                    let tested = self.zero_dated(operand, scope)?;
                    if tested.is_some_and(|own| self.column(own).mode != Mode::Random) {
                        let left = operand.clone();
                        let zero = Value::SingleQuotedString(ZERO_DATE.to_owned());
                        *part = Expr::BinaryOp {
                            left,
                            op: BinaryOperator::Eq,
                            right: Box::new(Expr::Value(zero.into())),
                        };
                    }
                }
                Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr,
                } => match negated(expr) {
                    // The servers turn it into IS NULL.
                    Some(operand) if self.zero_dated(&operand, scope)?.is_some() => {
                        *part = Expr::IsNull(operand);
                        open.push(part);
                    }
                    Some(_) => {}
                    None => self.refuse_within(expr, scope)?,
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses tests for NULL within a condition that is negated: the servers take NOT into it.
    fn refuse_within(&self, condition: &Expr, scope: &Scope) -> Result<(), Refusal> {
        let found = walk::expressions(condition, |part| match part {
            Expr::IsNull(operand) | Expr::IsNotNull(operand) => {
                match self.refuse_zero_date(operand, scope) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(refusal) => ControlFlow::Break(refusal),
                }
            }
            _ => ControlFlow::Continue(()),
        });
        found.break_value().map_or(Ok(()), Err)
    }

    /// Refuses `IS NULL` that may find the zero date.
    ///
    /// # Errors
    /// It may, or a name is not known.
    pub(super) fn refuse_zero_date(&self, operand: &Expr, scope: &Scope) -> Result<(), Refusal> {
        match self.zero_dated(operand, scope)? {
            None => Ok(()),
            Some(column) => Err(refuse(format!(
                "IS NULL on protected column {}, which is NOT NULL: the server would find the zero \
                 date by it",
                self.title(column)
            ))
            .with_hint(
                "Configure a finisher, or leave the test out. In WHERE, without an outer join, a \
                 column of mode equality or order may be tested.",
            )),
        }
    }

    /// The column of an operand whose zero date `IS NULL` finds.
    fn zero_dated(&self, operand: &Expr, scope: &Scope) -> Result<Option<ColumnId>, Refusal> {
        if !matches!(self.dialect(), Dialect::MySql(_)) {
            return Ok(None);
        }
        let mut operand = operand;
        while let Expr::Nested(inner) = operand {
            operand = inner;
        }
        let resolved = match operand {
            Expr::Identifier(name) => scope.resolve(std::slice::from_ref(name))?,
            Expr::CompoundIdentifier(parts) => scope.resolve(parts)?,
            _ => return Ok(None),
        };
        let is_tested = |id: &ColumnId| {
            let own = self.column(*id);
            own.not_null && matches!(own.logical, LogicalType::Date | LogicalType::Timestamp(_))
        };
        Ok(resolved.sealed.filter(is_tested))
    }
}

/// The operand of `IS NOT NULL`, if an expression is that.
fn negated(expr: &Expr) -> Option<Box<Expr>> {
    match expr {
        Expr::Nested(inner) => negated(inner),
        Expr::IsNotNull(operand) => Some(operand.clone()),
        _ => None,
    }
}

fn is_outer(join: &Join) -> bool {
    !matches!(
        join.join_operator,
        JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_)
    )
}
