//! The time zone of a session, in which statements have the moments of `TIMESTAMP` columns. The
//! server stores such a moment in UTC, and so does the proxy.

use column_value::{LogicalType, ValueError};
use semantics_mysql::Given;
use sqlstate::SqlState;

use crate::{Dialect, Schema};

/// Zones without an offset.
const UTC: [&str; 2] = ["UTC", "Etc/UTC"];
/// The farthest offset, in minutes.
const MINUTES_MAX: i32 = 14 * 60;

/// By how many seconds a zone is before UTC, at all times. None: that changes, or is not known.
/// `of_system` is that of the server's machine.
pub fn offset_of(zone: &str, of_system: &str) -> Option<i32> {
    let zone = if zone == "SYSTEM" { of_system } else { zone };
    if UTC.contains(&zone) {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let number = |text: &str| {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<i32>().ok().filter(|_| is_number)
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let all = hours * 60 + minutes;
    (minutes < 60 && all <= MINUTES_MAX).then_some(sign * all * 60)
}

/// The offset of the session's zone.
///
/// # Errors
/// 0A000: there is none that is the same at all times.
pub fn offset(schema: &Schema) -> Result<i32, ValueError> {
    let offset = match schema.dialect {
        Dialect::MySql(own) => own.offset_s,
        _ => None,
    };
    offset.ok_or_else(|| ValueError::new(SqlState::FEATURE_NOT_SUPPORTED, NO_OFFSET.to_owned()))
}

/// Why a `TIMESTAMP` is refused.
pub(super) const NO_OFFSET: &str = "a TIMESTAMP with a rule in a session whose time_zone is no \
                                    offset and not UTC, or without \
                                    explicit_defaults_for_timestamp: SET time_zone = '+00:00', or \
                                    start the server so";

/// A constant or parameter for a column whose values have a zone, in UTC. None: the type has none.
///
/// # Errors
/// It is no moment, or the zone of the session is not followed.
pub fn in_utc(
    given: Given<'_>,
    logical: LogicalType,
    schema: &Schema,
) -> Result<Option<String>, ValueError> {
    match logical {
        LogicalType::TimestampTz(_) => {
            let offset_s = offset(schema)?;
            semantics_mysql::in_utc(given, offset_s).map(Some)
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::offset_of;

    #[test]
    fn only_offsets_and_utc_are_the_same_at_all_times() {
        for (zone, system, offset_s) in [
            ("+00:00", "CET", Some(0)),
            ("-03:30", "UTC", Some(-12_600)),
            ("+14:00", "UTC", Some(50_400)),
            ("+5:00", "UTC", Some(18_000)),
            ("SYSTEM", "UTC", Some(0)),
            ("UTC", "CET", Some(0)),
            // London, in winter.
            ("SYSTEM", "GMT", None),
            ("SYSTEM", "CEST", None),
            ("Europe/Berlin", "UTC", None),
            ("+14:01", "UTC", None),
            ("+1:75", "UTC", None),
            ("+é:00", "UTC", None),
            ("", "UTC", None),
        ] {
            assert_eq!(offset_of(zone, system), offset_s, "{zone}");
        }
    }
}
