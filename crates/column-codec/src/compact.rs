//! Numbers that stand for the values of a column in compact equality. The server keeps them
//! encrypted, as `bigint`.

use column_value::limits::{check_date, integer_range};
use column_value::{LogicalType, Value, WholeType};

use crate::canonical::Class;

/// Size of a sealed value in bytes.
pub(crate) const SEALED_SIZE: usize = 8;

/// One that no type but those of all 64 bits has: the least that is not the infinite past.
const UNUSED: i64 = i64::MIN + 1;

/// The number of a value of the type.
pub(crate) fn number_of(value: &Value, logical: LogicalType) -> Option<i64> {
    match (Class::of(logical), value) {
        (Class::Integer, Value::Integer(number)) => Some(*number),
        (Class::Unsigned, Value::Unsigned(number)) => Some(number.cast_signed()),
        (Class::Date, Value::Date(day)) => Some(i64::from(*day)),
        (Class::Time | Class::SignedTime, Value::Time(time)) => Some(*time),
        (Class::Timestamp | Class::TimestampTz, Value::Timestamp(time)) => Some(*time),
        _ => None,
    }
}

/// The value of a number. None: the type has no such value.
pub(crate) fn value_of(number: i64, logical: LogicalType) -> Option<Value> {
    match Class::of(logical) {
        Class::Integer => integer_range(logical)
            .contains(&number)
            .then_some(Value::Integer(number)),
        Class::Unsigned => Some(Value::Unsigned(number.cast_unsigned())),
        Class::Date => check_date(number).ok().map(Value::Date),
        Class::Time => Value::time(number).ok(),
        Class::SignedTime => Value::signed_time(number),
        Class::Timestamp | Class::TimestampTz => Value::timestamp(number).ok(),
        _ => None,
    }
}

/// A number that stands for no value of the type. None: all stand for one.
pub(crate) fn unused(logical: LogicalType) -> Option<i64> {
    let has_all = matches!(
        logical,
        LogicalType::BigInt | LogicalType::Whole(WholeType::UnsignedBig)
    );
    (!has_all).then_some(UNUSED)
}
