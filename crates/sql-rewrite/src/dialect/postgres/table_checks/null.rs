//! What a check says of NULL. Only what is sure is said: most functions and operators give NULL for
//! NULL, and those that do not are not known here.

use sqlparser::ast::{BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr};
use sqlparser::ast::{FunctionArguments, UnaryOperator, Value};

use crate::dialect::postgres::names::builtin;

/// Functions that give NULL where an argument is NULL, in every variant (`pg_proc.proisstrict`).
const STRICT: &str = "\
    abs ascii bit_length btrim cardinality cbrt ceil ceiling char_length character_length \
    date_part date_trunc degrees div exp factorial family floor gcd host initcap isfinite \
    json_array_length json_typeof jsonb_array_length jsonb_typeof lcm left length ln log log10 \
    lower lpad ltrim masklen md5 mod octet_length position pow power radians regexp_count \
    regexp_like regexp_replace repeat replace reverse right round rpad rtrim scale sign \
    split_part sqrt starts_with strpos substr substring to_char translate trim trunc upper";

/// The value of an expression where the column is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Null,
    True,
    False,
    /// It is not NULL; more is not known.
    Known,
}

use Outcome::{False, Known, Null, True};

/// None: it is not known.
pub(super) fn of(expression: &Expr) -> Option<Outcome> {
    match expression {
        Expr::Nested(inner) => of(inner),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => Some(Null),
        Expr::Value(value) => Some(match value.value {
            Value::Null => Null,
            Value::Boolean(true) => True,
            Value::Boolean(false) => False,
            _ => Known,
        }),
        Expr::TypedString(_) | Expr::Interval(_) => Some(Known),
        Expr::Cast { expr, .. } => strict([&**expr]),
        Expr::UnaryOp { op, expr } => match (op, of(expr)?) {
            (UnaryOperator::Not, True) => Some(False),
            (UnaryOperator::Not, False) => Some(True),
            (UnaryOperator::Not | UnaryOperator::Plus | UnaryOperator::Minus, own) => Some(own),
            _ => None,
        },
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::IsNull(inner) => Some(truth(of(inner)? == Null)),
        Expr::IsNotNull(inner) => Some(truth(of(inner)? != Null)),
        Expr::IsTrue(inner) => is(inner, True),
        Expr::IsFalse(inner) => is(inner, False),
        Expr::IsNotTrue(inner) => negated(is(inner, True)?),
        Expr::IsNotFalse(inner) => negated(is(inner, False)?),
        Expr::InList { expr, list, .. } if !list.is_empty() => only_null(expr),
        Expr::Between { expr, .. } => only_null(expr),
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
            match has_elements(right) {
                true => only_null(left),
                false => None,
            }
        }
        Expr::Like { expr, pattern, .. }
        | Expr::ILike { expr, pattern, .. }
        | Expr::SimilarTo { expr, pattern, .. } => strict([&**expr, &**pattern]),
        Expr::Extract { expr, .. } | Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => {
            strict([&**expr])
        }
        Expr::Position { expr, r#in } => strict([&**expr, &**r#in]),
        Expr::Substring {
            expr,
            substring_from,
            substring_for,
            ..
        } => {
            let more = substring_from.iter().chain(substring_for);
            strict(std::iter::once(&**expr).chain(more.map(|own| &**own)))
        }
        Expr::Trim {
            expr,
            trim_what,
            trim_characters: None,
            ..
        } => strict(std::iter::once(&**expr).chain(trim_what.iter().map(|own| &**own))),
        Expr::Function(function) => called(function),
        _ => None,
    }
}

/// The value of a function, if it is a strict one.
fn called(function: &Function) -> Option<Outcome> {
    let name = builtin(&function.name)?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    if !STRICT.split_whitespace().any(|own| own == name) {
        return None;
    }
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    strict(arguments.collect::<Option<Vec<_>>>()?)
}

fn truth(is_so: bool) -> Outcome {
    match is_so {
        true => True,
        false => False,
    }
}

fn is(inner: &Expr, wanted: Outcome) -> Option<Outcome> {
    match of(inner)? {
        Known => None,
        own => Some(truth(own == wanted)),
    }
}

fn negated(own: Outcome) -> Option<Outcome> {
    Some(truth(own == False))
}

/// NULL if the operand is.
fn only_null(operand: &Expr) -> Option<Outcome> {
    (of(operand)? == Null).then_some(Null)
}

/// NULL if one of the operands is, else something that is not.
fn strict<'e>(operands: impl IntoIterator<Item = &'e Expr>) -> Option<Outcome> {
    let all: Option<Vec<Outcome>> = operands.into_iter().map(of).collect();
    Some(match all?.contains(&Null) {
        true => Null,
        false => Known,
    })
}

fn binary(left: &Expr, operator: &BinaryOperator, right: &Expr) -> Option<Outcome> {
    use BinaryOperator as B;
    match operator {
        B::And => match (of(left), of(right)) {
            (Some(False), _) | (_, Some(False)) => Some(False),
            (Some(True), other) | (other, Some(True)) => other,
            (Some(Null), Some(Null)) => Some(Null),
            _ => None,
        },
        B::Or => match (of(left), of(right)) {
            (Some(True), _) | (_, Some(True)) => Some(True),
            (Some(False), other) | (other, Some(False)) => other,
            (Some(Null), Some(Null)) => Some(Null),
            _ => None,
        },
        B::Eq
        | B::NotEq
        | B::Lt
        | B::LtEq
        | B::Gt
        | B::GtEq
        | B::Plus
        | B::Minus
        | B::Multiply
        | B::Divide
        | B::Modulo
        | B::PGRegexMatch
        | B::PGRegexIMatch
        | B::PGRegexNotMatch
        | B::PGRegexNotIMatch
        | B::PGLikeMatch
        | B::PGILikeMatch
        | B::PGNotLikeMatch
        | B::PGNotILikeMatch => strict([left, right]),
        _ => None,
    }
}

/// Whether it is an array that is written out and not empty.
fn has_elements(array: &Expr) -> bool {
    match array {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => has_elements(inner),
        Expr::Array(array) => !array.elem.is_empty(),
        _ => false,
    }
}
