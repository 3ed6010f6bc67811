//! Whole numbers and decimals.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::Sign;
use column_value::limits::integer_range;
use column_value::numeric::{self, whole_digits};
use column_value::{LogicalType, Value, ValueError, WholeType};

use crate::{Given, digits, named, not_understood, year};

/// The digits that a server reads of a decimal (`DECIMAL_BUFF_LENGTH`), a sign and a point. Of a
/// longer one it cuts digits.
const SIZE_MAX: usize = 9 * 9 + 2;

/// Digits of a decimal that is compared, in all and behind the point: servers differ in what they
/// do with more.
const COMPARED_DIGITS_MAX: (u64, i64) = (65, 30);

/// Digits that a floating-point number keeps: servers compare a text with a decimal as such
/// numbers.
const DIGITS_OF_DOUBLE: u64 = 15;

/// The number of a constant for a column of whole numbers or decimals, where it is stored or
/// compared.
pub fn of_constant(
    given: Given<'_>,
    logical: LogicalType,
    is_stored: bool,
) -> Result<BigDecimal, ValueError> {
    let text = digits(given, logical)?;
    let has_exponent = matches!(given, Given::Number(_)) && text.contains(['e', 'E']);
    if !has_exponent {
        return read(text, logical);
    }
    let digits = match double(text, true) {
        Ok(Value::Float(number)) => digits_of_double(number, logical, is_stored),
        _ => None,
    };
    read(&digits.ok_or_else(|| not_understood(logical))?, logical)
}

/// The digits of a floating-point number for a column of whole numbers or decimals, where it is
/// stored or compared. None: the server may take it for another number.
#[must_use]
pub fn digits_of_double(number: f64, logical: LogicalType, is_stored: bool) -> Option<String> {
    /// Below 2⁵³ all whole numbers have a form of their own.
    const BELOW: f64 = 9_007_199_254_740_992.0;
    /// All decimals of so many digits have.
    const EXACT_DIGITS_MAX: u16 = 15;
    /// Beyond it the server writes an exponent, and digits may be others.
    const SIZE_MAX: f64 = 1e15;
    // No other value of the column is equal to it in double precision, in which servers compare.
    let has_own_forms = match logical {
        LogicalType::Numeric(Some((digits, _))) => digits <= EXACT_DIGITS_MAX,
        // As such a number, the greatest is out of range to MySQL.
        LogicalType::Whole(WholeType::Year) => number < 2155.0,
        LogicalType::Bits(_) => true,
        logical => logical.is_whole(),
    };
    let is_exact = has_own_forms && number.trunc() == number && number.abs() < BELOW;
    // The server stores the shortest digits that stand for the number.
    let is_decimal = matches!(logical, LogicalType::Numeric(_));
    let is_kept = is_stored && is_decimal && number.abs() < SIZE_MAX;
    (is_exact || is_kept).then(|| number.to_string())
}

/// A number as it is written: a sign, digits, a point between digits. No exponent.
pub fn read(text: &str, logical: LogicalType) -> Result<BigDecimal, ValueError> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, part) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|own| own.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) || text.len() > SIZE_MAX {
        return Err(not_understood(logical));
    }
    match numeric::parse(text)? {
        Value::Numeric(number) => Ok(number),
        _ => Err(not_understood(logical)),
    }
}

/// A whole number of a type; a half is rounded away from zero.
pub fn integer(number: &BigDecimal, logical: LogicalType) -> Result<Value, ValueError> {
    let mut text = String::new();
    numeric::write(&numeric::round(number, 0), &mut text);
    let range = integer_range(logical);
    let value = match logical {
        LogicalType::Whole(WholeType::UnsignedBig) => text.parse().ok().map(Value::Unsigned),
        LogicalType::Whole(WholeType::Year) => {
            let year = text.parse().ok().and_then(year::of_number);
            year.map(Value::Integer)
        }
        _ => {
            let number = text.parse::<i64>().ok().filter(|own| range.contains(own));
            number.map(Value::Integer)
        }
    };
    match value {
        Some(value) => Ok(value),
        None => Err(ValueError::out_of_range(&named(logical))),
    }
}

/// The same of a number that is no text: servers look at its sign before they round it.
pub fn integer_of_number(number: &BigDecimal, logical: LogicalType) -> Result<Value, ValueError> {
    match logical.is_unsigned() && number.sign() == Sign::Minus {
        true => Err(ValueError::out_of_range(&named(logical))),
        false => integer(number, logical),
    }
}

/// A decimal of a precision and a scale; a half is rounded away from zero.
pub fn decimal(number: &BigDecimal, (precision, scale): (u16, u16)) -> Result<Value, ValueError> {
    let number = numeric::round(number, scale.into());
    match whole_digits(&number) <= u64::from(precision.saturating_sub(scale)) {
        true => Ok(Value::Numeric(number)),
        false => Err(ValueError::out_of_range(&format!(
            "decimal({precision},{scale})"
        ))),
    }
}

/// The number with a scale, if it has no digits beyond it.
pub fn exact(number: &BigDecimal, scale: u16) -> Option<BigDecimal> {
    let rounded = numeric::round(number, scale.into());
    (rounded == *number).then_some(rounded)
}

