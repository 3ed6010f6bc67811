//! Measures how long a statement took.

use std::time::Instant;

/// Wall and processor time since the start.
pub(crate) struct Stopwatch {
    start: Instant,
    processor_s: Option<(f64, f64)>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Stopwatch {
            start: Instant::now(),
            processor_s: processor_s(),
        }
    }

    /// The line that `.timer on` writes.
    pub(crate) fn report(&self) -> String {
        let real_s = self.start.elapsed().as_secs_f64();
        match (self.processor_s, processor_s()) {
            (Some((user, system)), Some((user_now, system_now))) => format!(
                "Run Time: real {real_s:.6} user {:.6} sys {:.6}",
                user_now - user,
                system_now - system
            ),
            _ => format!("Run Time: real {real_s:.6}"),
        }
    }
}

/// Processor time of this process, in seconds: user and system.
#[cfg(unix)]
fn processor_s() -> Option<(f64, f64)> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::{TimeVal, TimeValLike};
    let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some((seconds(usage.user_time()), seconds(usage.system_time())))
}

#[cfg(not(unix))]
fn processor_s() -> Option<(f64, f64)> {
    None
}
