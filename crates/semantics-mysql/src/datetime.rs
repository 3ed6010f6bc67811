//! Dates and times without a zone, of the years 1 to 9999, and the zero date, `0000-00-00`.
//!
//! The zero date is no day. It stands for what `-infinity` is in PostgreSQL: the least number of
//! the type, so that it is below all days.

use std::fmt::Write as _;
use std::ops::Range;

use column_value::civil::{self, DAY_US, Date};
use column_value::{LogicalType, Value, ValueError};

use crate::{Fractions, Given, not_understood};

/// The zero of `DATE`.
const ZERO_DATE: Value = Value::Date(i32::MIN);
/// The zero of `DATETIME` and `TIMESTAMP`.
const ZERO_MOMENT: Value = Value::Timestamp(i64::MIN);

/// Whether a value is the zero date.
pub fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Date(i32::MIN) | Value::Timestamp(i64::MIN))
}

/// The zero date of a type, where a constant is that: in full, without its time, or as the number
/// 0.
pub fn zero(given: Given<'_>, logical: LogicalType) -> Option<Value> {
    let is_date = match given {
        Given::Number(digits) => digits == "0",
        Given::Text(text) => match text.split_once(' ') {
            None => text == "0000-00-00",
            Some((day, time)) => {
                let (whole, part) = time.split_once('.').unwrap_or((time, "0"));
                let is_midnight = whole == "00:00:00" && part_us(part) == Some(0);
                day == "0000-00-00" && is_midnight && logical != LogicalType::Date
            }
        },
        Given::Bytes(_) => false,
    };
    match logical {
        LogicalType::Date => is_date.then_some(ZERO_DATE),
        LogicalType::Timestamp(_) | LogicalType::TimestampTz(_) => is_date.then_some(ZERO_MOMENT),
        _ => None,
    }
}

/// A `DATE` of a text `2024-12-31`.
pub fn date(text: &str) -> Result<Value, ValueError> {
    let day = day(text).ok_or_else(|| not_understood(LogicalType::Date))?;
    let day = i32::try_from(day).map_err(|_| not_understood(LogicalType::Date))?;
    Ok(Value::Date(day))
}

/// Behind the last moment, `9999-12-31 23:59:59.999999`.
const END_US: i64 = 2_921_940 * DAY_US;
/// The moments of a `TIMESTAMP`: from `1970-01-01 00:00:01` to `2038-01-19 03:14:07.999999`.
const TIMESTAMPS_US: Range<i64> = (1 - EPOCH_S) * 1_000_000..((1 << 31) - EPOCH_S) * 1_000_000;
/// Seconds from 1970 to 2000.
pub const EPOCH_S: i64 = 946_684_800;

/// A `DATETIME` of a text `2024-12-31 23:59:59.5`. The time may be left out: it is midnight.
pub fn datetime(text: &str, digits: u8, fractions: Fractions) -> Result<Value, ValueError> {
    let read = || {
        let (day_text, time_text) = text.split_once(' ').unwrap_or((text, "00:00:00"));
        let read_us = day(day_text)? * DAY_US + time_us(time_text)?;
        let kept_us = kept(read_us, digits, fractions)?;
        (kept_us < END_US).then_some(kept_us)
    };
    let read = read().ok_or_else(|| not_understood(LogicalType::Timestamp(Some(digits))))?;
    Ok(Value::Timestamp(read))
}

/// A moment with as many digits of a second as a column has.
pub fn kept(time_us: i64, digits: u8, fractions: Fractions) -> Option<i64> {
    let unit_us = 10_i64.pow(6 - u32::from(digits.min(6)));
    let rest_us = time_us.rem_euclid(unit_us);
    let below_us = time_us - rest_us;
    match fractions {
        _ if rest_us == 0 => Some(time_us),
        Fractions::Refused => None,
        Fractions::Cut => Some(below_us),
        Fractions::Rounded if 2 * rest_us < unit_us => Some(below_us),
        Fractions::Rounded => Some(below_us + unit_us),
    }
}

/// Whether a moment of UTC is one that a `TIMESTAMP` has, or its zero.
pub fn is_timestamp(value: &Value) -> bool {
    let is_moment = matches!(value, Value::Timestamp(time_us) if TIMESTAMPS_US.contains(time_us));
    is_moment || is_zero(value)
}

/// Days since 2000-01-01.
fn day(text: &str) -> Option<i64> {
    let [year, month, day] = fields(text, "0000-00-00", '-')?;
    let is_day = year >= 1
        && (1..=12).contains(&month)
        && (1..=civil::days_of_month(year, month)).contains(&day);
    is_day.then(|| civil::days(Date { year, month, day }))
}

fn time_us(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let [hour, minute, second] = fields(whole, "00:00:00", ':')?;
    let is_time = hour < 24 && minute < 60 && second < 60;
    let part_us = part_us(part).filter(|_| is_time)?;
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000 + part_us)
}

/// Digits of a second in microseconds.
pub fn part_us(part: &str) -> Option<i64> {
    let is_part = (1..=6).contains(&part.len()) && part.bytes().all(|own| own.is_ascii_digit());
    format!("{part:0<6}").parse().ok().filter(|_| is_part)
}

/// The three numbers of a text of a form in which each has all its digits.
pub fn fields(text: &str, form: &str, mark: char) -> Option<[i64; 3]> {
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
    if day == i64::from(i32::MIN) {
        return out.push_str("0000-00-00");
    }
    let Date { year, month, day } = civil::date(day);
    write!(out, "{year:04}-{month:02}-{day:02}").expect("a String takes everything");
}