/// A server compares a text with a number as floating-point numbers, or with a whole column as
/// whole numbers: the same only for a short text, beside a decimal only where all values of the
/// column near it are of few digits, too.
pub fn check_compared(
    number: &BigDecimal,
    is_text: bool,
    logical: LogicalType,
) -> Result<(), ValueError> {
    let (own, places) = number.as_bigint_and_scale();
    let digits = numeric::decimal_digits(&own);
    let (digits_max, places_max) = COMPARED_DIGITS_MAX;
    let is_long = digits > digits_max || places > places_max;
    let kept = match logical {
        LogicalType::Numeric(Some((_, scale))) => whole_digits(number) + u64::from(scale),
        _ => 0,
    };
    match is_long || (is_text && digits.max(kept) > DIGITS_OF_DOUBLE) {
        true => Err(not_understood(logical)),
        false => Ok(()),
    }
}

/// A floating-point number of the digits of a constant, with or without an exponent: drivers write
/// `4.5e0`. `is_number` says that it stands without quotes.
pub fn double(text: &str, is_number: bool) -> Result<Value, ValueError> {
    let logical = LogicalType::Double;
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (unsigned, None),
    };
    let is_plain = digits.starts_with(|own: char| own.is_ascii_digit())
        && digits.ends_with(|own: char| own.is_ascii_digit())
        && digits
            .bytes()
            .all(|own| own.is_ascii_digit() || own == b'.');
    let is_exponent = exponent.is_none_or(|own| {
        let own = own.strip_prefix(['-', '+']).unwrap_or(own);
        !own.is_empty() && own.bytes().all(|own| own.is_ascii_digit())
    });
    let number = text.parse::<f64>().ok().filter(|own| {
        // Whether the server takes what is too small for zero is not relied upon.
        own.is_finite() && (*own != 0.0 || digits.bytes().all(|own| matches!(own, b'0' | b'.')))
    });
    match number.filter(|_| is_plain && is_exponent) {
        // Before a zero with an exponent, the sign makes minus zero in MySQL and not in MariaDB.
        Some(0.0) if is_number && text.starts_with('-') && exponent.is_some() => {
            Err(not_understood(logical))
        }
        // To the server the sign is an operator, which makes no minus zero of a decimal.
        Some(0.0) if is_number => Ok(Value::Float(0.0)),
        Some(number) => Ok(Value::Float(number)),
        None => Err(not_understood(logical)),
    }
}

/// A number of single precision: servers read it in double precision and round it once more.
pub fn float(text: &str, is_number: bool) -> Result<Value, ValueError> {
    let logical = LogicalType::Real;
    let Value::Float(number) = double(text, is_number)? else {
        return Err(not_understood(logical));
    };
    if number.abs() > f64::from(f32::MAX) {
        return Err(ValueError::out_of_range(&named(logical)));
    }
    let rounded = number as f32;
    // MariaDB takes minus zero for zero, and MySQL does not.
    let is_plain = rounded != 0.0 || (number == 0.0 && rounded.is_sign_positive());
    match is_plain {
        true => Ok(Value::Float(rounded.into())),
        false => Err(not_understood(logical)),
    }
}

/// Writes a number of single precision, of which servers show six digits.
pub fn write_float(number: f64, out: &mut String) {
    let six = format!("{number:.5e}").parse();
    write_double(six.unwrap_or(number), out);
}

/// Places before and behind the point, within which the server writes no exponent (`my_gcvt`).
const PLACES_MAX: i32 = 15;

/// Writes the shortest digits that stand for the number.
pub fn write_double(number: f64, out: &mut String) {
    use std::fmt::Write as _;

    let written = format!("{number:e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    // The number is 0.digits times ten to this.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    match number == 0.0 || (1 - PLACES_MAX..=PLACES_MAX).contains(&point) {
        true => write!(out, "{number}"),
        false => write!(out, "{digits}e{}", point - 1),
    }
    .expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured on MariaDB 10.11 and MySQL 8.0.15.
    #[test]
    fn numbers_of_single_precision_have_six_digits() {
        for (given, shown) in [
            ("0.1", "0.1"),
            ("16777217", "16777200"),
            ("1234565", "1234560"),
            ("1234575", "1234580"),
            ("9999995", "10000000"),
            ("123456789012345", "123457000000000"),
            ("1e15", "1e15"),
            ("0.00001234567", "0.0000123457"),
            ("1e-15", "0.000000000000001"),
            ("1.5e-16", "1.5e-16"),
            ("3.4028234e38", "3.40282e38"),
            ("1e-45", "1.4013e-45"),
            ("-1234567.8", "-1234570"),
        ] {
            let Ok(Value::Float(number)) = float(given, true) else {
                panic!("{given}");
            };
            let mut out = String::new();
            write_float(number, &mut out);
            assert_eq!(out, shown);
        }
        for other in ["3.4028235e38", "1e-60", "x"] {
            assert!(float(other, true).is_err(), "{other}");
        }
        assert!(float("-0", false).is_err());
    }
}
