//! Dates and times without a zone, of the years 1 to 9999.

use std::fmt::Write as _;

use column_value::civil::{self, DAY_US, Date};
use column_value::{LogicalType, Value, ValueError};

use crate::not_understood;

/// A `DATE` of a text `2024-12-31`.
pub fn date(text: &str) -> Result<Value, ValueError> {
    let day = day(text).ok_or_else(|| not_understood(LogicalType::Date))?;
    let day = i32::try_from(day).map_err(|_| not_understood(LogicalType::Date))?;
    Ok(Value::Date(day))
}

/// A `DATETIME` of a text `2024-12-31 23:59:59.5`, with at most as many digits of a second as the
/// column has. The time may be left out: it is midnight.
pub fn datetime(text: &str, digits: u8) -> Result<Value, ValueError> {
    let read = || {
        let (day_text, time_text) = text.split_once(' ').unwrap_or((text, "00:00:00"));
        Some(day(day_text)? * DAY_US + time_us(time_text, digits)?)
    };
    let read = read().ok_or_else(|| not_understood(LogicalType::Timestamp(Some(digits))))?;
    Ok(Value::Timestamp(read))
}

/// Days since 2000-01-01.
fn day(text: &str) -> Option<i64> {
    let [year, month, day] = fields(text, "0000-00-00", '-')?;
    let is_day = year >= 1
        && (1..=12).contains(&month)
        && (1..=civil::days_of_month(year, month)).contains(&day);
    is_day.then(|| civil::days(Date { year, month, day }))
}

fn time_us(text: &str, digits: u8) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let [hour, minute, second] = fields(whole, "00:00:00", ':')?;
    let is_time = hour < 24 && minute < 60 && second < 60;
    let is_part = (1..=6).contains(&part.len())
        && part.bytes().all(|own| own.is_ascii_digit())
        && part.trim_end_matches('0').len() <= usize::from(digits);
    if !is_time || !is_part {
        return None;
    }
    let part_us: i64 = format!("{part:0<6}").parse().ok()?;
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000 + part_us)
}

/// The three numbers of a text of a form in which each has all its digits.
fn fields(text: &str, form: &str, mark: char) -> Option<[i64; 3]> {
    let is_alike = text.len() == form.len()
        && text
            .bytes()
            .zip(form.bytes())
            .all(|(own, wanted)| match wanted {
                b'0' => own.is_ascii_digit(),
                mark => own == mark,
            });
    if !is_alike {
        return None;
    }
    let mut parts = text.split(mark).map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// Writes `2024-12-31`.
pub fn write_date(day: i64, out: &mut String) {
    let Date { year, month, day } = civil::date(day);
    write!(out, "{year:04}-{month:02}-{day:02}").expect("a String takes everything");
}

/// Writes `2024-12-31 23:59:59`, with so many digits of a second.
pub fn write_datetime(time_us: i64, digits: u8, out: &mut String) {
    write_date(time_us.div_euclid(DAY_US), out);
    let time_us = time_us.rem_euclid(DAY_US);
    let (seconds, part_us) = (time_us / 1_000_000, time_us % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, " {hour:02}:{minute:02}:{second:02}").expect("a String takes everything");
    if digits > 0 {
        let part = format!("{part_us:06}");
        let digits = usize::from(digits).min(part.len());
        write!(out, ".{}", &part[..digits]).expect("a String takes everything");
    }
}
