//! The measured interval, defined once for all engines and tests.
//!
//! It begins on an open connection before the first statement is handed over and ends when the last
//! row of the last statement has been fetched. Splitting the script into statements, digesting the
//! answers and checking the tables lie outside. Processor time is that of the whole worker process,
//! all threads, user and system, as the operating system accounts for it.

use std::fs;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

/// What an interval cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Time on the wall, nanoseconds.
    pub wall_ns: u64,
    /// Processor time in user mode, nanoseconds (resolution: a microsecond).
    pub user_ns: u64,
    /// Processor time in the kernel, nanoseconds (resolution: a microsecond).
    pub system_ns: u64,
    /// Largest resident memory of the process within the interval, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Bytes moved by read calls; reads through a memory map are not among them.
    pub read_bytes: Option<u64>,
    /// Bytes moved by write calls.
    pub written_bytes: Option<u64>,
}

impl Sample {
    /// Processor time, user and system, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// A running measurement.
pub struct Meter {
    traffic: Option<Traffic>,
    usage: Usage,
    began: Instant,
}

impl Meter {
    /// Begins to measure. The clock is read last.
    pub fn start() -> Self {
        // Code 5 sets the process's memory peak back to what it holds now; where that is not
        // allowed the peak counts from the start of the process.
        drop(fs::write("/proc/self/clear_refs", "5"));
        let traffic = Traffic::now();
        let usage = Usage::now();
        Self {
            traffic,
            usage,
            began: Instant::now(),
        }
    }

    /// Ends the measurement. The clock is read first.
    pub fn stop(self) -> Sample {
        let wall = self.began.elapsed();
        let usage = Usage::now();
        let traffic = self.traffic.zip(Traffic::now());
        Sample {
            wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
            user_ns: usage.user_ns.saturating_sub(self.usage.user_ns),
            system_ns: usage.system_ns.saturating_sub(self.usage.system_ns),
            peak_memory_bytes: peak_memory_bytes(),
            read_bytes: traffic.map(|(before, after)| after.read.saturating_sub(before.read)),
            written_bytes: traffic
                .map(|(before, after)| after.written.saturating_sub(before.written)),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Usage {
    user_ns: u64,
    system_ns: u64,
}

impl Usage {
    fn now() -> Self {
        let nanoseconds = |seconds: i64, microseconds: i64| {
            u64::try_from(seconds * 1_000_000_000 + microseconds * 1000).unwrap_or(0)
        };
        // The call fails only for an unknown subject, and this one is known.
        getrusage(UsageWho::RUSAGE_SELF).map_or_else(
            |_| Self::default(),
            |usage| {
                let (user, system) = (usage.user_time(), usage.system_time());
                Self {
                    user_ns: nanoseconds(user.tv_sec(), user.tv_usec()),
                    system_ns: nanoseconds(system.tv_sec(), system.tv_usec()),
                }
            },
        )
    }
}

#[derive(Clone, Copy)]
struct Traffic {
    read: u64,
    written: u64,
}

impl Traffic {
    /// Linux only; elsewhere nothing is reported.
    fn now() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/io").ok()?;
        Some(Self {
            read: field(&text, "rchar:")?,
            written: field(&text, "wchar:")?,
        })
    }
}

fn peak_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    Some(field(&text, "VmHWM:")? * 1024)
}

/// The number after a label at the beginning of a line.
fn field(text: &str, label: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_label() {
        let text = "Name:\tx\nVmHWM:\t   2048 kB\nwchar: 7\n";
        assert_eq!(field(text, "VmHWM:"), Some(2048));
        assert_eq!(field(text, "wchar:"), Some(7));
        assert_eq!(field(text, "rchar:"), None);
    }

    #[test]
    fn work_shows_in_every_column() {
        let folder = tempfile::tempdir().unwrap();
        let meter = Meter::start();
        let block = vec![7u8; 3 << 20];
        fs::write(folder.path().join("a"), &block).unwrap();
        let mut state = 1u64;
        while meter.began.elapsed().as_millis() < 5 {
            state = std::hint::black_box(state.wrapping_mul(3));
        }
        let sample = meter.stop();
        assert!(sample.wall_ns >= 5_000_000);
        assert!(sample.cpu_ns() > 0);
        assert!(sample.written_bytes.unwrap() >= 3 << 20);
        assert!(sample.peak_memory_bytes.unwrap() >= 3 << 20);
    }
}
