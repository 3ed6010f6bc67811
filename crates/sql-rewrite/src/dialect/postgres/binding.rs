//! Operator precedence in a text without parentheses.
//!
//! The server parses the text that is printed from the parser's tree. Where it gives an operator a
//! higher precedence than the parser does, it computes another expression than the proxy has
//! analysed. So each operator of the tree is checked against the server's precedence (PostgreSQL,
//! `gram.y`): the tree is the server's own if every operand binds tighter than the operator that it
//! belongs to.

use std::ops::ControlFlow;

use crate::walk;
use sqlparser::ast::{BinaryOperator, Expr, Statement, UnaryOperator, Visitor};

/// The precedence of an expression without parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
    Is,
    Comparison,
    /// `BETWEEN`, `IN`, `LIKE`, `SIMILAR TO`
    Like,
    /// Every operator without a place of its own.
    Other,
    Sum,
    Product,
    Power,
    AtTimeZone,
    Collate,
    Sign,
    Subscript,
    Cast,
    /// Names, constants, calls and what stands in parentheses.
    Whole,
}

use Binding::*;

/// Whether the server groups every chain of operators in the same way.
pub(crate) fn is_that_of_the_server(statement: &Statement) -> bool {
    struct Chains;

    impl Visitor for Chains {
        type Break = ();

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            match is_kept(expression) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }

    walk::visit(statement, &mut Chains).is_continue()
}

/// Whether the server would give an operator these operands.
fn is_kept(expression: &Expr) -> bool {
    let own = binding(expression);
    let (left, right) = operands(expression);
    // What begins with an operator of its own begins a new operand on the right.
    let fits = |operand: &Expr| binding(operand) > own || prefix(operand).is_some();
    let is_prefix = prefix(expression).is_some();
    left.is_none_or(|operand| !takes_more(operand, own))
        && right.is_none_or(|operand| fits(operand) || (is_prefix && binding(operand) == own))
}

/// Whether an operator at the end of an operand would go on over one behind it that binds so
/// tightly. What has its end for itself, as `IS NULL` has, does not.
fn takes_more(operand: &Expr, outer: Binding) -> bool {
    let mut last = operand;
    loop {
        let right = operands(last).1;
        if binding(last) < outer && (right.is_some() || prefix(last).is_some()) {
            return true;
        }
        let Some(right) = right else { return false };
        last = right;
    }
}

/// What an operator before its operand binds; None: it is no such operator.
fn prefix(expression: &Expr) -> Option<Binding> {
    let is_prefix = matches!(
        expression,
        Expr::UnaryOp { .. } | Expr::Exists { negated: true, .. }
    );
    is_prefix.then(|| binding(expression))
}

/// The first and the last operand, where no key word or parenthesis closes them off.
fn operands(expression: &Expr) -> (Option<&Expr>, Option<&Expr>) {
    match expression {
        Expr::UnaryOp { expr, .. } => (None, Some(expr)),
        Expr::BinaryOp { left, right, .. }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => (Some(left), Some(right)),
        Expr::Between { expr, high, .. } => (Some(expr), Some(high)),
        Expr::Like { expr, pattern, .. }
        | Expr::ILike { expr, pattern, .. }
        | Expr::SimilarTo { expr, pattern, .. } => (Some(expr), Some(pattern)),
        Expr::AtTimeZone {
            timestamp,
            time_zone,
        } => (Some(timestamp), Some(time_zone)),
        Expr::AnyOp { left, .. } | Expr::AllOp { left, .. } => (Some(left), None),
        Expr::IsFalse(expr)
        | Expr::IsNotFalse(expr)
        | Expr::IsTrue(expr)
        | Expr::IsNotTrue(expr)
        | Expr::IsNull(expr)
        | Expr::IsNotNull(expr)
        | Expr::IsUnknown(expr)
        | Expr::IsNotUnknown(expr)
        | Expr::IsJson { expr, .. }
        | Expr::IsNormalized { expr, .. }
        | Expr::InList { expr, .. }
        | Expr::InSubquery { expr, .. }
        | Expr::Collate { expr, .. } => (Some(expr), None),
        Expr::Cast { expr, .. } if binding(expression) == Cast => (Some(expr), None),
        Expr::CompoundFieldAccess { root, .. } => (Some(root), None),
        _ => (None, None),
    }
}

fn binding(expression: &Expr) -> Binding {
    match expression {
        Expr::UnaryOp { op, .. } => match op {
            UnaryOperator::Not => Not,
            UnaryOperator::Plus | UnaryOperator::Minus => Sign,
            _ => Other,
        },
        Expr::Exists { negated: true, .. } => Not,
        Expr::BinaryOp { op, .. } => of_operator(op),
        Expr::AnyOp { compare_op, .. } | Expr::AllOp { compare_op, .. } => of_operator(compare_op),
        Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsJson { .. }
        | Expr::IsNormalized { .. } => Is,
        Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::SimilarTo { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. } => Like,
        Expr::AtTimeZone { .. } => AtTimeZone,
        Expr::Collate { .. } => Collate,
        Expr::CompoundFieldAccess { .. } => Subscript,
        Expr::Cast { kind, .. } if *kind == sqlparser::ast::CastKind::DoubleColon => Cast,
        _ => Whole,
    }
}

fn of_operator(operator: &BinaryOperator) -> Binding {
    match operator {
        BinaryOperator::Or => Or,
        BinaryOperator::And => And,
        BinaryOperator::Eq
        | BinaryOperator::NotEq
        | BinaryOperator::Lt
        | BinaryOperator::LtEq
        | BinaryOperator::Gt
        | BinaryOperator::GtEq => Comparison,
        BinaryOperator::Plus | BinaryOperator::Minus => Sum,
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => Product,
        BinaryOperator::PGExp => Power,
        _ => Other,
    }
}

#[cfg(test)]
mod tests;
