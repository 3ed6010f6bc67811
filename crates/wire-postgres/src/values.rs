//! Values in messages: type numbers, text and binary formats.
//!
//! Texts are those of [`semantics_postgres`]; the binary formats are those of the `send` and `recv`
//! functions of PostgreSQL's types. Fixed-size values need no heap memory.

use std::io::Write as _;

use column_value::{LogicalType, NumericSpecial, OpaqueType, Value, ValueError};
use semantics_postgres::{TextContext, ValueText};
use sqlstate::SqlState;

mod array;
mod numeric;
mod parameter_array;

pub use array::array_elements;
pub use parameter_array::{
    ARRAY_ELEMENTS_MAX, BIGINT_ARRAY, BYTEA_ARRAY, array_of, array_oid, element, read_array,
    write_sealed_array,
};

/// Number of type `bytea` in `pg_type`: the server's type for protected columns.
pub const BYTEA: u32 = 17;

/// Number of type `bigint`: that of protected columns in compact equality.
pub const BIGINT: u32 = 20;
/// The number of the type `text`.
pub const TEXT: u32 = 25;

/// The number of the type `text[]`.
pub const TEXT_ARRAY: u32 = 1009;

/// The format of a value in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The format of the type's `output` function.
    Text,
    /// The format of the type's `send` function.
    Binary,
}

impl Format {
    /// The format for a code in `Bind` or `RowDescription`.
    pub fn of_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }
}

/// The number of a type in `pg_type`.
pub fn oid(logical: LogicalType) -> u32 {
    match logical {
        LogicalType::Boolean => 16,
        LogicalType::Bytes => BYTEA,
        LogicalType::BigInt => 20,
        LogicalType::SmallInt => 21,
        LogicalType::Integer => 23,
        LogicalType::Text => 25,
        LogicalType::Json => 114,
        LogicalType::Real => 700,
        LogicalType::Double => 701,
        LogicalType::Char(_) => 1042,
        LogicalType::Varchar(_) => 1043,
        LogicalType::Date => 1082,
        LogicalType::Time(_) => 1083,
        LogicalType::Timestamp(_) => 1114,
        LogicalType::TimestampTz(_) => 1184,
        LogicalType::Numeric(_) => 1700,
        LogicalType::Uuid => 2950,
        LogicalType::Opaque(opaque) => opaque.oid(),
        // PostgreSQL has none: no rule before it has such a type.
        LogicalType::Whole(_)
        | LogicalType::SignedTime(_)
        | LogicalType::Enum(_)
        | LogicalType::Set(_)
        | LogicalType::Bits(_) => 0,
    }
}

/// The maximum length of `char` in PostgreSQL.
const CHAR_MAX: u32 = 10_485_760;

/// The type for a number in `pg_type` and a modifier (-1: none). `None` if no protected column can
/// have it. `char` without a modifier has any length and is represented by the longest; it occurs
/// only for input values, which are not padded to it.
pub fn logical(oid: u32, modifier: i32) -> Option<LogicalType> {
    // The modifier of a length includes the four bytes of PostgreSQL's varlena header.
    let limit = u32::try_from(modifier)
        .ok()
        .and_then(|limit| limit.checked_sub(4));
    // That of a time is the digits of its seconds alone.
    let digits = u8::try_from(modifier).ok();
    Some(match oid {
        16 => LogicalType::Boolean,
        BYTEA => LogicalType::Bytes,
        20 => LogicalType::BigInt,
        21 => LogicalType::SmallInt,
        23 => LogicalType::Integer,
        25 => LogicalType::Text,
        114 => LogicalType::Json,
        700 => LogicalType::Real,
        701 => LogicalType::Double,
        1042 => LogicalType::Char(limit.unwrap_or(CHAR_MAX)),
        1043 => LogicalType::Varchar(limit),
        1082 => LogicalType::Date,
        1083 => LogicalType::Time(digits),
        1114 => LogicalType::Timestamp(digits),
        1184 => LogicalType::TimestampTz(digits),
        1700 => LogicalType::Numeric(limit.map(|limit| ((limit >> 16) as u16, limit as u16))),
        2950 => LogicalType::Uuid,
        other => LogicalType::Opaque(OpaqueType::of_oid(other, modifier)?),
    })
}

