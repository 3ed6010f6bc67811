//! `numeric`: its arithmetic, its comparison, and conversions to and from other numbers.

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{Signed, ToPrimitive, Zero};
use column_value::numeric::{decimal_digits, divide_rounded, round, ten_to, whole_digits};
use column_value::{NumericSpecial, Value, ValueError};
use sqlstate::SqlState;

pub(crate) use column_value::numeric::{check_size, parse, to_float, write};

/// Digits that a quotient has at the least (`NUMERIC_MIN_SIG_DIGITS`).
const QUOTIENT_DIGITS_MIN: i64 = 16;

/// The scale of a quotient at most (`NUMERIC_MAX_DISPLAY_SCALE`).
const QUOTIENT_SCALE_MAX: i64 = 1000;

/// Decimal digits in one digit of the server's representation.
const DIGIT_GROUP: i64 = 4;

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
