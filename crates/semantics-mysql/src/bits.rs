//! Values of `BIT`: numbers without a sign, of so many bits.
//!
//! A server stores a text as the bytes of a number, the highest first, so `'A'` is 65. It compares
//! one as the number that it would store, or that its digits are: that is refused.

use column_value::{LogicalType, Value, ValueError};

use crate::{Given, not_understood, too_long};

/// The number that a column of so many bits has once a constant is stored in it.
pub fn stored(given: Given<'_>, count: u8) -> Result<Value, ValueError> {
    let number = match given {
        Given::Number(digits) => number(digits, count)?,
        Given::Bytes(bytes) => of_bytes(bytes, count)?,
        // In other character sets, other letters have other bytes.
        Given::Text(text) if text.is_ascii() => of_bytes(text.as_bytes(), count)?,
        Given::Text(_) => return Err(not_understood(LogicalType::Bits(count))),
    };
    match fits(number, count) {
        true => Ok(Value::Unsigned(number)),
        false => Err(too_long()),
    }
}

/// The number that is equal to a constant. By a key, a server may find one with more bits as the
/// greatest of the column.
pub fn matched(given: Given<'_>, count: u8) -> Result<Value, ValueError> {
    let number = match given {
        Given::Number(digits) => number(digits, count)?,
        Given::Text(_) | Given::Bytes(_) => return Err(not_understood(LogicalType::Bits(count))),
    };
    match fits(number, count) {
        true => Ok(Value::Unsigned(number)),
        false => Err(not_understood(LogicalType::Bits(count))),
    }
}

/// What a server writes for a number: its bytes. None: it has more bits.
pub fn written(number: u64, count: u8) -> Option<Vec<u8>> {
    let bytes = number.to_be_bytes();
    let start = bytes.len().checked_sub(usize::from(count.div_ceil(8)))?;
    fits(number, count).then(|| bytes[start..].to_vec())
}

/// A whole number. One below zero is a great one to servers, and others are rounded.
fn number(digits: &str, count: u8) -> Result<u64, ValueError> {
    let number = digits.parse();
    number.map_err(|_| not_understood(LogicalType::Bits(count)))
}

/// The number of bytes. Whether zeros at the start of more than eight count depends on how they are
/// written.
fn of_bytes(bytes: &[u8], count: u8) -> Result<u64, ValueError> {
    let fits = (1..=size_of::<u64>()).contains(&bytes.len());
    match (fits, bytes.first()) {
        (true, _) => Ok(bytes
            .iter()
            .fold(0_u64, |all, byte| all << 8 | u64::from(*byte))),
        (false, None | Some(0)) => Err(not_understood(LogicalType::Bits(count))),
        (false, Some(_)) => Err(too_long()),
    }
}

fn fits(number: u64, count: u8) -> bool {
    number.checked_shr(count.into()).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use sqlstate::SqlState;

    use super::*;

    #[test]
    fn numbers_and_bytes_are_stored() {
        for (given, count, number) in [
            (Given::Number("1"), 1, 1),
            (Given::Number("0"), 64, 0),
            (Given::Number("18446744073709551615"), 64, u64::MAX),
            (Given::Text("A"), 7, 65),
            (Given::Text("1"), 8, 49),
            (Given::Bytes(b"\0\0\0\0\0\0\0\x01"), 1, 1),
            (Given::Bytes(b"\x01\x02"), 9, 258),
            (Given::Bytes(&[0xff; 8]), 64, u64::MAX),
        ] {
            let value = stored(given, count).ok();
            assert_eq!(value, Some(Value::Unsigned(number)), "{number} of {count}");
        }
        for (given, count) in [
            (Given::Number("2"), 1),
            (Given::Text("1"), 1),
            (Given::Bytes(b"\x02\0"), 9),
            (Given::Bytes(&[1; 9]), 64),
        ] {
            let error = stored(given, count).expect_err("too long");
            let state = SqlState::STRING_DATA_RIGHT_TRUNCATION;
            assert_eq!(error.sqlstate.as_str(), state.as_str(), "{count}");
        }
        for given in [
            Given::Number("-1"),
            Given::Number("1.0"),
            Given::Number("1e0"),
            Given::Number("18446744073709551616"),
            Given::Text("\u{e9}"),
            Given::Text(""),
            Given::Bytes(b"\0\0\0\0\0\0\0\0\x01"),
        ] {
            let error = stored(given, 64).expect_err("not read");
            let state = SqlState::INVALID_TEXT_REPRESENTATION;
            assert_eq!(error.sqlstate.as_str(), state.as_str());
        }
    }

    #[test]
    fn numbers_alone_are_compared() {
        let one = Some(Value::Unsigned(1));
        assert_eq!(matched(Given::Number("1"), 1).ok(), one);
        for given in [
            Given::Number("-1"),
            Given::Number("2"),
            Given::Text("1"),
            Given::Bytes(b"\x01"),
        ] {
            assert!(matched(given, 1).is_err());
        }
    }

    #[test]
    fn numbers_are_written_as_their_bytes() {
        for (number, count, bytes) in [
            (1, 1, Some(vec![1])),
            (0, 9, Some(vec![0, 0])),
            (258, 9, Some(vec![1, 2])),
            (u64::MAX, 64, Some(vec![0xff; 8])),
            (2, 1, None),
        ] {
            assert_eq!(written(number, count), bytes, "{number} of {count}");
        }
    }
}
