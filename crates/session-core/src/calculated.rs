//! Values that the proxy computes from parameters and constants before it seals them.

use column_value::{LogicalType, Value, ValueError};
use finish::{Constants, Elements, Names, Ready, Row};
use semantics_postgres::TextContext;
use sql_plan::{Expression, Source};
use sqlstate::SqlState;

use crate::constants::read_literal;

/// What is computed from parameters and constants alone, and its type.
///
/// # Errors
/// As the server would fail.
pub fn calculated(
    value: &Expression,
    constants: &dyn Constants,
    context: &TextContext,
) -> Result<(Option<Value>, LogicalType), ValueError> {
    let names = Names {
        columns: &[],
        groups: &[],
        aggregates: &[],
        constants,
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
///
/// # Errors
/// As the server would fail, or there is a parameter.
pub fn calculated_of_constants(
    value: &Expression,
    context: &TextContext,
) -> Result<(Option<Value>, LogicalType), ValueError> {
    calculated(value, &Literals(context), context)
}

/// Constants without parameters.
struct Literals<'a>(&'a TextContext);

impl Constants for Literals<'_> {
    fn one(
        &self,
        source: &Source,
        logical: LogicalType,
    ) -> Result<(Option<Value>, LogicalType), ValueError> {
        match source {
            Source::Literal(literal) => read_literal(literal, logical, self.0),
            _ => Err(no_parameter()),
        }
    }

    fn array(
        &self,
        _: &Source,
        _: LogicalType,
    ) -> Result<(Option<Elements>, LogicalType), ValueError> {
        Err(no_parameter())
    }
}

/// A parameter stands where none can be given.
pub fn no_parameter() -> ValueError {
    ValueError {
        sqlstate: SqlState::UNDEFINED_PARAMETER,
        message: "there is no parameter in a simple query".to_owned(),
    }
}
