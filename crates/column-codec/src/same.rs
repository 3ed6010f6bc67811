//! A value that a column is compared with, as a value of the column's own type.

use std::borrow::Cow;

use bigdecimal::num_traits::ToPrimitive;
use bigdecimal::{BigDecimal, RoundingMode};
use column_value::{LogicalType, NumericSpecial, Value, floats, numeric};

use crate::canonical::Class;

/// How a value stands to those of a type.
pub(crate) enum Same<'a> {
    /// It is one, or equal to one.
    Exact(Cow<'a, Value>),
    /// It lies above this one and below the next.
    Above(Value),
    /// It lies below all.
    BelowAll,
    /// It lies above all.
    AboveAll,
}

/// Why a value has no place among those of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The server would not compare them.
    Type,
    /// The server would make a `double precision` of the value, and it is out of their range.
    FloatRange,
    /// The server would make a `double precision` of each value of the type, and several of them
    /// would become the one that they are compared with.
    Rounded,
}

/// The value among those of a type.
pub(crate) fn among(value: &Value, logical: LogicalType) -> Result<Same<'_>, Unfit> {
    let exact = |value| Ok(Same::Exact(Cow::Owned(value)));
    match (Class::of(logical), value) {
        (Class::Integer, Value::Numeric(number)) => Ok(integer_of_numeric(number)),
        (Class::Integer, Value::Float(number)) => integer_of_float(*number, logical),
        (Class::Integer, Value::NumericSpecial(NumericSpecial::NegativeInfinity)) => {
            Ok(Same::BelowAll)
        }
        (Class::Integer, Value::NumericSpecial(_)) => Ok(Same::AboveAll),
        (Class::Numeric, Value::Integer(number)) => {
            exact(Value::Numeric(BigDecimal::from(*number)))
        }
        (Class::Numeric, Value::Float(number)) => numeric_of_float(*number, logical),
        (Class::Float, Value::Integer(number)) => Ok(float(*number as f64, logical)),
        (Class::Float, Value::Float(number)) => Ok(float(*number, logical)),
        (Class::Float, Value::NumericSpecial(special)) => Ok(float(special.float(), logical)),
        (Class::Float, Value::Numeric(number)) => {
            let mut text = String::new();
            numeric::write(number, &mut text);
            match floats::parse(&text, false) {
                Ok(Value::Float(number)) => Ok(float(number, logical)),
                _ => Err(Unfit::FloatRange),
            }
        }
        (Class::Date, Value::Timestamp(time)) => Ok(day_of_time(*time)),
        (Class::Timestamp, Value::Date(day)) => exact(Value::Timestamp(match *day {
            i32::MIN => i64::MIN,
            i32::MAX => i64::MAX,
            day => match i64::from(day).checked_mul(DAY_US) {
                Some(midnight) => midnight,
                // A day beyond every timestamp.
                None => return Ok(Same::Above(Value::Timestamp(i64::MAX - 1))),
            },
        })),
        (Class::Boolean, Value::Boolean(_))
        | (Class::Integer, Value::Integer(_))
        | (Class::Numeric, Value::Numeric(_) | Value::NumericSpecial(_))
        | (Class::Text | Class::Json, Value::Text(_))
        | (Class::Bytes, Value::Bytes(_))
        | (Class::Date, Value::Date(_))
        | (Class::Time, Value::Time(_))
        | (Class::Timestamp | Class::TimestampTz, Value::Timestamp(_))
        | (Class::Uuid, Value::Uuid(_)) => Ok(Same::Exact(Cow::Borrowed(value))),
        _ => Err(Unfit::Type),
    }
}

const DAY_US: i64 = 86_400_000_000;

/// From here on, several whole numbers become one `double precision`.
const WHOLE_ROUNDED_MIN: f64 = (1_u64 << 53) as f64;

/// 2^63: as a float the greatest that a `bigint` becomes, and the first that is none.
const WHOLE_LIMIT: f64 = (1_u64 << 63) as f64;

/// So many decimal digits no two numbers of which become one `double precision` (`DBL_DIG`).
const DIGITS_EXACT: i64 = 15;

fn day_of_time(time: i64) -> Same<'static> {
    let day = match time {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        _ => time.div_euclid(DAY_US) as i32,
    };
    let is_midnight = matches!(time, i64::MIN | i64::MAX) || time.rem_euclid(DAY_US) == 0;
    if is_midnight {
        Same::Exact(Cow::Owned(Value::Date(day)))
    } else {
        Same::Above(Value::Date(day))
    }
}

fn integer_of_numeric(number: &BigDecimal) -> Same<'static> {
    let floor = number.with_scale_round(0, RoundingMode::Floor);
    match floor.to_i64() {
        Some(whole) if floor == *number => Same::Exact(Cow::Owned(Value::Integer(whole))),
        Some(whole) => Same::Above(Value::Integer(whole)),
        None if number.sign() == bigdecimal::num_bigint::Sign::Minus => Same::BelowAll,
        None => Same::AboveAll,
    }
}

fn integer_of_float(number: f64, logical: LogicalType) -> Result<Same<'static>, Unfit> {
    let is_rounded = (WHOLE_ROUNDED_MIN..=WHOLE_LIMIT).contains(&number.abs());
    if is_rounded && logical == LogicalType::BigInt {
        return Err(Unfit::Rounded);
    }
    if number < -WHOLE_LIMIT {
        return Ok(Same::BelowAll);
    }
    if number >= WHOLE_LIMIT || number.is_nan() {
        return Ok(Same::AboveAll);
    }
    let floor = number.floor();
    let whole = Value::Integer(floor as i64);
    Ok(if floor == number {
        Same::Exact(Cow::Owned(whole))
    } else {
        Same::Above(whole)
    })
}

/// A float among those of `numeric`, by its shortest digits: what the user wrote, rather than what
/// the float is. The server makes floats of the column's values instead. That says the same where
/// each value up to this one has so few digits that no other becomes the same float.
fn numeric_of_float(number: f64, logical: LogicalType) -> Result<Same<'static>, Unfit> {
    let mut text = String::new();
    floats::write(number, false, 1, &mut text);
    let value = numeric::parse(&text).map_err(|_| Unfit::Type)?;
    let is_rounded = match (&value, logical) {
        (Value::Numeric(number), LogicalType::Numeric(Some((precision, scale)))) => {
            let limit = BigDecimal::new(1_i64.into(), i64::from(scale) - DIGITS_EXACT);
            i64::from(precision) > DIGITS_EXACT && number.abs() >= limit
        }
        (Value::Numeric(_), _) => true,
        // Infinities and NaN.
        _ => false,
    };
    match is_rounded {
        true => Err(Unfit::Rounded),
        false => Ok(Same::Exact(Cow::Owned(value))),
    }
}

/// A float among those of `real` or `double precision`.
fn float(number: f64, logical: LogicalType) -> Same<'static> {
    let nearest = number as f32;
    if logical != LogicalType::Real || f64::from(nearest) == number || number.is_nan() {
        return Same::Exact(Cow::Owned(Value::Float(number)));
    }
    let below = if f64::from(nearest) < number {
        nearest
    } else {
        nearest.next_down()
    };
    Same::Above(Value::Float(f64::from(below)))
}
