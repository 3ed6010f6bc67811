//! `bytea` and `uuid`: their texts.

use column_value::{Value, ValueError, is_space};
use sqlstate::SqlState;

const HEX: &[u8; 16] = b"0123456789abcdef";

fn write_hex(byte: u8, out: &mut String) {
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Reads `\x…`, or the older form with octal escapes.
pub(crate) fn parse_bytea(text: &str) -> Result<Value, ValueError> {
    let Some(hex) = text.strip_prefix("\\x") else {
        return parse_escaped(text.as_bytes());
    };
    let invalid = |message: &str| ValueError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let mut bytes = Vec::with_capacity(hex.len() / 2);
    let mut rest = hex.bytes();
    while let Some(byte) = rest.next() {
        if is_space(char::from(byte)) {
            continue;
        }
        let high = hex_digit(byte).ok_or_else(|| invalid("invalid hexadecimal digit"))?;
        let low = rest
            .next()
            .ok_or_else(|| invalid("invalid hexadecimal data: odd number of digits"))?;
        let low = hex_digit(low).ok_or_else(|| invalid("invalid hexadecimal digit"))?;
        bytes.push(high << 4 | low);
    }
    Ok(Value::Bytes(bytes))
}

fn parse_escaped(text: &[u8]) -> Result<Value, ValueError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        rest = match (first, behind) {
            (b'\\', [b'\\', behind @ ..]) => {
                bytes.push(b'\\');
                behind
            }
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    behind @ ..,
                ],
            ) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                behind
            }
            (b'\\', _) => return Err(ValueError::syntax("bytea")),
            _ => {
                bytes.push(first);
                behind
            }
        };
    }
    Ok(Value::Bytes(bytes))
}

/// Writes `\x` and digits, or with `escaped` the older form.
pub(crate) fn write_bytea(bytes: &[u8], escaped: bool, out: &mut String) {
    if escaped {
        return write_escaped(bytes, out);
    }
    out.reserve(2 + 2 * bytes.len());
    out.push_str("\\x");
    for byte in bytes {
        write_hex(*byte, out);
    }
}

fn write_escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                out.push('\\');
                for shift in [6_u8, 3, 0] {
                    out.push(char::from(b'0' + (byte >> shift & 7)));
                }
            }
        }
    }
}

/// Reads 32 digits, with a hyphen after any group of four, in braces or without.
pub(crate) fn parse_uuid(text: &str) -> Result<Value, ValueError> {
    let syntax = || ValueError::syntax("uuid");
    let digits = match text.strip_prefix('{') {
        Some(inside) => inside.strip_suffix('}').ok_or_else(syntax)?,
        None => text,
    };
    let mut rest = digits.as_bytes();
    let mut uuid = [0; 16];
    for (index, byte) in uuid.iter_mut().enumerate() {
        let [high, low, behind @ ..] = rest else {
            return Err(syntax());
        };
        let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low)) else {
            return Err(syntax());
        };
        *byte = high << 4 | low;
        rest = match behind {
            [b'-', behind @ ..] if index % 2 == 1 && index < 15 => behind,
            _ => behind,
        };
    }
    if !rest.is_empty() {
        return Err(syntax());
    }
    Ok(Value::Uuid(uuid))
}

pub(crate) fn write_uuid(uuid: &[u8; 16], out: &mut String) {
    for (index, byte) in uuid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        write_hex(*byte, out);
    }
}