/// Size of a type's values (`typlen`); -1: variable.
pub fn size(logical: LogicalType) -> i16 {
    match logical {
        LogicalType::Boolean => 1,
        LogicalType::SmallInt => 2,
        LogicalType::Integer | LogicalType::Real | LogicalType::Date => 4,
        LogicalType::BigInt
        | LogicalType::Double
        | LogicalType::Time(_)
        | LogicalType::SignedTime(_)
        | LogicalType::Enum(_)
        | LogicalType::Set(_)
        | LogicalType::Bits(_)
        | LogicalType::Timestamp(_)
        | LogicalType::TimestampTz(_) => 8,
        LogicalType::Uuid => 16,
        LogicalType::Opaque(opaque) => opaque.size(),
        LogicalType::Whole(whole) => i16::from(whole.bits().div_ceil(8)),
        LogicalType::Bytes
        | LogicalType::Text
        | LogicalType::Json
        | LogicalType::Char(_)
        | LogicalType::Varchar(_)
        | LogicalType::Numeric(_) => -1,
    }
}

/// Type modifier (`atttypmod`); -1: none.
pub fn modifier(logical: LogicalType) -> i32 {
    match logical {
        LogicalType::Char(length) | LogicalType::Varchar(Some(length)) => {
            i32::try_from(length).map_or(-1, |length| length.saturating_add(4))
        }
        LogicalType::Numeric(Some((precision, scale))) => {
            ((i32::from(precision) << 16) | i32::from(scale)) + 4
        }
        LogicalType::Opaque(opaque) => opaque.modifier(),
        logical => logical.second_digits().map_or(-1, i32::from),
    }
}

fn error(sqlstate: SqlState, message: &str) -> ValueError {
    ValueError {
        sqlstate,
        message: message.to_owned(),
    }
}

fn too_short() -> ValueError {
    error(
        SqlState::PROTOCOL_VIOLATION,
        "insufficient data left in message",
    )
}

fn malformed() -> ValueError {
    error(
        SqlState::INVALID_BINARY_REPRESENTATION,
        "incorrect binary data format in bind parameter",
    )
}

/// Exactly this many bytes, with the server's error otherwise.
fn fixed<const SIZE: usize>(bytes: &[u8]) -> Result<[u8; SIZE], ValueError> {
    bytes.try_into().map_err(|_| {
        if bytes.len() < SIZE {
            too_short()
        } else {
            malformed()
        }
    })
}

fn utf8(bytes: &[u8]) -> Result<&str, ValueError> {
    std::str::from_utf8(bytes).map_err(|_| {
        error(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\"",
        )
    })
}

/// Reads a parameter.
///
/// # Errors
///
/// If it is not a value of the type: the SQLSTATE of the server's input function.
pub fn read(
    bytes: &[u8],
    logical: LogicalType,
    format: Format,
    context: &TextContext,
) -> Result<Value, ValueError> {
    if format == Format::Text {
        return Value::from_text(utf8(bytes)?, logical, context);
    }
    Ok(match logical {
        LogicalType::Boolean => Value::Boolean(fixed::<1>(bytes)? != [0]),
        LogicalType::SmallInt => Value::Integer(i16::from_be_bytes(fixed(bytes)?).into()),
        LogicalType::Integer => Value::Integer(i32::from_be_bytes(fixed(bytes)?).into()),
        LogicalType::BigInt => Value::Integer(i64::from_be_bytes(fixed(bytes)?)),
        LogicalType::Real => Value::Float(f32::from_be_bytes(fixed(bytes)?).into()),
        LogicalType::Double => Value::Float(f64::from_be_bytes(fixed(bytes)?)),
        LogicalType::Numeric(_) => numeric::read(bytes)?,
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) | LogicalType::Json => {
            Value::from_text(utf8(bytes)?, logical, context)?
        }
        LogicalType::Bytes => Value::Bytes(bytes.to_vec()),
        LogicalType::Date => Value::date(i32::from_be_bytes(fixed(bytes)?))?,
        LogicalType::Time(_) => Value::time(i64::from_be_bytes(fixed(bytes)?))?,
        LogicalType::Timestamp(_) | LogicalType::TimestampTz(_) => {
            Value::timestamp(i64::from_be_bytes(fixed(bytes)?))?
        }
        LogicalType::Uuid => Value::Uuid(fixed(bytes)?),
        LogicalType::Whole(_)
        | LogicalType::SignedTime(_)
        | LogicalType::Enum(_)
        | LogicalType::Set(_)
        | LogicalType::Bits(_) => {
            return Err(other_type());
        }
        LogicalType::Opaque(opaque) => Value::Opaque(context.opaque.read_binary(opaque, bytes)?),
    })
}

