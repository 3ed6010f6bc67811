//! Parameters of columns in clear, written into texts.

use session_core::StatementError;
use wire_mysql::value::{FieldType, Value};

use super::Bound;

/// A parameter in clear as a constant of SQL that means the same, whatever the SQL mode.
///
/// # Errors
/// There is none for sure.
pub(super) fn constant(bound: &Bound<'_>) -> Result<String, StatementError> {
    if let Some(whole) = bound.whole() {
        return Ok(whole.to_string());
    }
    let is_plain = |byte: &u8| (b' '..0x7f).contains(byte) && !matches!(byte, b'\'' | b'\\');
    let is_binary = matches!(
        bound.kind.kind,
        FieldType::TINY_BLOB | FieldType::MEDIUM_BLOB | FieldType::LONG_BLOB | FieldType::BLOB
    );
    let is_decimal = matches!(bound.kind.kind, FieldType::DECIMAL | FieldType::NEWDECIMAL);
    match bound.value {
        Value::Null => Ok("NULL".to_owned()),
        // With an exponent it is in double precision, as the parameter is.
        Value::Double(number) if number.is_finite() => Ok(format!("{number:e}")),
        Value::Float(number) if number.is_finite() => Ok(format!("{:e}", f64::from(number))),
        // In quotes it would be a text, with which the server computes in double precision.
        Value::Bytes(bytes) if is_decimal && is_decimal_literal(bytes) => {
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
        Value::Bytes(bytes) if !is_binary && bytes.iter().all(is_plain) => {
            Ok(format!("'{}'", String::from_utf8_lossy(bytes)))
        }
        _ => Err(StatementError::unsupported(
            "a parameter of this type in the condition of an UPDATE that computes protected \
             columns",
        )
        .hint("Find the row by numbers, or by texts of letters of ASCII.")),
    }
}

/// Whether bytes are digits, with a sign and a point at most.
fn is_decimal_literal(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::is_decimal_literal;

    #[test]
    fn only_digits_are_written_without_quotes() {
        for text in ["0", "-12.50", "1234567890123456789.01"] {
            assert!(is_decimal_literal(text.as_bytes()), "{text}");
        }
        for text in ["", "-", "1.", ".5", "1e5", "1.2.3", "+1", "1 OR 1", "--1"] {
            assert!(!is_decimal_literal(text.as_bytes()), "{text}");
        }
    }
}
