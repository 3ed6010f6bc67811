//! The time zone in which the finisher evaluates a statement.

use session_core::StatementError;

/// The finisher's time zone. It has no tables of zones, and does not know that of the server's
/// machine: it gets the present offset, where that is enough.
pub(super) fn zone(
    own: &str,
    of_system: &str,
    offset_s: &str,
    uses_zone: bool,
) -> Result<String, StatementError> {
    let (own, is_system) = match own {
        "SYSTEM" => (of_system, true),
        own => (own, false),
    };
    if own.starts_with(['+', '-']) {
        return Ok(own.to_owned());
    }
    // London's own name for winter is GMT, too.
    if ["UTC", "Etc/UTC"].contains(&own) || (own == "GMT" && !is_system) {
        return Ok("+00:00".to_owned());
    }
    let offset_s: i64 = offset_s.parse().unwrap_or(1);
    if uses_zone || offset_s % 60 != 0 {
        return Err(StatementError::unsupported(format!(
            "a query over TIMESTAMP columns, or of UNIX_TIMESTAMP, FROM_UNIXTIME or CONVERT_TZ, \
             that the finisher evaluates in the time zone {own}"
        ))
        .hint("Set time_zone to an offset, as '+01:00', or use DATETIME."));
    }
    let sign = if offset_s < 0 { '-' } else { '+' };
    let minutes = offset_s.abs() / 60;
    Ok(format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_offsets_or_refused_where_that_is_not_enough() {
        let of = |own, system, offset, uses| zone(own, system, offset, uses).ok();
        assert_eq!(of("+02:00", "CET", "7200", true).as_deref(), Some("+02:00"));
        assert_eq!(of("SYSTEM", "UTC", "0", true).as_deref(), Some("+00:00"));
        let summer = of("SYSTEM", "CEST", "7200", false);
        assert_eq!(summer.as_deref(), Some("+02:00"));
        assert_eq!(of("SYSTEM", "CEST", "7200", true), None);
        let west = of("America/St_Johns", "CET", "-12600", false);
        assert_eq!(west.as_deref(), Some("-03:30"));
        assert_eq!(of("Europe/Berlin", "CET", "3599", false), None);
    }
}
