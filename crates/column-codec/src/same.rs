//! A value that a column is compared with, as a value of the column's own type.

use std::borrow::Cow;

use bigdecimal::num_traits::ToPrimitive;
use bigdecimal::{BigDecimal, RoundingMode};
use column_types::{LogicalType, NumericSpecial, TextContext, Value};

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

/// The value among those of a type; None: the server would not compare them.
pub(crate) fn among(value: &Value, logical: LogicalType) -> Option<Same<'_>> {
    let exact = |value| Some(Same::Exact(Cow::Owned(value)));
    match (Class::of(logical), value) {
        (Class::Integer, Value::Numeric(number)) => Some(integer_of_numeric(number)),
        (Class::Integer, Value::Float(number)) => Some(integer_of_float(*number)),
        (Class::Integer, Value::NumericSpecial(NumericSpecial::NegativeInfinity)) => {
            Some(Same::BelowAll)
        }
        (Class::Integer, Value::NumericSpecial(_)) => Some(Same::AboveAll),
        (Class::Numeric, Value::Integer(number)) => {
            exact(Value::Numeric(BigDecimal::from(*number)))
        }
        // The shortest digits: what the user wrote, rather than what the float is.
        (Class::Numeric, Value::Float(_)) => by_text(value, LogicalType::Double, logical),
        (Class::Float, Value::Integer(number)) => float(*number as f64, logical),
        (Class::Float, Value::Float(number)) => float(*number, logical),
        (Class::Float, Value::NumericSpecial(special)) => float(special.float(), logical),
        (Class::Float, Value::Numeric(_)) => {
            match by_text(value, LogicalType::Numeric(None), LogicalType::Double)? {
                Same::Exact(number) => match *number {
                    Value::Float(number) => float(number, logical),
                    _ => None,
                },
                beyond => Some(beyond),
            }
        }
        (Class::Date, Value::Timestamp(time)) => Some(day_of_time(*time)),
        (Class::Timestamp, Value::Date(day)) => exact(Value::Timestamp(match *day {
            i32::MIN => i64::MIN,
            i32::MAX => i64::MAX,
            day => match i64::from(day).checked_mul(DAY_US) {
                Some(midnight) => midnight,
                // A day beyond every timestamp.
                None => return Some(Same::Above(Value::Timestamp(i64::MAX - 1))),
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
        | (Class::Uuid, Value::Uuid(_)) => Some(Same::Exact(Cow::Borrowed(value))),
        _ => None,
    }
}

const DAY_US: i64 = 86_400_000_000;

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

fn integer_of_float(number: f64) -> Same<'static> {
    // 2^63: exact as a float, and the first that is no i64.
    let limit = -(i64::MIN as f64);
    if number < -limit {
        return Same::BelowAll;
    }
    if number >= limit || number.is_nan() {
        return Same::AboveAll;
    }
    let floor = number.floor();
    let whole = Value::Integer(floor as i64);
    if floor == number {
        Same::Exact(Cow::Owned(whole))
    } else {
        Same::Above(whole)
    }
}

/// A float among those of `real` or `double precision`.
fn float(number: f64, logical: LogicalType) -> Option<Same<'static>> {
    let nearest = number as f32;
    if logical != LogicalType::Real || f64::from(nearest) == number || number.is_nan() {
        return Some(Same::Exact(Cow::Owned(Value::Float(number))));
    }
    let below = if f64::from(nearest) < number {
        nearest
    } else {
        nearest.next_down()
    };
    Some(Same::Above(Value::Float(f64::from(below))))
}

fn by_text(value: &Value, from: LogicalType, to: LogicalType) -> Option<Same<'static>> {
    let context = TextContext::default();
    let text = value.to_text(from, &context);
    match Value::from_text(&text, to, &context) {
        Ok(value) => Some(Same::Exact(Cow::Owned(value))),
        // Too large for a float, or too small to be told from 0.
        Err(_) if text.starts_with('-') => Some(Same::BelowAll),
        Err(_) => Some(Same::AboveAll),
    }
}
