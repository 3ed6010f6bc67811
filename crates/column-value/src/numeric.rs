//! `numeric`: its text, its rounding and its size.
//!
//! 1. A `BigDecimal` here has a scale between 0 and [`SCALE_MAX`]: the one that is shown.
//! 2. Rounding is half away from zero, as the server's.

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::num_traits::{Pow, Signed, ToPrimitive, Zero};
use sqlstate::SqlState;

use crate::value::{NumericSpecial, Value, ValueError};

/// Digits behind the point that the server can store.
pub const SCALE_MAX: i64 = 16383;

/// Digits before the point that the server can store.
pub const WHOLE_DIGITS_MAX: u64 = 131_072;

fn overflow() -> ValueError {
    ValueError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value overflows numeric format",
    )
}

/// The power of ten.
pub fn ten_to(exponent: u64) -> BigInt {
    match 10_u64.checked_pow(u32::try_from(exponent).unwrap_or(u32::MAX)) {
        Some(power) => BigInt::from(power),
        None => BigInt::from(10).pow(exponent),
    }
}

/// Reads the text of a `numeric`.
///
/// # Errors
/// 22P02: no number. 22003: beyond what the server can store.
pub fn parse(text: &str) -> Result<Value, ValueError> {
    let syntax = || ValueError::syntax("numeric");
    let text = text.trim_matches(crate::space::is_space);
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if text.eq_ignore_ascii_case("nan") {
        return Ok(Value::NumericSpecial(NumericSpecial::Nan));
    }
    if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        return Ok(Value::NumericSpecial(if negative {
            NumericSpecial::NegativeInfinity
        } else {
            NumericSpecial::Infinity
        }));
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        None => (unsigned, 0),
        Some(at) => (&unsigned[..at], parse_exponent(&unsigned[at + 1..])?),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return Err(syntax());
    }
    let number = from_digits(whole, fraction, exponent)?;
    Ok(Value::Numeric(if negative { -number } else { number }))
}

fn parse_exponent(text: &str) -> Result<i64, ValueError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ValueError::syntax("numeric"));
    }
    text.parse::<i32>()
        .ok()
        .filter(|exponent| exponent.unsigned_abs() < 1 << 30)
        .map(i64::from)
        .ok_or_else(overflow)
}

fn from_digits(whole: &str, fraction: &str, exponent: i64) -> Result<BigDecimal, ValueError> {
    let length = |part: &str| i64::try_from(part.len()).map_err(|_| overflow());
    let scale = length(fraction)? - exponent;
    let significant = whole.trim_start_matches('0');
    let is_zero = significant.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    // Before any work that grows with the exponent.
    if scale > SCALE_MAX || (!is_zero && length(significant)? + exponent > 131_072) {
        return Err(overflow());
    }
    if is_zero {
        return Ok(BigDecimal::new(BigInt::zero(), scale.max(0)));
    }
    let number: BigInt = if whole.len() + fraction.len() <= 18 {
        // The usual number needs no parser of big ones.
        let mut small = 0_i64;
        for byte in whole.bytes().chain(fraction.bytes()) {
            small = small * 10 + i64::from(byte - b'0');
        }
        BigInt::from(small)
    } else {
        let joined = [whole, fraction].concat();
        BigInt::parse_bytes(joined.as_bytes(), 10).expect("decimal digits only, at least one")
    };
    let number = match u64::try_from(-scale) {
        Ok(zeros) if zeros > 0 => BigDecimal::new(number * ten_to(zeros), 0),
        _ => BigDecimal::new(number, scale),
    };
    check_size(number)
}

/// The number, where the server can store it.
pub fn check_size(number: BigDecimal) -> Result<BigDecimal, ValueError> {
    let (digits, scale) = number.as_bigint_and_scale();
    // 2^n has about n * 0.30103 digits: a cheap bound, exact only where it matters.
    let whole_max = digits.bits() as i64 * 30103 / 100_000 + 1 - scale;
    if whole_max > 131_072 && whole_digits(&number) > WHOLE_DIGITS_MAX {
        return Err(overflow());
    }
    if scale > SCALE_MAX {
        return Ok(round(&number, SCALE_MAX));
    }
    Ok(number)
}

/// How many digits stand before the point; 0 below 1.
pub fn whole_digits(number: &BigDecimal) -> u64 {
    let (digits, scale) = number.as_bigint_and_scale();
    if digits.is_zero() {
        return 0;
    }
    let count = i64::try_from(decimal_digits(&digits)).unwrap_or(i64::MAX);
    u64::try_from(count - scale).unwrap_or(0)
}

/// How many decimal digits the number has; 0 has one.
pub fn decimal_digits(number: &BigInt) -> u64 {
    match number.magnitude().to_u128() {
        Some(0) => 1,
        Some(small) => u64::from(small.ilog10()) + 1,
        None => number.magnitude().to_string().len() as u64,
    }
}

/// The number with another scale, rounded half away from zero.
pub fn round(number: &BigDecimal, scale: i64) -> BigDecimal {
    let (digits, old) = number.as_bigint_and_scale();
    match scale.cmp(&old) {
        Ordering::Equal => number.clone(),
        Ordering::Greater => {
            BigDecimal::new(&*digits * ten_to((scale - old).unsigned_abs()), scale)
        }
        Ordering::Less => {
            let divisor = ten_to((old - scale).unsigned_abs());
            BigDecimal::new(divide_rounded(&digits, &divisor), scale)
        }
    }
}

/// The quotient, rounded half away from zero.
pub fn divide_rounded(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let quotient = dividend / divisor;
    let rest: BigInt = dividend - &quotient * divisor;
    if rest.abs() * 2 < divisor.abs() {
        return quotient;
    }
    let negative = (dividend.sign() == Sign::Minus) != (divisor.sign() == Sign::Minus);
    if negative { quotient - 1 } else { quotient + 1 }
}

/// Writes the number as the server does: all digits, and as many behind the point as its scale.
pub fn write(number: &BigDecimal, out: &mut String) {
    use std::fmt::Write as _;
    let (digits, scale) = number.as_bigint_and_scale();
    if digits.sign() == Sign::Minus {
        out.push('-');
    }
    let scale = usize::try_from(scale).unwrap_or(0);
    let start = out.len();
    // Writing to a String does not fail.
    let _ = match digits.magnitude().to_u128() {
        Some(small) => write!(out, "{small}"),
        None => write!(out, "{}", digits.magnitude()),
    };
    if scale == 0 {
        return;
    }
    let count = out.len() - start;
    if count <= scale {
        out.insert_str(start, &"0".repeat(scale - count + 1));
    }
    out.insert(out.len() - scale, '.');
}

/// The nearest `double precision`, by way of the text, as the server does.
///
/// # Errors
/// 22003: too large, or too small to be told from 0.
pub fn to_float(number: &BigDecimal) -> Result<f64, ValueError> {
    let (digits, scale) = number.as_bigint_and_scale();
    // Both exact, so their quotient is rounded once.
    if let (Some(small), 0..=22) = (digits.to_i64(), scale)
        && small.unsigned_abs() < 1 << 53
    {
        return Ok(small as f64 / 10_f64.powi(scale as i32));
    }
    let mut text = String::new();
    write(number, &mut text);
    match crate::floats::parse(&text, false)? {
        Value::Float(number) => Ok(number),
        _ => Ok(f64::NAN),
    }
}
