//! `numeric`: its text, its rounding, and conversions to and from other numbers.
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

/// Digits that a quotient has at the least (`NUMERIC_MIN_SIG_DIGITS`).
const QUOTIENT_DIGITS_MIN: i64 = 16;

/// The scale of a quotient at most (`NUMERIC_MAX_DISPLAY_SCALE`).
const QUOTIENT_SCALE_MAX: i64 = 1000;

/// Decimal digits in one digit of the server's representation.
const DIGIT_GROUP: i64 = 4;

fn overflow() -> ValueError {
    ValueError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value overflows numeric format",
    )
}

pub(crate) fn ten_to(exponent: u64) -> BigInt {
    match 10_u64.checked_pow(u32::try_from(exponent).unwrap_or(u32::MAX)) {
        Some(power) => BigInt::from(power),
        None => BigInt::from(10).pow(exponent),
    }
}

/// Reads the text of a `numeric`.
///
/// # Errors
/// 22P02: no number. 22003: beyond what the server can store.
pub(crate) fn parse(text: &str) -> Result<Value, ValueError> {
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
pub(crate) fn check_size(number: BigDecimal) -> Result<BigDecimal, ValueError> {
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
pub(crate) fn whole_digits(number: &BigDecimal) -> u64 {
    let (digits, scale) = number.as_bigint_and_scale();
    if digits.is_zero() {
        return 0;
    }
    let count = i64::try_from(decimal_digits(&digits)).unwrap_or(i64::MAX);
    u64::try_from(count - scale).unwrap_or(0)
}

fn decimal_digits(number: &BigInt) -> u64 {
    match number.magnitude().to_u128() {
        Some(0) => 1,
        Some(small) => u64::from(small.ilog10()) + 1,
        None => number.magnitude().to_string().len() as u64,
    }
}

/// The number with another scale, rounded half away from zero.
pub(crate) fn round(number: &BigDecimal, scale: i64) -> BigDecimal {
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
fn divide_rounded(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let quotient = dividend / divisor;
    let rest: BigInt = dividend - &quotient * divisor;
    if rest.abs() * 2 < divisor.abs() {
        return quotient;
    }
    let negative = (dividend.sign() == Sign::Minus) != (divisor.sign() == Sign::Minus);
    if negative { quotient - 1 } else { quotient + 1 }
}

/// Both numbers as digits at the larger of their scales.
fn aligned(left: &BigDecimal, right: &BigDecimal) -> (BigInt, BigInt, i64) {
    let (left_digits, left_scale) = left.as_bigint_and_scale();
    let (right_digits, right_scale) = right.as_bigint_and_scale();
    let scale = left_scale.max(right_scale);
    let at_scale = |digits: BigInt, old: i64| match (scale - old).unsigned_abs() {
        0 => digits,
        more => digits * ten_to(more),
    };
    (
        at_scale(left_digits.into_owned(), left_scale),
        at_scale(right_digits.into_owned(), right_scale),
        scale,
    )
}

pub(crate) fn add(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let (left, right, scale) = aligned(left, right);
    check_size(BigDecimal::new(left + right, scale))
}

pub(crate) fn subtract(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let (left, right, scale) = aligned(left, right);
    check_size(BigDecimal::new(left - right, scale))
}

pub(crate) fn multiply(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let (left_digits, left_scale) = left.as_bigint_and_scale();
    let (right_digits, right_scale) = right.as_bigint_and_scale();
    check_size(BigDecimal::new(
        &*left_digits * &*right_digits,
        left_scale + right_scale,
    ))
}

pub(crate) fn compare(left: &BigDecimal, right: &BigDecimal) -> Ordering {
    let (left, right, _) = aligned(left, right);
    left.cmp(&right)
}

/// The quotient at the scale that the server chooses.
///
/// # Errors
/// 22012: the divisor is 0.
pub(crate) fn divide(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, ValueError> {
    let (left_digits, left_scale) = left.as_bigint_and_scale();
    let (right_digits, right_scale) = right.as_bigint_and_scale();
    if right_digits.is_zero() {
        return Err(division_by_zero());
    }
    let scale = quotient_scale(left, right);
    // left / 10^ls / (right / 10^rs) * 10^scale
    let shift = scale - left_scale + right_scale;
    let quotient = match u64::try_from(shift) {
        Ok(up) => divide_rounded(&(&*left_digits * ten_to(up)), &right_digits),
        Err(_) => divide_rounded(
            &left_digits,
            &(&*right_digits * ten_to(shift.unsigned_abs())),
        ),
    };
    check_size(BigDecimal::new(quotient, scale))
}

pub(crate) fn division_by_zero() -> ValueError {
    ValueError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// The server wants at least 16 significant digits and estimates how long the quotient gets by
/// the first digit of each operand, in its base of 10,000.
fn quotient_scale(left: &BigDecimal, right: &BigDecimal) -> i64 {
    let (left_weight, left_first) = first_group(left);
    let (right_weight, right_first) = first_group(right);
    let mut weight = left_weight - right_weight;
    if left_first <= right_first {
        weight -= 1;
    }
    (QUOTIENT_DIGITS_MIN - weight * DIGIT_GROUP)
        .max(left.fractional_digit_count())
        .max(right.fractional_digit_count())
        .clamp(0, QUOTIENT_SCALE_MAX)
}

/// The place of the first digit in base 10,000 (0: the one before the point) and the digit.
fn first_group(number: &BigDecimal) -> (i64, u64) {
    let (digits, scale) = number.as_bigint_and_scale();
    if digits.is_zero() {
        return (0, 0);
    }
    let count = i64::try_from(decimal_digits(&digits)).unwrap_or(i64::MAX);
    let highest = count - 1 - scale;
    let weight = highest.div_euclid(DIGIT_GROUP);
    // What stands above the group's lowest digit.
    let dropped = scale + weight * DIGIT_GROUP;
    let magnitude = digits.abs();
    let first = match u64::try_from(dropped) {
        Ok(down) => magnitude / ten_to(down),
        Err(_) => magnitude * ten_to(dropped.unsigned_abs()),
    };
    (weight, first.to_u64().expect("at most four digits"))
}

/// Writes the number as the server does: all digits, and as many behind the point as its scale.
pub(crate) fn write(number: &BigDecimal, out: &mut String) {
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
pub(crate) fn to_float(number: &BigDecimal) -> Result<f64, ValueError> {
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

/// `numeric` of a `double precision`: 15 significant digits (`DBL_DIG`); of a `real`: 6.
pub(crate) fn from_float(number: f64, significant: usize) -> Result<Value, ValueError> {
    if let Some(special) = NumericSpecial::of_float(number) {
        return Ok(Value::NumericSpecial(special));
    }
    let text = format!("{number:.*e}", significant - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    // As `%.15g` does: no zeros at the end of the fraction.
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    parse(&format!("{mantissa}e{exponent}"))
}

/// The whole number nearest to it, half away from zero, where it fits.
pub(crate) fn to_integer(number: &BigDecimal) -> Option<i64> {
    round(number, 0).as_bigint_and_scale().0.to_i64()
}

/// Rounds to `scale` and checks the digits before the point.
///
/// # Errors
/// 22003: more digits than the type has.
pub(crate) fn limit(
    number: BigDecimal,
    precision: u16,
    scale: u16,
) -> Result<BigDecimal, ValueError> {
    let number = round(&number, i64::from(scale));
    if whole_digits(&number) > u64::from(precision - scale) {
        return Err(field_overflow());
    }
    Ok(number)
}

pub(crate) fn field_overflow() -> ValueError {
    ValueError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "numeric field overflow",
    )
}
