//! Which integers, days and moments the types can hold.

use std::ops::RangeInclusive;

use sqlstate::SqlState;

use crate::civil::{self, DAY_US};
use crate::logical::LogicalType;
use crate::value::{Value, ValueError};

/// 4714-11-24 BC, midnight.
const TIMESTAMP_FIRST: i64 = civil::FIRST_DAY * DAY_US;

/// 294276-12-31, one microsecond before its end.
const TIMESTAMP_LAST: i64 = (civil::LAST_TIMESTAMP_DAY + 1) * DAY_US - 1;

/// The farthest `TIME` of MySQL from zero, 838:59:59.
pub const SIGNED_TIME_MAX_US: i64 = ((838 * 60 + 59) * 60 + 59) * 1_000_000;

/// The range of an integer type; of `bigint unsigned`, as far as 64 bits with a sign go.
pub fn integer_range(logical: LogicalType) -> RangeInclusive<i64> {
    match logical {
        LogicalType::SmallInt => i64::from(i16::MIN)..=i64::from(i16::MAX),
        LogicalType::Integer => i64::from(i32::MIN)..=i64::from(i32::MAX),
        LogicalType::Whole(whole) => whole.range().unwrap_or(0..=i64::MAX),
        _ => i64::MIN..=i64::MAX,
    }
}

/// The moment, where the server has it or where it is infinite.
///
/// # Errors
/// 22008
pub fn check_timestamp(time_us: i64) -> Result<i64, ValueError> {
    match time_us {
        i64::MIN | i64::MAX | TIMESTAMP_FIRST..=TIMESTAMP_LAST => Ok(time_us),
        _ => Err(ValueError::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            "timestamp out of range",
        )),
    }
}

/// The day, where the server has it or where it is infinite.
///
/// # Errors
/// 22008
pub fn check_date(day: i64) -> Result<i32, ValueError> {
    let out_of_range = || ValueError::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range");
    let day = i32::try_from(day).map_err(|_| out_of_range())?;
    match i64::from(day) {
        civil::FIRST_DAY..=civil::LAST_DAY => Ok(day),
        _ if day == i32::MIN || day == i32::MAX => Ok(day),
        _ => Err(out_of_range()),
    }
}

impl Value {
    /// A `date` from its count of days.
    ///
    /// # Errors
    /// 22008
    pub fn date(day: i32) -> Result<Self, ValueError> {
        check_date(i64::from(day)).map(Self::Date)
    }

    /// A `time` from its microseconds.
    ///
    /// # Errors
    /// 22008
    pub fn time(time_us: i64) -> Result<Self, ValueError> {
        if !(0..=DAY_US).contains(&time_us) {
            return Err(ValueError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                "time out of range",
            ));
        }
        Ok(Self::Time(time_us))
    }

    /// A `TIME` of MySQL from its microseconds. None: it has no such one.
    pub fn signed_time(time_us: i64) -> Option<Self> {
        let is_time = (-SIGNED_TIME_MAX_US..=SIGNED_TIME_MAX_US).contains(&time_us);
        is_time.then_some(Self::Time(time_us))
    }

    /// A `timestamp` or `timestamptz` from its microseconds.
    ///
    /// # Errors
    /// 22008
    pub fn timestamp(time_us: i64) -> Result<Self, ValueError> {
        check_timestamp(time_us).map(Self::Timestamp)
    }
}
