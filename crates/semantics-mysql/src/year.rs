//! Years of the type `YEAR`: 0000, and those from 1901 to 2155.

use column_value::{LogicalType, Value, ValueError, WholeType};

use crate::{Given, digits, named, not_understood};

const LOGICAL: LogicalType = LogicalType::Whole(WholeType::Year);
/// Digits of a year.
const DIGITS: usize = 4;
/// Years of two digits below it are those after 2000.
const CENTURY_BEGINS: i64 = 70;

/// Whether a number is one of the type.
pub fn is_year(number: i64) -> bool {
    matches!(number, 0 | 1901..=2155)
}

/// The year that a column has once a number is stored in it. None: it is out of range.
pub fn of_number(number: i64) -> Option<i64> {
    match number {
        1..CENTURY_BEGINS => Some(number + 2000),
        CENTURY_BEGINS..=99 => Some(number + 1900),
        _ => is_year(number).then_some(number),
    }
}

/// The year that a column has once a constant is stored in it. Of a text, as many zeros as the year
/// has digits are 0000, and fewer are 2000.
pub fn stored(given: Given<'_>) -> Result<Value, ValueError> {
    let text = digits(given, LOGICAL)?;
    let is_text = matches!(given, Given::Text(_));
    let unsigned = match is_text {
        true => text,
        false => text.strip_prefix(['-', '+']).unwrap_or(text),
    };
    let is_read = (1..=18).contains(&unsigned.len())
        && unsigned.bytes().all(|own| own.is_ascii_digit())
        && !(is_text && text.len() > DIGITS);
    let number: i64 = match text.parse() {
        Ok(number) if is_read => number,
        _ => return Err(not_understood(LOGICAL)),
    };
    let year = match number {
        0 if is_text && text.len() < DIGITS => Some(2000),
        _ => of_number(number),
    };
    match year {
        Some(year) => Ok(Value::Integer(year)),
        None => Err(ValueError::out_of_range(&named(LOGICAL))),
    }
}

/// The year with which a column is compared: one of the type, with all its digits. Servers compare
/// with what a shorter one would be stored as, or with the number, as the place has it; and by an
/// index they find no year below one that is out of range.
pub fn compared(given: Given<'_>) -> Result<Value, ValueError> {
    let text = digits(given, LOGICAL)?;
    let is_full = text.len() == DIGITS && text.bytes().all(|own| own.is_ascii_digit());
    let is_zero = matches!(given, Given::Number("0"));
    match text.parse() {
        Ok(year) if (is_full || is_zero) && is_year(year) => Ok(Value::Integer(year)),
        _ => Err(not_understood(LOGICAL)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured on MariaDB 10.11 and MySQL 8.0.15.
    #[test]
    fn short_years_are_those_around_2000() {
        let read = |given| match stored(given) {
            Ok(Value::Integer(year)) => Some(year),
            _ => None,
        };
        for (text, of_number, of_text) in [
            ("0", Some(0), Some(2000)),
            ("00", Some(0), Some(2000)),
            ("0000", Some(0), Some(0)),
            ("1", Some(2001), Some(2001)),
            ("69", Some(2069), Some(2069)),
            ("70", Some(1970), Some(1970)),
            ("099", Some(1999), Some(1999)),
            ("100", None, None),
            ("1900", None, None),
            ("1901", Some(1901), Some(1901)),
            ("2155", Some(2155), Some(2155)),
            ("2156", None, None),
            ("02000", Some(2000), None),
            ("-1", None, None),
            ("1999.0", None, None),
            ("", None, None),
            (" 2000", None, None),
            ("+2000", Some(2000), None),
            ("9999999999999999999", None, None),
        ] {
            assert_eq!(read(Given::Number(text)), of_number, "{text}");
            assert_eq!(read(Given::Text(text)), of_text, "{text:?}");
        }
    }

    #[test]
    fn years_are_compared_by_all_digits() {
        for (text, is_compared) in [
            ("1999", true),
            ("0000", true),
            ("2155", true),
            ("3000", false),
            ("1900", false),
            ("1000", false),
            ("0099", false),
            ("99", false),
            ("199", false),
            ("20000", false),
            ("-199", false),
            ("", false),
        ] {
            assert_eq!(compared(Given::Number(text)).is_ok(), is_compared, "{text}");
            assert_eq!(compared(Given::Text(text)).is_ok(), is_compared, "{text}");
        }
        assert!(compared(Given::Number("0")).is_ok());
        assert!(compared(Given::Text("0")).is_err());
    }
}
