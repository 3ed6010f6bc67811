//! Formats numbers and dates for readers.

use lab::statistics::Ratio;

/// Seconds with three decimals, as on the published pages; more for small values, and fewer for
/// large ones.
pub(crate) fn seconds(seconds: Option<f64>) -> String {
    match seconds {
        None => MISSING.to_owned(),
        Some(seconds) if seconds > 0.0 && seconds < 0.0005 => format!("{seconds:.6}"),
        Some(seconds) if seconds < 0.01 => format!("{seconds:.4}"),
        Some(seconds) if seconds < 10.0 => format!("{seconds:.3}"),
        Some(seconds) if seconds < 100.0 => format!("{seconds:.2}"),
        Some(seconds) if seconds < 1000.0 => format!("{seconds:.1}"),
        Some(seconds) => format!("{seconds:.0}"),
    }
}

/// A count with its noun: "1 round", "12 rounds".
pub(crate) fn count_words(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// A duration in the unit that suits its size.
pub(crate) fn duration(seconds: Option<f64>) -> String {
    match seconds {
        None => MISSING.to_owned(),
        Some(seconds) if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        Some(seconds) if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        Some(seconds) => format!("{seconds:.2} s"),
    }
}

/// Shown if nothing was measured.
pub(crate) const MISSING: &str = "–";

/// A ratio with two decimals, or three significant digits.
pub(crate) fn times(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// An interval: "0.98–1.03", or nothing.
pub(crate) fn interval(ratio: &Ratio) -> Option<String> {
    ratio
        .interval
        .map(|(low, high)| format!("{}–{}", times(low), times(high)))
}

/// A ratio with its interval, if it has one: "0.97 (0.94–0.98)".
pub(crate) fn ratio(ratio: Option<&Ratio>) -> String {
    let Some(ratio) = ratio else {
        return MISSING.to_owned();
    };
    interval(ratio).map_or_else(
        || times(ratio.value),
        |interval| format!("{} ({interval})", times(ratio.value)),
    )
}

/// Bytes in binary units.
pub(crate) fn bytes(bytes: Option<f64>) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let Some(bytes) = bytes else {
        return MISSING.to_owned();
    };
    let mut size = bytes / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let digits = if size < 10.0 { 1 } else { 0 };
    format!("{size:.digits$} {}", UNITS[unit])
}

/// A time in Coordinated Universal Time, to the minute.
pub(crate) fn date(unix_seconds: u64) -> String {
    let (days, rest) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (mut year, mut day) = (1970, days);
    let length = |year: u64| {
        let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
        if leap { 366 } else { 365 }
    };
    while day >= length(year) {
        day -= length(year);
        year += 1;
    }
    let february = if length(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute) = (rest / 3600, rest % 3600 / 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02} UTC", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_007_194_529), "2001-12-01 08:15 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!(count_words(1, "round"), "1 round");
        assert_eq!(count_words(0, "round"), "0 rounds");
    }

    #[test]
    fn sizes_and_times_choose_their_unit() {
        assert_eq!(bytes(Some(2048.0)), "2.0 KiB");
        assert_eq!(bytes(Some(25.0 * 1024.0 * 1024.0)), "25 MiB");
        assert_eq!(duration(Some(0.000_084)), "84 µs");
        assert_eq!(duration(Some(0.0123)), "12.3 ms");
        assert_eq!(seconds(Some(1.2345)), "1.234");
        assert_eq!(seconds(Some(0.001_23)), "0.0012");
        assert_eq!(seconds(Some(12.345)), "12.35");
        assert_eq!(seconds(Some(937.44)), "937.4");
        assert_eq!(seconds(Some(2345.6)), "2346");
        assert_eq!(seconds(None), MISSING);
    }
}
