//! Numbers that the proxy computes from constants and parameters.

use column_value::LogicalType;
use semantics_mysql::{ArithmeticError, COMPARED, Given, Number};
use session_core::{Loaded, StatementError};
use sql_plan::{ColumnId, Expression, Literal, Purpose, Source};
use sql_rewrite::mysql::calculated;
use wire_mysql::value::{FieldType, Value};

use super::{Bound, Values, given, seal, without_values};

/// Why a number is not computed.
pub(in super::super) struct Uncomputed(pub(in super::super) StatementError);

impl From<StatementError> for Uncomputed {
    fn from(error: StatementError) -> Self {
        Self(error)
    }
}

impl From<ArithmeticError> for Uncomputed {
    fn from(error: ArithmeticError) -> Self {
        Self(match error {
            ArithmeticError::TooLarge => {
                StatementError::out_of_range("BIGINT value is out of range")
            }
            ArithmeticError::Unsure(why) => StatementError::unsupported(why),
            ArithmeticError::Value(error) => error.into(),
        })
    }
}

/// The sealed value of what a column is compared with. None: NULL.
///
/// # Errors
/// A parameter is no number, or is not given, or the server may compute another one.
pub(in super::super) fn calculated(
    expression: &Expression,
    (column, purpose): (ColumnId, Purpose),
    values: Option<&Values<'_>>,
    loaded: &Loaded,
) -> Result<Option<Vec<u8>>, StatementError> {
    let own = loaded.schema.column(column);
    let computed =
        digits(expression, own.logical, values).map_err(|Uncomputed(error)| StatementError {
            message: format!(
                "beside protected column {}.{}: {}",
                own.table, own.column, error.message
            ),
            ..error
        })?;
    let terms = loaded.schema.terms(column);
    let sealed =
        computed.map(|digits| seal(loaded, (column, purpose), Given::Number(&digits), terms));
    sealed.transpose()
}

fn digits(
    expression: &Expression,
    logical: LogicalType,
    values: Option<&Values<'_>>,
) -> Result<Option<String>, Uncomputed> {
    let leaf = |part: &Expression| match part {
        Expression::Value(source, _) => Ok(constant(source, values)?),
        _ => Err(Uncomputed(StatementError::other_plan())),
    };
    let number = calculated::number(expression, COMPARED, &leaf)?;
    Ok(number.map(|number| number.compared(logical)).transpose()?)
}

/// The number of a constant or parameter. None: NULL.
///
/// # Errors
/// It is none, or is not given.
pub(in super::super) fn constant(
    source: &Source,
    values: Option<&Values<'_>>,
) -> Result<Option<Number>, StatementError> {
    let number = match source {
        Source::Parameter(number) => {
            let bound = Bound::find(values.ok_or_else(without_values)?, *number)?;
            return parameter(&bound);
        }
        Source::Literal(Literal::Bytes(_)) => return Err(StatementError::other_plan()),
        source => given(source)?.map(Number::of_given),
    };
    Ok(number.transpose()?)
}

fn parameter(bound: &Bound<'_>) -> Result<Option<Number>, StatementError> {
    let number = match bound.value {
        Value::Null => return Ok(None),
        Value::Tiny(_) | Value::Short(_) | Value::Long(_) | Value::LongLong(_) => {
            Ok(whole(bound).ok_or_else(StatementError::other_plan)?)
        }
        Value::Float(number) => Number::of_text(&f64::from(number).to_string()),
        Value::Double(number) => Number::of_text(&number.to_string()),
        Value::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            match bound.kind.kind {
                FieldType::DECIMAL | FieldType::NEWDECIMAL => Number::of_decimal(text),
                _ => Number::of_text(text),
            }
        }
        Value::DateTime(_) | Value::Time(_) => {
            let message = "a date or time as a part of a protected number";
            return Err(StatementError::unsupported(message));
        }
    };
    Ok(Some(number?))
}

/// A whole number, with which servers compute otherwise where it has no sign.
fn whole(bound: &Bound<'_>) -> Option<Number> {
    let whole = bound.whole()?;
    match bound.kind.is_unsigned {
        true => u64::try_from(whole).ok().map(Number::unsigned),
        false => i64::try_from(whole).ok().map(Number::whole),
    }
}
