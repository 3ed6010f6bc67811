//! Values that the proxy computes from parameters and constants before it seals them.

use column_types::{LogicalType, TextContext, Value, ValueError};
use sql_rewrite::{Expression, Source};

use super::statements::read_literal;
use crate::finish::{Constants, Names, Ready, Row};

/// What is computed from parameters and constants alone, and its type.
pub(super) fn of(
    value: &Expression,
    constant: &Constants<'_>,
    context: &TextContext,
) -> Result<(Option<Value>, LogicalType), ValueError> {
    let names = Names {
        columns: &[],
        groups: &[],
        aggregates: &[],
        constant,
    };
    let ready = Ready::new(value, &names)?;
    let row = Row {
        columns: &[],
        groups: &[],
        aggregates: &[],
        context,
    };
    let logical = ready.logical.unwrap_or(LogicalType::Numeric(None));
    Ok((ready.owned(&row)?, logical))
}

/// The same of constants alone.
pub(super) fn of_constants(
    value: &Expression,
    context: &TextContext,
) -> Result<(Option<Value>, LogicalType), ValueError> {
    let constant = |source: &Source, logical| match source {
        Source::Literal(literal) => read_literal(literal, logical, context),
        _ => Err(no_parameter()),
    };
    of(value, &constant, context)
}

pub(super) fn no_parameter() -> ValueError {
    ValueError {
        sqlstate: "42P02",
        message: "there is no parameter in a simple query".to_owned(),
    }
}