/// Appends a value of a type.
///
/// # Errors
///
/// XX000 if it is not a value of the type.
pub fn write(
    value: &Value,
    logical: LogicalType,
    format: Format,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    match (value, format) {
        (Value::Text(text), _) => out.extend(text.as_bytes()),
        // A label of an enumeration, shown as text.
        (Value::Opaque(bytes), Format::Text) if logical == LogicalType::Text => out.extend(bytes),
        (Value::Opaque(bytes), Format::Text) => {
            let LogicalType::Opaque(opaque) = logical else {
                return Err(other_type());
            };
            match opaque.text_of(bytes) {
                Some(text) => out.extend(text),
                None => out.extend(context.opaque.text(opaque, bytes)?),
            }
        }
        (Value::Integer(number), Format::Text) => {
            write!(out, "{number}").expect("a vector takes what is written");
        }
        (value, Format::Text) => out.extend(value.to_text(logical, context).into_bytes()),
        (value, Format::Binary) => return write_binary(value, logical, out),
    }
    Ok(())
}

fn write_binary(value: &Value, logical: LogicalType, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let wrong = other_type;
    match value {
        Value::Boolean(truth) => out.push(u8::from(*truth)),
        Value::Integer(number) => match logical {
            LogicalType::SmallInt => {
                let number = i16::try_from(*number).map_err(|_| wrong())?;
                out.extend(number.to_be_bytes());
            }
            LogicalType::Integer => {
                let number = i32::try_from(*number).map_err(|_| wrong())?;
                out.extend(number.to_be_bytes());
            }
            LogicalType::BigInt => out.extend(number.to_be_bytes()),
            _ => return Err(wrong()),
        },
        Value::Unsigned(_) => return Err(wrong()),
        Value::Float(number) if logical == LogicalType::Real => {
            out.extend((*number as f32).to_be_bytes());
        }
        Value::Float(number) => out.extend(number.to_be_bytes()),
        Value::Numeric(number) => numeric::write(number, out).ok_or_else(wrong)?,
        Value::NumericSpecial(special) => numeric::write_special(*special, out),
        Value::Text(text) => out.extend(text.as_bytes()),
        Value::Bytes(bytes) | Value::Opaque(bytes) => out.extend(bytes),
        Value::Date(day) => out.extend(day.to_be_bytes()),
        Value::Time(time) | Value::Timestamp(time) => out.extend(time.to_be_bytes()),
        Value::Uuid(uuid) => out.extend(uuid),
    }
    Ok(())
}

fn other_type() -> ValueError {
    error(
        SqlState::INTERNAL_ERROR,
        "a protected column holds a value of another type",
    )
}

/// Parses `bytea` in text format, in either style of `bytea_output`, and appends it to `out`;
/// returns false if it is invalid.
pub fn read_bytea(text: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(digits) = text.strip_prefix(b"\\x") else {
        return read_escaped(text, out);
    };
    let (pairs, rest) = digits.as_chunks::<2>();
    out.reserve(pairs.len());
    for &[high, low] in pairs {
        let (Some(high), Some(low)) = (hex_digit(high), hex_digit(low)) else {
            return false;
        };
        out.push(high << 4 | low);
    }
    rest.is_empty()
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn read_escaped(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let (byte, behind) = match (first, behind) {
            (b'\\', [b'\\', behind @ ..]) => (b'\\', behind),
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    behind @ ..,
                ],
            ) => ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), behind),
            (b'\\', _) => return false,
            (byte, behind) => (byte, behind),
        };
        out.push(byte);
        rest = behind;
    }
    true
}

/// Appends `bytea` in text format: `\x` and hexadecimal digits.
pub fn write_bytea(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 + 2 * bytes.len());
    out.extend(b"\\x");
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// The values that `recv` of `numeric` encodes in the sign field.
fn special_of_sign(sign: u16) -> Option<NumericSpecial> {
    match sign {
        0xc000 => Some(NumericSpecial::Nan),
        0xd000 => Some(NumericSpecial::Infinity),
        0xf000 => Some(NumericSpecial::NegativeInfinity),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
