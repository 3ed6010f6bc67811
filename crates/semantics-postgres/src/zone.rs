//! Time zones, from tables that are part of the program: no file of the system is read.

use std::sync::LazyLock;

use column_value::civil::{self, CYCLE_DAYS, DAY_US};
use jiff::tz::{AmbiguousOffset, TimeZoneDatabase};

/// A time zone by PostgreSQL's rules.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone(jiff::tz::TimeZone);

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// 1970-01-01 in days since 2000-01-01.
const UNIX_DAYS: i64 = -10_957;

/// Years that `jiff` knows; beyond them the calendar repeats every 400 years.
const YEARS: std::ops::RangeInclusive<i64> = -9000..=9000;

impl TimeZone {
    /// `UTC`
    pub fn utc() -> Self {
        Self(jiff::tz::TimeZone::UTC)
    }

    /// The zone of a name of the IANA tables (in any case) or of a POSIX text such as
    /// `<+03>-03`: what the server reports as `TimeZone`. None: unknown here.
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(Self::utc());
        }
        if let Ok(zone) = ZONES.get(name) {
            return Some(Self(zone));
        }
        let has_offset = name.bytes().any(|byte| byte.is_ascii_digit());
        if !has_offset {
            return None;
        }
        jiff::tz::TimeZone::posix(name).ok().map(Self)
    }

    /// The time that the clock shows at a moment, both as microseconds since 2000-01-01. None: it
    /// is not the only one that means the moment, or means another one, since the clock is changed.
    pub fn only_local_of(&self, moment_us: i64) -> Option<i64> {
        if matches!(moment_us, i64::MIN | i64::MAX) {
            return Some(moment_us);
        }
        let shown = |near_us: i64| {
            let offset = self.offset_at(near_us);
            let local_us = moment_us + offset * 1_000_000;
            (self.offset_of_local(local_us) == offset).then_some(local_us)
        };
        let own = shown(moment_us)?;
        let before = shown(moment_us - DAY_US);
        before.is_none_or(|other| other == own).then_some(own)
    }

    /// Seconds to add to UTC at a moment: microseconds since 2000-01-01 in UTC.
    pub(crate) fn offset_at(&self, moment_us: i64) -> i64 {
        let day = moment_us.div_euclid(DAY_US);
        let shift = whole_cycles(day);
        let seconds = (moment_us - shift * DAY_US).div_euclid(1_000_000) - UNIX_DAYS * 86_400;
        let Ok(timestamp) = jiff::Timestamp::from_second(seconds) else {
            return 0;
        };
        i64::from(self.0.to_offset(timestamp).seconds())
    }

    /// Seconds to add to UTC at a local time. Where a clock is set forward, times between do not
    /// exist, and the offset before counts; where it is set back, times come twice, and the
    /// offset behind counts.
    pub(crate) fn offset_of_local(&self, local_us: i64) -> i64 {
        let day = local_us.div_euclid(DAY_US);
        let shift = whole_cycles(day);
        let date = civil::date(day - shift);
        let second = local_us.rem_euclid(DAY_US) / 1_000_000;
        let (Ok(year), Ok(month), Ok(day)) = (
            i16::try_from(date.year),
            i8::try_from(date.month),
            i8::try_from(date.day),
        ) else {
            return 0;
        };
        let local = jiff::civil::DateTime::new(
            year,
            month,
            day,
            (second / 3600) as i8,
            (second / 60 % 60) as i8,
            (second % 60) as i8,
            0,
        );
        let Ok(local) = local else { return 0 };
        let offset = match self.0.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        i64::from(offset.seconds())
    }
}

/// Days to take away, in whole cycles of the calendar, to come to a year that `jiff` knows.
fn whole_cycles(day: i64) -> i64 {
    let year = civil::date(day).year;
    if YEARS.contains(&year) {
        return 0;
    }
    (year - 8400).div_euclid(400) * CYCLE_DAYS
}

#[cfg(test)]
mod tests {
    use super::TimeZone;

    #[test]
    fn a_clock_that_is_changed_shows_no_time_for_sure() {
        const HOUR: i64 = 3_600_000_000;
        let zone = TimeZone::named("Europe/Berlin").expect("it is known");
        // 2024-03-31 and 2024-10-27, 01:00 in UTC.
        let (forward, back) = (8_856 * 24 * HOUR + HOUR, 9_066 * 24 * HOUR + HOUR);
        let shown = |moment| zone.only_local_of(moment).map(|local| local - moment);
        assert_eq!(shown(forward - 1), Some(HOUR));
        assert_eq!(shown(forward), None);
        assert_eq!(shown(forward + HOUR - 1), None);
        assert_eq!(shown(forward + HOUR), Some(2 * HOUR));
        assert_eq!(shown(back - HOUR - 1), Some(2 * HOUR));
        assert_eq!(shown(back - HOUR), None);
        assert_eq!(shown(back - 1), None);
        assert_eq!(shown(back), Some(HOUR));
        assert_eq!(zone.only_local_of(i64::MAX), Some(i64::MAX));
    }

    #[test]
    fn names_are_found_in_any_case() {
        for name in [
            "Europe/Berlin",
            "europe/berlin",
            "UTC",
            "<+03>-03",
            "EST5EDT",
        ] {
            assert!(TimeZone::named(name).is_some(), "{name}");
        }
        for name in ["", "Europe/Nowhere", "localtime"] {
            assert!(TimeZone::named(name).is_none(), "{name}");
        }
    }
}
