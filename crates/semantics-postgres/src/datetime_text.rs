//! Texts of dates and times: read as PostgreSQL reads them.
//!
//! Not read, though PostgreSQL would: `DateStyle`s of other kinds written without a date, dates
//! relative to a week, time zones as full POSIX rules. They are refused with 22007, never
//! misread.

use column_value::civil::{self, DAY_US};
use column_value::{Value, ValueError};
use sqlstate::SqlState;

use crate::context::TextContext;
use crate::datetime;
use crate::fields::{Fields, syntax};
use crate::words::Special;

pub(crate) fn date(text: &str, context: &TextContext) -> Result<Value, ValueError> {
    let fields = Fields::read(text, context.date_order, "date")?;
    let day = match fields.special {
        Some(Special::Infinity) => return Ok(Value::Date(i32::MAX)),
        Some(Special::NegativeInfinity) => return Ok(Value::Date(i32::MIN)),
        Some(Special::Epoch) => -10_957,
        Some(special) => today(context)? + special.days(),
        None => civil::days(fields.date.ok_or_else(|| syntax("date"))?),
    };
    match datetime::check_date(day) {
        Ok(day) if day != i32::MIN && day != i32::MAX => Ok(Value::Date(day)),
        _ => Err(ValueError::new(
            SqlState::DATETIME_FIELD_OVERFLOW,
            "date out of range",
        )),
    }
}

pub(crate) fn time(text: &str, context: &TextContext) -> Result<Value, ValueError> {
    let fields = Fields::read(text, context.date_order, "time")?;
    match fields.special {
        Some(Special::Now) => {
            let local = datetime::to_local(context.now, &context.time_zone)?;
            return Ok(Value::Time(local.rem_euclid(DAY_US)));
        }
        Some(_) => return Err(syntax("time")),
        None => {}
    }
    fields
        .time_us
        .map(Value::Time)
        .ok_or_else(|| syntax("time"))
}

pub(crate) fn timestamp(text: &str, context: &TextContext) -> Result<Value, ValueError> {
    // A zone is read and has no meaning.
    let fields = Fields::read(text, context.date_order, "timestamp")?;
    match local_moment(&fields, context, "timestamp")? {
        Moment::Local(time_us) => datetime::check_timestamp(time_us).map(Value::Timestamp),
        Moment::Utc(moment_us) => {
            datetime::to_local(moment_us, &context.time_zone).map(Value::Timestamp)
        }
        Moment::Endless(time_us) => Ok(Value::Timestamp(time_us)),
    }
}

pub(crate) fn timestamp_tz(text: &str, context: &TextContext) -> Result<Value, ValueError> {
    const NAME: &str = "timestamp with time zone";
    let fields = Fields::read(text, context.date_order, NAME)?;
    let time_us = match local_moment(&fields, context, NAME)? {
        Moment::Utc(time_us) | Moment::Endless(time_us) => return Ok(Value::Timestamp(time_us)),
        Moment::Local(time_us) => time_us,
    };
    let offset = match &fields.zone {
        Some(zone) => zone.offset_of_local(time_us),
        None => context.time_zone.offset_of_local(time_us),
    };
    datetime::check_timestamp(time_us - offset * 1_000_000).map(Value::Timestamp)
}

enum Moment {
    /// On the clock of a zone that is still to be found.
    Local(i64),
    /// In UTC.
    Utc(i64),
    /// An infinity.
    Endless(i64),
}

fn today(context: &TextContext) -> Result<i64, ValueError> {
    let local = datetime::to_local(context.now, &context.time_zone)?;
    Ok(local.div_euclid(DAY_US))
}

fn local_moment(fields: &Fields, context: &TextContext, name: &str) -> Result<Moment, ValueError> {
    let day = match fields.special {
        Some(Special::Infinity) => return Ok(Moment::Endless(i64::MAX)),
        Some(Special::NegativeInfinity) => return Ok(Moment::Endless(i64::MIN)),
        Some(Special::Epoch) if name == "timestamp" => {
            return Ok(Moment::Local(-10_957 * DAY_US));
        }
        Some(Special::Epoch) => return Ok(Moment::Utc(-10_957 * DAY_US)),
        Some(Special::Now) => return Ok(Moment::Utc(context.now)),
        Some(special) => today(context)? + special.days(),
        None => civil::days(fields.date.ok_or_else(|| syntax(name))?),
    };
    let midnight = day.checked_mul(DAY_US);
    let moment = midnight.and_then(|midnight| midnight.checked_add(fields.time_us.unwrap_or(0)));
    moment.map(Moment::Local).ok_or_else(|| {
        let message = format!("{name} out of range");
        ValueError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
    })
}
