//! Whether two texts of a check are the same: one of a rule and one of DDL, which the server may
//! have printed (`ruleutils.c`).

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, DataType, Expr, Ident, UnaryOperator, Value, VisitorMut};

use crate::dialect::postgres::names::folded;
use crate::walk;

/// Whether two expressions are the same apart from parentheses, casts of constants, qualified
/// names, and forms for which the server prints another one.
pub(crate) fn is_same(one: &Expr, other: &Expr) -> bool {
    normal(one) == normal(other)
}

fn normal(expression: &Expr) -> String {
    let mut own = expression.clone();
    let _: ControlFlow<()> = walk::visit_mut(&mut own, &mut Normal);
    own.to_string()
}

struct Normal;

impl VisitorMut for Normal {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let taken = std::mem::replace(expression, Expr::Tuple(Vec::new()));
        *expression = changed(taken);
        ControlFlow::Continue(())
    }
}

/// An expression whose parts have been changed.
fn changed(expression: Expr) -> Expr {
    match expression {
        Expr::Nested(inner) => *inner,
        Expr::Identifier(name) => column(&name),
        Expr::CompoundIdentifier(parts) => match parts.last() {
            Some(name) => column(name),
            None => Expr::CompoundIdentifier(parts),
        },
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => constant(digits.clone()),
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                constant(text.clone())
            }
            _ => Expr::Value(value),
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match text_of(&expr) {
            Some(digits) => constant(format!("-{digits}")),
            None => Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            },
        },
        Expr::TypedString(typed) => match &typed.value.value {
            Value::SingleQuotedString(text) => constant(text.clone()),
            _ => Expr::TypedString(typed),
        },
        Expr::Cast {
            expr, data_type, ..
        } if is_void(&expr, &data_type) => *expr,
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => {
            let at_least = compared(expr.clone(), BinaryOperator::GtEq, low);
            let at_most = compared(expr, BinaryOperator::LtEq, high);
            compared(Box::new(at_least), BinaryOperator::And, Box::new(at_most))
        }
        Expr::AnyOp {
            left,
            compare_op: BinaryOperator::Eq,
            right,
            is_some,
        } => listed(left, *right, false).unwrap_or_else(|(left, right)| Expr::AnyOp {
            left,
            compare_op: BinaryOperator::Eq,
            right: Box::new(right),
            is_some,
        }),
        Expr::AllOp {
            left,
            compare_op: BinaryOperator::NotEq,
            right,
        } => listed(left, *right, true).unwrap_or_else(|(left, right)| Expr::AllOp {
            left,
            compare_op: BinaryOperator::NotEq,
            right: Box::new(right),
        }),
        Expr::BinaryOp { left, op, right } => of_operator(left, op, right),
        other => other,
    }
}

fn column(name: &Ident) -> Expr {
    Expr::Identifier(Ident::with_quote('"', folded(name)))
}

/// A constant is the same as a number and as a text: its type is that of its column.
fn constant(text: String) -> Expr {
    Expr::value(Value::SingleQuotedString(text))
}

fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a cast changes nothing: one of a constant that keeps its digits, of a column to `text`,
/// as the server prints those of `varchar`, or of a list.
fn is_void(expression: &Expr, data_type: &DataType) -> bool {
    let name = data_type.to_string().to_ascii_lowercase();
    let keeps = || {
        let words = [
            "numeric",
            "double",
            "real",
            "text",
            "character",
            "varchar",
            "date",
            "time",
            "uuid",
            "bpchar",
            "interval",
            "inet",
            "boolean",
        ];
        words.iter().any(|word| name.starts_with(word))
    };
    match expression {
        Expr::Value(_) => {
            let is_whole = text_of(expression).is_some_and(|text| !text.contains('.'));
            text_of(expression).is_some() && (is_whole || keeps())
        }
        Expr::Identifier(_) => name == "text",
        Expr::Array(_) => true,
        _ => false,
    }
}

fn compared(left: Box<Expr>, op: BinaryOperator, right: Box<Expr>) -> Expr {
    Expr::BinaryOp { left, op, right }
}

/// `= ANY (ARRAY[…])` as a list.
fn listed(left: Box<Expr>, right: Expr, negated: bool) -> Result<Expr, (Box<Expr>, Expr)> {
    match right {
        Expr::Array(array) => Ok(Expr::InList {
            expr: left,
            list: array.elem,
            negated,
        }),
        other => Err((left, other)),
    }
}

/// `~~` as LIKE.
fn of_operator(left: Box<Expr>, op: BinaryOperator, right: Box<Expr>) -> Expr {
    let negated = matches!(
        op,
        BinaryOperator::PGNotLikeMatch | BinaryOperator::PGNotILikeMatch
    );
    match op {
        BinaryOperator::PGLikeMatch | BinaryOperator::PGNotLikeMatch => Expr::Like {
            negated,
            any: false,
            expr: left,
            pattern: right,
            escape_char: None,
        },
        BinaryOperator::PGILikeMatch | BinaryOperator::PGNotILikeMatch => Expr::ILike {
            negated,
            any: false,
            expr: left,
            pattern: right,
            escape_char: None,
        },
        BinaryOperator::Custom(_) | BinaryOperator::PGCustomBinaryOperator(_) => {
            Expr::BinaryOp { left, op, right }
        }
        op => Expr::BinaryOp { left, op, right },
    }
}
