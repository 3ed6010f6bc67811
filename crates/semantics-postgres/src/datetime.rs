//! Dates and times: written as ISO texts, and converted into each other.

use std::fmt::Write as _;

use column_value::civil::{self, DAY_US};
use column_value::{Value, ValueError};
use sqlstate::SqlState;

use crate::zone::TimeZone;

pub(crate) use column_value::limits::{check_date, check_timestamp};

/// Midnight of a day.
///
/// # Errors
/// 22008: a `date` that no `timestamp` reaches.
pub(crate) fn midnight(day: i32) -> Result<i64, ValueError> {
    match day {
        i32::MIN => Ok(i64::MIN),
        i32::MAX => Ok(i64::MAX),
        _ if i64::from(day) > civil::LAST_TIMESTAMP_DAY => {
            let message = "date out of range for timestamp";
            Err(ValueError::new(SqlState::DATETIME_FIELD_OVERFLOW, message))
        }
        _ => Ok(i64::from(day) * DAY_US),
    }
}

/// The day of a moment.
pub(crate) fn day_of(time_us: i64) -> i32 {
    match time_us {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        _ => time_us.div_euclid(DAY_US) as i32,
    }
}

/// A moment as the clock of the zone shows it.
///
/// # Errors
/// 22008
pub(crate) fn to_local(moment_us: i64, zone: &TimeZone) -> Result<i64, ValueError> {
    if matches!(moment_us, i64::MIN | i64::MAX) {
        return Ok(moment_us);
    }
    check_timestamp(moment_us + zone.offset_at(moment_us) * 1_000_000)
}

/// The moment that the clock of the zone shows.
///
/// # Errors
/// 22008
pub(crate) fn from_local(local_us: i64, zone: &TimeZone) -> Result<i64, ValueError> {
    if matches!(local_us, i64::MIN | i64::MAX) {
        return Ok(local_us);
    }
    check_timestamp(local_us - zone.offset_of_local(local_us) * 1_000_000)
}

/// `time` of a `timestamp`. None: it is infinite, and the time NULL.
pub(crate) fn time_of(time_us: i64) -> Option<Value> {
    let finite = !matches!(time_us, i64::MIN | i64::MAX);
    finite.then(|| Value::Time(time_us.rem_euclid(DAY_US)))
}

/// A time or a moment with so many digits of a second, the last one rounded half away from zero;
/// moments count from 2000-01-01.
///
/// # Errors
/// 22008: it is rounded to a moment that the server does not have.
pub(crate) fn rounded(value: Value, digits: u8) -> Result<Value, ValueError> {
    let step = 10_i64.pow(6 - u32::from(digits.min(6)));
    let round = |time_us: i64| match time_us.rem_euclid(step) {
        0 => Some(time_us),
        over if 2 * over > step || (2 * over == step && time_us > 0) => {
            time_us.checked_add(step - over)
        }
        over => Some(time_us - over),
    };
    match value {
        Value::Timestamp(i64::MIN | i64::MAX) => Ok(value),
        Value::Timestamp(time_us) => {
            check_timestamp(round(time_us).unwrap_or(time_us)).map(Value::Timestamp)
        }
        // Midnight at the end of a day is a time, too.
        Value::Time(time_us) => Ok(Value::Time(round(time_us).unwrap_or(time_us))),
        other => Ok(other),
    }
}

fn write_year_month_day(day: i64, out: &mut String) -> bool {
    let civil::Date { year, month, day } = civil::date(day);
    let before_christ = year <= 0;
    let shown = if before_christ { 1 - year } else { year };
    // Writing to a String does not fail.
    let _ = write!(out, "{shown:04}-{month:02}-{day:02}");
    before_christ
}

pub(crate) fn write_date(day: i32, out: &mut String) {
    match day {
        i32::MIN => out.push_str("-infinity"),
        i32::MAX => out.push_str("infinity"),
        _ => {
            if write_year_month_day(i64::from(day), out) {
                out.push_str(" BC");
            }
        }
    }
}

pub(crate) fn write_time(time_us: i64, out: &mut String) {
    let seconds = time_us / 1_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, "{hour:02}:{minute:02}:{second:02}");
    let fraction = time_us % 1_000_000;
    if fraction != 0 {
        let _ = write!(out, ".{fraction:06}");
        out.truncate(out.trim_end_matches('0').len());
    }
}

pub(crate) fn write_timestamp(time_us: i64, out: &mut String) {
    write_moment(time_us, None, out);
}

pub(crate) fn write_timestamp_tz(moment_us: i64, zone: &TimeZone, out: &mut String) {
    if matches!(moment_us, i64::MIN | i64::MAX) {
        return write_moment(moment_us, None, out);
    }
    let offset = zone.offset_at(moment_us);
    write_moment(moment_us + offset * 1_000_000, Some(offset), out);
}

fn write_moment(time_us: i64, offset: Option<i64>, out: &mut String) {
    match time_us {
        i64::MIN => return out.push_str("-infinity"),
        i64::MAX => return out.push_str("infinity"),
        _ => {}
    }
    let before_christ = write_year_month_day(time_us.div_euclid(DAY_US), out);
    out.push(' ');
    write_time(time_us.rem_euclid(DAY_US), out);
    if let Some(offset) = offset {
        write_offset(offset, out);
    }
    if before_christ {
        out.push_str(" BC");
    }
}

fn write_offset(offset: i64, out: &mut String) {
    let sign = if offset < 0 { '-' } else { '+' };
    let seconds = offset.abs();
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, "{sign}{hour:02}");
    if minute != 0 || second != 0 {
        let _ = write!(out, ":{minute:02}");
    }
    if second != 0 {
        let _ = write!(out, ":{second:02}");
    }
}
