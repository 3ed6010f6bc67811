//! Encodes values as bytes that are equal if the values are, for groups and DISTINCT.

use column_value::{LogicalType, Value, ValueError};
use sqlstate::SqlState;

use crate::expression::{error, known, other_type};

/// The type, if its values can be compared for equality.
///
/// # Errors
///
/// The server's: `json` has no `=`.
pub(crate) fn comparable(logical: Option<LogicalType>) -> Result<LogicalType, ValueError> {
    match known(logical)? {
        LogicalType::Json => {
            let message = "could not identify an equality operator for type json";
            Err(error(SqlState::UNDEFINED_FUNCTION, message))
        }
        LogicalType::Opaque(opaque) => Err(error(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("the proxy does not compare values of type {opaque}"),
        )),
        logical => Ok(logical),
    }
}

/// Appends the bytes of a value. The encoding is self-delimiting, so several values stay separate.
pub(crate) fn append(
    value: Option<&Value>,
    logical: LogicalType,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let Some(value) = value else {
        out.push(0);
        return Ok(());
    };
    out.push(1);
    let start = out.len();
    out.extend([0; 8]);
    if !column_codec::append_equal(value, logical, out) {
        return Err(other_type());
    }
    let size = (out.len() - start - 8) as u64;
    out[start..start + 8].copy_from_slice(&size.to_be_bytes());
    Ok(())
}

/// Approximate memory of a value.
pub(crate) fn size(value: &Value) -> usize {
    let beside = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) | Value::Opaque(bytes) => bytes.len(),
        Value::Numeric(number) => (number.digits() / 2) as usize,
        Value::Boolean(_)
        | Value::Integer(_)
        | Value::Unsigned(_)
        | Value::Float(_)
        | Value::NumericSpecial(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Timestamp(_)
        | Value::Uuid(_) => 0,
    };
    size_of::<Value>() + beside
}
