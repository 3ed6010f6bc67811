//! Values and names as SQL text.

use crate::keywords;
use crate::number;
use rusqlite::types::ValueRef;

/// A name in double quotes.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name, in double quotes only if SQL requires them.
pub fn identifier_if_needed(name: &str) -> String {
    let mut bytes = name.bytes();
    let plain = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !keywords::is_reserved(name);
    if plain {
        name.to_owned()
    } else {
        identifier(name)
    }
}

/// Text in single quotes. `text` must hold no NUL, which no SQL text can carry.
pub fn string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// An expression on one line that SQLite evaluates to exactly this value.
pub fn value(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(i64::MIN) => "(-9223372036854775807-1)".to_owned(),
        ValueRef::Integer(integer) => integer.to_string(),
        ValueRef::Real(real) => number::literal(real),
        ValueRef::Blob(bytes) => format!("X'{}'", hexadecimal(bytes)),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => one_line(text),
            // Only a blob can carry these bytes through SQL text.
            _ => format!("CAST(X'{}' AS TEXT)", hexadecimal(bytes)),
        },
    }
}

/// Replaces newlines in a string by SQL expressions, because programs that pass lines on may change
/// them.
fn one_line(text: &str) -> String {
    let mut expression = string(text);
    for (line_end, name, code) in [('\n', "\\n", 10), ('\r', "\\r", 13)] {
        if !text.contains(line_end) {
            continue;
        }
        let stand_in = unused_stand_in(&expression, name);
        expression = format!(
            "replace({},'{stand_in}',char({code}))",
            expression.replace(line_end, &stand_in)
        );
    }
    expression
}

fn unused_stand_in(text: &str, name: &str) -> String {
    if !text.contains(name) {
        return name.to_owned();
    }
    let candidates = (0u64..).map(|number| format!("{name}{number}_"));
    candidates
        .into_iter()
        .find(|candidate| !text.contains(candidate))
        .unwrap_or_default()
}

/// Bytes as lower-case hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::Connection;
    use rusqlite::types::Value;

    fn evaluate(expression: &str) -> Value {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .query_row(&format!("SELECT {expression}"), [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn awkward_values_survive() {
        let values = [
            Value::Null,
            Value::Integer(i64::MIN),
            Value::Integer(i64::MAX),
            Value::Real(-0.1),
            Value::Text("it's\n\r\n \\n \\r \\n0_".to_owned()),
            Value::Text("nul\0inside".to_owned()),
            Value::Text(String::new()),
            Value::Blob(vec![]),
            Value::Blob(vec![0, 1, 0xff, b'\'']),
        ];
        for original in values {
            let text = value((&original).into());
            assert!(!text.contains('\n') && !text.contains('\r'));
            assert_eq!(evaluate(&text), original, "{text}");
        }
    }

    #[test]
    fn names_are_quoted_where_needed() {
        assert_eq!(identifier_if_needed("plain_1"), "plain_1");
        assert_eq!(identifier_if_needed("table"), "\"table\"");
        assert_eq!(identifier_if_needed("a b"), "\"a b\"");
        assert_eq!(identifier_if_needed("1a"), "\"1a\"");
        assert_eq!(identifier_if_needed(""), "\"\"");
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
    }

    proptest! {
        #[test]
        fn any_text_survives(text in ".*") {
            let original = Value::Text(text);
            prop_assert_eq!(evaluate(&value((&original).into())), original);
        }
    }
}