/// Writes `2024-12-31 23:59:59`, with so many digits of a second.
pub fn write_datetime(time_us: i64, digits: u8, out: &mut String) {
    if time_us == i64::MIN {
        out.push_str("0000-00-00 ");
        return write_clock(0, digits, out);
    }
    write_date(time_us.div_euclid(DAY_US), out);
    out.push(' ');
    write_clock(time_us.rem_euclid(DAY_US), digits, out);
}

/// Writes `23:59:59`, with so many digits of a second. There may be more hours than a day has.
pub fn write_clock(time_us: i64, digits: u8, out: &mut String) {
    let (seconds, part_us) = (time_us / 1_000_000, time_us % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "{hour:02}:{minute:02}:{second:02}").expect("a String takes everything");
    if digits > 0 {
        let part = format!("{part_us:06}");
        let digits = usize::from(digits).min(part.len());
        write!(out, ".{}", &part[..digits]).expect("a String takes everything");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, in_utc, stored, text};

    fn written(given: &str, digits: u8, fractions: Fractions) -> Option<String> {
        let logical = LogicalType::Timestamp(Some(digits));
        let value = datetime(given, digits, fractions).ok()?;
        String::from_utf8(text(&value, logical).expect("a moment")).ok()
    }

    #[test]
    fn digits_beyond_those_of_a_column_are_cut_or_rounded() {
        for (given, digits, cut, rounded) in [
            (
                "2024-01-02 03:04:05.6",
                0,
                "2024-01-02 03:04:05",
                "2024-01-02 03:04:06",
            ),
            (
                "1999-12-31 23:59:59.5",
                0,
                "1999-12-31 23:59:59",
                "2000-01-01 00:00:00",
            ),
            (
                "1999-12-31 23:59:59.4",
                0,
                "1999-12-31 23:59:59",
                "1999-12-31 23:59:59",
            ),
            (
                "2024-12-31 23:59:59.9995",
                3,
                "2024-12-31 23:59:59.999",
                "2025-01-01 00:00:00.000",
            ),
        ] {
            assert_eq!(written(given, digits, Fractions::Cut).as_deref(), Some(cut));
            assert_eq!(
                written(given, digits, Fractions::Rounded).as_deref(),
                Some(rounded)
            );
            assert_eq!(written(given, digits, Fractions::Refused), None);
        }
        let last = "9999-12-31 23:59:59.6";
        assert_eq!(written(last, 0, Fractions::Rounded), None);
        assert!(written(last, 0, Fractions::Cut).is_some());
        assert_eq!(
            written("2024-01-01 00:00:00.1234567", 6, Fractions::Cut),
            None
        );
    }

    #[test]
    fn the_zero_date_is_below_all_days() {
        let read = |given, logical| stored(given, logical).ok();
        let moments = |digits| LogicalType::Timestamp(Some(digits));
        let zoned = LogicalType::TimestampTz(Some(0));
        for (given, logical, shown) in [
            ("0000-00-00", LogicalType::Date, "0000-00-00"),
            ("0000-00-00", moments(0), "0000-00-00 00:00:00"),
            ("0000-00-00 00:00:00", moments(3), "0000-00-00 00:00:00.000"),
            ("0000-00-00 00:00:00.000000", zoned, "0000-00-00 00:00:00"),
        ] {
            let value = read(Given::Text(given), logical).expect("the zero date");
            assert!(is_zero(&value));
            assert_eq!(text(&value, logical).expect("a text"), shown.as_bytes());
            assert!(is_zero(&read(Given::Number("0"), logical).expect("zero")));
        }
        let [zero, first] = ["0000-00-00", "0001-01-01"].map(|day| {
            let value = read(Given::Text(day), LogicalType::Date).expect("a day");
            let Value::Date(day) = value else {
                panic!("no day");
            };
            day
        });
        assert!(zero < first);
        for other in [
            "0000-00-00 00:00:01",
            "2024-00-00",
            "0000-01-01",
            "0000-0-0",
        ] {
            assert_eq!(read(Given::Text(other), moments(0)), None, "{other}");
        }
        assert_eq!(
            read(Given::Text("0000-00-00 00:00:00"), LogicalType::Date),
            None
        );
        let shifted = in_utc(Given::Text("0000-00-00 00:00:00"), 7200).expect("in every zone");
        assert_eq!(shifted, "0000-00-00 00:00:00.000000");
    }

    #[test]
    fn a_timestamp_has_the_moments_of_the_server() {
        let is_stored = |local: &str, offset_s| {
            let utc = in_utc(Given::Text(local), offset_s).ok()?;
            stored(Given::Text(&utc), LogicalType::TimestampTz(Some(0))).ok()
        };
        for (local, offset_s) in [
            ("1970-01-01 00:00:01", 0),
            ("2038-01-19 03:14:07", 0),
            ("2038-01-19 05:14:07", 7200),
            ("1969-12-31 19:00:01", -18_000),
        ] {
            assert!(is_stored(local, offset_s).is_some(), "{local}");
        }
        for (local, offset_s) in [
            ("1970-01-01 00:00:00", 0),
            ("2038-01-19 03:14:08", 0),
            ("1970-01-01 02:00:00", 7200),
            ("0000-00-00 00:00:01", 0),
            ("0001-01-01 00:00:00", 7200),
        ] {
            assert!(is_stored(local, offset_s).is_none(), "{local}");
        }
    }
}
