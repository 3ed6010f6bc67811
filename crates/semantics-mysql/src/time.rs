//! Times of the type `TIME`, from `-838:59:59` to `838:59:59`.

use column_value::limits::SIGNED_TIME_MAX_US;
use column_value::{LogicalType, Value, ValueError};

use crate::datetime::{fields, kept, part_us, write_clock};
use crate::{Fractions, not_understood};

/// A `TIME` of a text `-101:59:59.5`: two or three digits of hours. MariaDB has digits of a second
/// beyond 838:59:59, and MySQL has none: they are not read.
pub fn time(text: &str, digits: u8, fractions: Fractions) -> Result<Value, ValueError> {
    let read = || {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text),
        };
        let read_us = size_us(unsigned).filter(|own| *own <= SIGNED_TIME_MAX_US)?;
        let size_us = kept(read_us, digits, fractions)?;
        // Whether zero keeps its sign is not relied upon.
        let is_minus_zero = is_negative && size_us == 0;
        let time_us = if is_negative { -size_us } else { size_us };
        Value::signed_time(time_us).filter(|_| !is_minus_zero)
    };
    read().ok_or_else(|| not_understood(LogicalType::SignedTime(digits)))
}

fn size_us(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let (hours, below) = whole.split_once(':')?;
    let is_hours = (2..=3).contains(&hours.len()) && hours.bytes().all(|own| own.is_ascii_digit());
    let [_, minute, second] = fields(&format!("00:{below}"), "00:00:00", ':')?;
    let is_time = is_hours && minute < 60 && second < 60;
    let hours: i64 = hours.parse().ok().filter(|_| is_time)?;
    Some(((hours * 60 + minute) * 60 + second) * 1_000_000 + part_us(part)?)
}

/// Writes `-101:59:59`, with so many digits of a second.
pub fn write(time_us: i64, digits: u8, out: &mut String) {
    if time_us < 0 {
        out.push('-');
    }
    write_clock(time_us.saturating_abs(), digits, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(given: &str, digits: u8, fractions: Fractions) -> Option<String> {
        let Ok(Value::Time(time_us)) = time(given, digits, fractions) else {
            return None;
        };
        let mut out = String::new();
        write(time_us, digits, &mut out);
        Some(out)
    }

    #[test]
    fn times_have_a_sign_and_more_hours_than_a_day() {
        for text in [
            "00:00:00",
            "23:59:59",
            "24:00:00",
            "-00:00:01",
            "-101:30:00",
            "838:59:59",
            "-838:59:59",
        ] {
            assert_eq!(written(text, 0, Fractions::Refused).as_deref(), Some(text));
        }
        let exact = "-838:59:58.999999";
        assert_eq!(
            written(exact, 6, Fractions::Refused).as_deref(),
            Some(exact)
        );
        for other in [
            "-00:00:00",
            "838:59:59.000001",
            "839:00:00",
            "1:00:00",
            "1000:00:00",
            "10:00",
            "100000",
            "1 10:00:00",
            "10:60:00",
            "10:00:60",
            "10:00:00.",
            "10:00:00.1234567",
            "--10:00:00",
            "+10:00:00",
            " 10:00:00",
            "10:00:00 ",
            "10:+1:00",
            "é0:00:00",
            "",
        ] {
            assert_eq!(written(other, 6, Fractions::Cut), None, "{other}");
        }
    }

    #[test]
    fn digits_beyond_those_of_a_column_are_cut_or_rounded_away_from_zero() {
        for (given, digits, cut, rounded) in [
            ("10:00:00.5", 0, Some("10:00:00"), Some("10:00:01")),
            ("-10:00:00.5", 0, Some("-10:00:00"), Some("-10:00:01")),
            (
                "-10:59:59.9996",
                3,
                Some("-10:59:59.999"),
                Some("-11:00:00.000"),
            ),
            ("-00:00:00.5", 0, None, Some("-00:00:01")),
            ("-00:00:00.4", 0, None, None),
            ("838:59:59.4", 0, None, None),
            ("838:59:58.5", 0, Some("838:59:58"), Some("838:59:59")),
        ] {
            assert_eq!(
                written(given, digits, Fractions::Cut).as_deref(),
                cut,
                "{given}"
            );
            assert_eq!(
                written(given, digits, Fractions::Rounded).as_deref(),
                rounded,
                "{given}"
            );
            assert_eq!(written(given, digits, Fractions::Refused), None);
        }
    }
}
