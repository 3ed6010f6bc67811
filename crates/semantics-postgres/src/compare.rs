//! Comparison of values, as the server's operators do it with collation "C".

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use column_value::{NumericSpecial, Value};

use crate::{datetime, numeric};

/// How two values stand; None: they cannot be compared. Numbers of all kinds compare with each
/// other, NaN is equal to itself and above all others; but a `numeric` that is out of the range of
/// `double precision` has no place among floating numbers, and a cast to it says so. Texts compare
/// by their bytes, blanks at the end included: see [`compare_char`].
pub fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    Some(match (left, right) {
        (Value::Boolean(left), Value::Boolean(right)) => left.cmp(right),
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::Float(left), right) => compare_floats(*left, to_float(right)?),
        (left, Value::Float(right)) => compare_floats(to_float(left)?, *right),
        (Value::Numeric(left), Value::Numeric(right)) => numeric::compare(left, right),
        (Value::Integer(left), Value::Numeric(right)) => {
            numeric::compare(&BigDecimal::from(*left), right)
        }
        (Value::Numeric(left), Value::Integer(right)) => {
            numeric::compare(left, &BigDecimal::from(*right))
        }
        (Value::NumericSpecial(left), Value::NumericSpecial(right)) => left.cmp(right),
        (Value::NumericSpecial(special), Value::Integer(_) | Value::Numeric(_)) => beside(*special),
        (Value::Integer(_) | Value::Numeric(_), Value::NumericSpecial(special)) => {
            beside(*special).reverse()
        }
        (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Date(left), Value::Timestamp(right)) => compare_day(*left, *right),
        (Value::Timestamp(left), Value::Date(right)) => compare_day(*right, *left).reverse(),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        _ => return None,
    })
}

/// [`compare`] for two values of `char`: blanks at the end do not count.
pub fn compare_char(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            let (left, right) = (left.trim_end_matches(' '), right.trim_end_matches(' '));
            Some(left.as_bytes().cmp(right.as_bytes()))
        }
        _ => compare(left, right),
    }
}

/// How the special number stands to one with digits.
fn beside(special: NumericSpecial) -> Ordering {
    match special {
        NumericSpecial::NegativeInfinity => Ordering::Less,
        NumericSpecial::Infinity | NumericSpecial::Nan => Ordering::Greater,
    }
}

fn to_float(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Numeric(number) => numeric::to_float(number).ok()?,
        Value::NumericSpecial(special) => special.float(),
        _ => return None,
    })
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

fn compare_day(day: i32, time: i64) -> Ordering {
    match datetime::midnight(day) {
        Ok(midnight) => midnight.cmp(&time),
        // A day beyond every finite timestamp.
        Err(_) if time == i64::MAX => Ordering::Less,
        Err(_) => Ordering::Greater,
    }
}
