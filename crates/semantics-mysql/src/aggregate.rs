//! Aggregates and the order of values, as far as servers compute them exactly.

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use column_value::{LogicalType, Value, ValueError, WholeType};
use sqlstate::SqlState;

/// Digits that a sum has more than what is added up (`Item_sum_sum`).
const DIGITS_MORE: u16 = 22;
/// Digits of a decimal.
const DIGITS_MAX: u16 = 65;

/// The type of a sum; None: it is not computed exactly.
pub fn sum_type(logical: LogicalType) -> Option<LogicalType> {
    let (precision, scale) = match logical {
        LogicalType::SmallInt => (5, 0),
        LogicalType::Integer => (10, 0),
        LogicalType::BigInt => (19, 0),
        LogicalType::Whole(whole) => (whole_digits(whole), 0),
        LogicalType::Numeric(Some(limits)) => limits,
        _ => return None,
    };
    // Beyond it the server cuts a sum.
    let precision = Some(precision + DIGITS_MORE).filter(|own| *own <= DIGITS_MAX)?;
    Some(LogicalType::Numeric(Some((precision, scale))))
}

/// Digits of a whole number, as sums count them.
fn whole_digits(whole: WholeType) -> u16 {
    match whole {
        WholeType::Flag | WholeType::Tiny | WholeType::UnsignedTiny => 3,
        WholeType::Year => 4,
        WholeType::UnsignedSmall => 5,
        WholeType::Medium | WholeType::UnsignedMedium => 8,
        WholeType::UnsignedInteger => 10,
        WholeType::UnsignedBig => 20,
    }
}

/// The sum of a value and an earlier sum; None: it is no number that is added up.
pub fn sum(earlier: Option<BigDecimal>, value: &Value) -> Option<BigDecimal> {
    let own = match value {
        Value::Integer(number) => BigDecimal::from(*number),
        Value::Unsigned(number) => BigDecimal::from(*number),
        Value::Numeric(number) => number.clone(),
        _ => return None,
    };
    Some(match earlier {
        None => own,
        Some(earlier) => earlier + own,
    })
}

/// How two values of one column are sorted; None: they are not of one kind.
pub fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Integer(one), Value::Integer(other)) => Some(one.cmp(other)),
        (Value::Unsigned(one), Value::Unsigned(other)) => Some(one.cmp(other)),
        (Value::Numeric(one), Value::Numeric(other)) => Some(one.cmp(other)),
        (Value::Float(one), Value::Float(other)) => one.partial_cmp(other),
        (Value::Date(one), Value::Date(other)) => Some(one.cmp(other)),
        (Value::Time(one), Value::Time(other)) => Some(one.cmp(other)),
        (Value::Timestamp(one), Value::Timestamp(other)) => Some(one.cmp(other)),
        (Value::Text(one), Value::Text(other)) => Some(one.as_bytes().cmp(other.as_bytes())),
        _ => None,
    }
}

/// Checks a text that is sorted by its bytes, or compared.
///
/// # Errors
/// 0A000: it ends with a blank or has a letter before the blank, which some of the servers' binary
/// collations sort otherwise than its bytes.
pub fn check_sorted(value: &Value, logical: LogicalType) -> Result<(), ValueError> {
    let Value::Text(text) = value else {
        return Ok(());
    };
    let is_char = matches!(logical, LogicalType::Char(_));
    let is_odd = (text.ends_with(' ') && !is_char) || text.chars().any(|letter| letter < ' ');
    match is_odd {
        false => Ok(()),
        true => Err(ValueError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "a text that ends with a blank, or has a control character, is not sorted or compared \
             by the proxy: the collation decides about it"
                .to_owned(),
        )),
    }
}
