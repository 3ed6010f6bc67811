//! What is known of an expression before the server evaluates it.

use std::ops::ControlFlow;

use column_value::LogicalType;
use semantics_postgres::{Accumulator, Aggregation};
use sqlparser::ast::{
    BinaryOperator as B, CastKind, Expr, Function, FunctionArguments, ObjectName,
    UnaryOperator as U, Visit,
};

use crate::analysis::function::argument_expression;
use crate::analysis::{Analysis, Scope, constant, gather};
use crate::type_limits::without_limits;
use crate::{Dialect, walk};

impl Analysis<'_> {
    /// The type of a plain expression, where the schema has it. Of a text it is left open where its
    /// collation may be nondeterministic: then texts of other bytes may be equal to it, and the
    /// proxy compares bytes.
    pub fn plain_type(&self, expression: &Expr, scope: &Scope) -> Option<LogicalType> {
        let is_name = matches!(
            expression,
            Expr::Identifier(_) | Expr::CompoundIdentifier(_)
        );
        plain_type(expression, scope).filter(|logical| {
            is_name || !logical.is_text() || !self.may_be_nondeterministic(expression)
        })
    }

    /// Whether an expression may have a nondeterministic collation: it names one, or columns have
    /// such.
    pub fn may_be_nondeterministic(&self, expression: &Expr) -> bool {
        let names_one = walk::expressions(expression, |part| match part {
            Expr::Collate { collation, .. } if !is_of_bytes(collation) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        names_one.is_break() || self.schema.catalogue.finisher.has_nondeterministic
    }
}

/// Whether a collation is one of PostgreSQL's own that compares bytes.
fn is_of_bytes(collation: &ObjectName) -> bool {
    matches!(
        collation.to_string().as_str(),
        r#""C""# | r#""POSIX""# | r#"pg_catalog."C""# | r#"pg_catalog."POSIX""#
    )
}

/// Aggregates; each other function takes single values.
pub(crate) fn has_aggregate(expression: &Expr, dialect: Dialect) -> bool {
    let found = walk::expressions(expression, |inner| match inner {
        Expr::Function(function) if function.over.is_none() => {
            let name = dialect.split(&function.name).map(|(_, name)| name);
            let is_aggregate = matches!(
                name.as_deref(),
                Some("count" | "sum" | "avg" | "min" | "max" | "array_agg" | "string_agg")
                    | Some("bool_and" | "bool_or" | "every" | "json_agg" | "jsonb_agg")
                    | Some("stddev" | "variance" | "var_pop" | "var_samp")
                    | Some("stddev_pop" | "stddev_samp" | "bit_and" | "bit_or" | "bit_xor")
                    | Some("any_value" | "corr" | "covar_pop" | "covar_samp" | "json_object_agg")
                    | Some("jsonb_object_agg" | "range_agg" | "range_intersect_agg" | "xmlagg")
            ) || name.as_deref().is_some_and(|own| own.starts_with("regr_"));
            match is_aggregate || !function.within_group.is_empty() || function.filter.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The name of a window function, if any is called. It sees all rows that pass the conditions, and
/// the server cannot evaluate all conditions.
pub(crate) fn window_function(part: &impl Visit) -> Option<String> {
    let called = walk::expressions(part, |expression| match expression {
        Expr::Function(function) if function.over.is_some() => {
            ControlFlow::Break(function.name.to_string())
        }
        _ => ControlFlow::Continue(()),
    });
    called.break_value()
}

fn plain_type(expression: &Expr, scope: &Scope) -> Option<LogicalType> {
    match expression {
        Expr::Identifier(name) => scope.resolve(std::slice::from_ref(name)).ok()?.logical,
        Expr::CompoundIdentifier(parts) => scope.resolve(parts).ok()?.logical,
        Expr::Nested(inner) => plain_type(inner, scope),
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::InList { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::Exists { .. }
        | Expr::InSubquery { .. }
        | Expr::BinaryOp {
            op: B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::And | B::Or,
            ..
        }
        | Expr::UnaryOp { op: U::Not, .. } => Some(LogicalType::Boolean),
        Expr::Function(function) => aggregate_type(function, scope),
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            data_type,
            format: None,
            ..
        } => constant::logical_type(data_type),
        _ => None,
    }
}

fn aggregate_type(function: &Function, scope: &Scope) -> Option<LogicalType> {
    let name = scope.dialect.builtin(&function.name)?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let which = gather::aggregate(&name)?;
    if list.args.len() != 1 {
        return None;
    }
    if which == Aggregation::Count {
        return Some(LogicalType::BigInt);
    }
    let mut argument = list.args[0].clone();
    let input = plain_type(argument_expression(&mut argument).ok()?, scope)?;
    let accumulator = Accumulator::new(which, input).ok()?;
    Some(without_limits(accumulator.result_type()))
}
