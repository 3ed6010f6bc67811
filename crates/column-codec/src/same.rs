//! Converts a value that a column is compared with to a value of the column's own type.

use std::borrow::Cow;

use bigdecimal::num_traits::ToPrimitive;
use bigdecimal::{BigDecimal, RoundingMode};
use column_value::civil::DAY_US;
use column_value::{LogicalType, NumericSpecial, Value, floats, numeric};

use crate::canonical::Class;

/// The position of a value among those of a type.
pub(crate) enum Same<'a> {
    /// A value of the type, or equal to one.
    Exact(Cow<'a, Value>),
    /// Above this value and below the next.
    Above(Value),
    /// Below all values.
    BelowAll,
    /// Above all values.
    AboveAll,
}

/// Why a value cannot be compared with those of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The server would not compare the types.
    Type,
    /// The server would convert the value to `double precision`, and it is out of range.
    FloatRange,
    /// The server would convert each value of the type to `double precision`, and several of them
    /// would become equal to the compared one.
    Rounded,
}

/// The position of the value among those of a type.
pub(crate) fn among(value: &Value, logical: LogicalType) -> Result<Same<'_>, Unfit> {
    let exact = |value| Ok(Same::Exact(Cow::Owned(value)));
    match (Class::of(logical), value) {
        (Class::Integer, Value::Numeric(number)) => Ok(integer_of_numeric(number)),
        (Class::Unsigned, Value::Numeric(number)) => Ok(unsigned_of_numeric(number)),
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
        | (Class::Integer | Class::Label, Value::Integer(_))
        | (Class::Unsigned | Class::Labels | Class::Bits, Value::Unsigned(_))
        | (Class::Numeric, Value::Numeric(_) | Value::NumericSpecial(_))
        | (Class::Text | Class::Json, Value::Text(_))
        | (Class::Bytes, Value::Bytes(_))
        | (Class::Date, Value::Date(_))
        | (Class::Time | Class::SignedTime, Value::Time(_))
        | (Class::Timestamp | Class::TimestampTz, Value::Timestamp(_))
        | (Class::Uuid, Value::Uuid(_)) => Ok(Same::Exact(Cow::Borrowed(value))),
        _ => Err(Unfit::Type),
    }
}

/// From here on, several integers convert to the same `double precision`.
const WHOLE_ROUNDED_MIN: f64 = (1_u64 << 53) as f64;

/// 2^63: as a float both the largest result of converting a `bigint`, and the first value above
/// them.
const WHOLE_LIMIT: f64 = (1_u64 << 63) as f64;

/// Any two numbers of this many decimal digits convert to different `double precision` values
/// (`DBL_DIG`).
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

fn unsigned_of_numeric(number: &BigDecimal) -> Same<'static> {
    let floor = number.with_scale_round(0, RoundingMode::Floor);
    match floor.to_u64() {
        Some(whole) if floor == *number => Same::Exact(Cow::Owned(Value::Unsigned(whole))),
        Some(whole) => Same::Above(Value::Unsigned(whole)),
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

/// A float among values of `numeric`, by its shortest decimal representation: what the user wrote,
/// rather than the exact value of the float. The server instead converts the column's values to
/// floats. The result is the same if all values up to this one have so few digits that no two
/// become the same float.
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

/// A float among values of `real` or `double precision`.
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
