//! The types that the server has for protected columns, on the wire and in texts of SQL.

use sql_rewrite::ServerType;
use wire_postgres::values;

/// The number in `pg_type`.
pub(crate) fn number(of: ServerType) -> u32 {
    match of {
        ServerType::Bytes => values::BYTEA,
        ServerType::Number => values::BIGINT,
    }
}

/// The number of the type of arrays.
pub(crate) fn array_number(of: ServerType) -> u32 {
    match of {
        ServerType::Bytes => values::BYTEA_ARRAY,
        ServerType::Number => values::BIGINT_ARRAY,
    }
}

/// Appends the bytes of a sealed value that the server writes so; false: it writes none so.
pub(crate) fn read_text(of: ServerType, text: &[u8], out: &mut Vec<u8>) -> bool {
    match of {
        ServerType::Bytes => values::read_bytea(text, out),
        ServerType::Number => {
            let number = std::str::from_utf8(text).ok();
            let number: Option<i64> = number.and_then(|text| text.parse().ok());
            out.extend(number.into_iter().flat_map(i64::to_be_bytes));
            number.is_some()
        }
    }
}

/// Appends a sealed value as the server reads it.
pub(crate) fn write_text(of: ServerType, sealed: &[u8], out: &mut Vec<u8>) {
    match (of, sealed.try_into()) {
        (ServerType::Number, Ok(number)) => {
            out.extend(i64::from_be_bytes(number).to_string().into_bytes());
        }
        _ => values::write_bytea(sealed, out),
    }
}

/// Appends a sealed value as a constant of SQL.
pub(crate) fn write_constant(of: ServerType, sealed: &[u8], out: &mut String) {
    let mut text = Vec::with_capacity(2 * sealed.len() + 2);
    write_text(of, sealed, &mut text);
    // With E, the text does not depend on `standard_conforming_strings`.
    out.push_str(match of {
        ServerType::Bytes => "E'\\",
        ServerType::Number => "'",
    });
    out.extend(text.iter().copied().map(char::from));
    out.push_str("'::");
    out.push_str(of.name());
}
