//! The clock of the system, for sessions, which read none themselves.

use std::time::SystemTime;

/// Microseconds since 2000-01-01, as PostgreSQL counts: the clock of
/// [`session_core::Protection::new`].
pub fn now() -> i64 {
    const POSTGRES_EPOCH_S: i64 = 946_684_800;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let micros = since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    });
    micros - POSTGRES_EPOCH_S * 1_000_000
}
