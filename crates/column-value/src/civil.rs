//! Days and dates of the proleptic Gregorian calendar, over the server's whole range.
//!
//! `jiff`, which knows the time zones, ends with the year 9999; PostgreSQL's dates do not.

/// A date. Years count astronomically: the year 0 is 1 BC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// Counted astronomically.
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
}

/// 2000-01-01 as a day of the era that starts on 0000-03-01.
const EPOCH: i64 = 730_425;

/// Days of 400 years.
pub const CYCLE_DAYS: i64 = 146_097;

/// 4714-11-24 BC, the first day that the server knows: Julian day 0.
pub const FIRST_DAY: i64 = -2_451_545;

/// 5874897-12-31, the last `date`.
pub const LAST_DAY: i64 = 2_145_031_948;

/// 294276-12-31, the last day of a `timestamp`.
pub const LAST_TIMESTAMP_DAY: i64 = 106_751_982;

/// Microseconds of a day.
pub const DAY_US: i64 = 86_400_000_000;

/// Days since 2000-01-01. Years start in March here, so that a leap day ends one.
pub fn days(date: Date) -> i64 {
    let year = date.year - i64::from(date.month <= 2);
    let (cycle, year_of_cycle) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (date.month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + date.day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * CYCLE_DAYS + day_of_cycle - EPOCH
}

/// The date of a day since 2000-01-01.
pub fn date(days: i64) -> Date {
    let days = days + EPOCH;
    let (cycle, day) = (days.div_euclid(CYCLE_DAYS), days.rem_euclid(CYCLE_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    Date {
        year: year + cycle * 400 + i64::from(month <= 2),
        month,
        day,
    }
}

/// How many days the month has.
pub fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse_over_the_whole_range() {
        for day in (FIRST_DAY..=LAST_DAY).step_by(9_973) {
            assert_eq!(days(date(day)), day);
        }
        for (day, year, month, day_of_month) in [
            (0, 2000, 1, 1),
            (59, 2000, 2, 29),
            (-1, 1999, 12, 31),
            (FIRST_DAY, -4713, 11, 24),
            (LAST_DAY, 5_874_897, 12, 31),
            (LAST_TIMESTAMP_DAY, 294_276, 12, 31),
        ] {
            let expected = Date {
                year,
                month,
                day: day_of_month,
            };
            assert_eq!(date(day), expected, "{day}");
        }
    }
}
