//! The measured interval, defined once for all engines and tests.
//!
//! It begins on an open connection, before the first statement is passed, and ends when the last
//! row of the last statement has been fetched. It excludes splitting the script into statements,
//! digesting the answers and checking the tables. Processor time is that of the whole worker
//! process, all threads, user and system, as the operating system accounts for it.
//!
//! A server's part is that of all descendants of the worker, including those that exited during the
//! interval. It is read outside the interval, so background work of a server between two intervals
//! counts in neither.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::engine::server::Server;
use crate::processes::{self, field};

/// The cost of an interval. A server's part is stated separately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Wall time, nanoseconds.
    pub wall_ns: u64,
    /// Processor time in user mode, nanoseconds (resolution: a microsecond).
    pub user_ns: u64,
    /// Processor time in the kernel, nanoseconds (resolution: a microsecond).
    pub system_ns: u64,
    /// Peak resident memory of the process within the interval, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Bytes moved by read calls, without reads through a memory map.
    pub read_bytes: Option<u64>,
    /// Bytes moved by write calls.
    pub written_bytes: Option<u64>,
    /// What the server used meanwhile, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerPart>,
    /// Round trip to the engine, nanoseconds, if the engine measured its work with its own clock;
    /// it is then not part of `wall_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way_ns: Option<u64>,
}

/// A server's part of the cost of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "measured", rename_all = "kebab-case")]
pub enum ServerPart {
    /// The server runs elsewhere, so its work was not measured.
    No,
    /// The sum over all its processes.
    Yes(ServerUsage),
}

/// What the processes of a server used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerUsage {
    /// Processor time in user mode, nanoseconds. For running processes the sum of user and system
    /// time is exact and its split is approximate; the times of exited processes are multiples of
    /// 10 ms.
    pub user_ns: u64,
    /// Processor time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Memory at the end of the interval, bytes: the proportional set size, which counts shared
    /// memory once.
    pub memory_bytes: u64,
    /// Bytes moved by read calls; data from the client usually comes by other calls.
    pub read_bytes: u64,
    /// Bytes moved by write calls; data for the client usually goes by other calls.
    pub written_bytes: u64,
}

impl Sample {
    /// Processor time, user and system, of client and server, nanoseconds; `None` if a server was
    /// not measured.
    pub fn cpu_ns(&self) -> Option<u64> {
        let server = match self.server {
            None => 0,
            Some(ServerPart::Yes(part)) => part.user_ns + part.system_ns,
            Some(ServerPart::No) => return None,
        };
        Some(self.client_cpu_ns() + server)
    }

    /// Sets the wall time to what the engine measured itself; the rest was the round trip.
    #[must_use]
    pub fn by_own_clock(self, wall_ns: u64) -> Self {
        Self {
            wall_ns,
            way_ns: Some(self.wall_ns.saturating_sub(wall_ns)),
            ..self
        }
    }

    /// Processor time, user and system, of the worker or of the shell, nanoseconds.
    pub fn client_cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// A running measurement.
pub struct Meter {
    server: Server,
    descendants: DescendantUsage,
    traffic: Option<Traffic>,
    usage: Usage,
    began: Instant,
}

impl Meter {
    /// Starts measuring this process. The clock is read last.
    pub fn start() -> Self {
        Self::with(Server::None)
    }

    /// Starts measuring this process and its server. The clock is read last.
    pub fn with(server: Server) -> Self {
        // Code 5 resets the process's peak memory to its current size; if that is not allowed, the
        // peak counts from the start of the process.
        drop(fs::write("/proc/self/clear_refs", "5"));
        let descendants = DescendantUsage::now(server);
        let traffic = Traffic::now();
        let usage = Usage::now(UsageWho::RUSAGE_SELF);
        Self {
            server,
            descendants,
            traffic,
            usage,
            began: Instant::now(),
        }
    }

    /// Ends the measurement. The clock is read first.
    pub fn stop(self) -> Sample {
        let wall = self.began.elapsed();
        let usage = Usage::now(UsageWho::RUSAGE_SELF).since(self.usage);
        let traffic = self.traffic.zip(Traffic::now());
        let traffic = traffic.map(|(before, after)| after.since(before));
        let mut sample = Sample {
            wall_ns: nanoseconds(wall),
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            peak_memory_bytes: peak_memory_bytes(),
            read_bytes: traffic.map(|traffic| traffic.read),
            written_bytes: traffic.map(|traffic| traffic.written),
            server: None,
            way_ns: None,
        };
        match self.server {
            Server::None => {}
            Server::Elsewhere => sample.server = Some(ServerPart::No),
            Server::Child => self
                .descendants
                .part(DescendantUsage::now(self.server), &mut sample),
        }
        sample
    }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// All work ever done by descendants of this process: by those that run, and by those that exited
/// and were waited for.
#[derive(Clone, Copy, Default)]
pub(crate) struct DescendantUsage {
    running: processes::Usage,
    ended: Usage,
}

impl DescendantUsage {
    fn now(server: Server) -> Self {
        if server != Server::Child {
            return Self::default();
        }
        Self {
            ended: Usage::now(UsageWho::RUSAGE_CHILDREN),
            ..Self::running(server)
        }
    }

    /// Without exited processes, which were shells.
    pub(crate) fn running(server: Server) -> Self {
        let this_process = std::process::id().cast_signed();
        let running = match server {
            Server::Child => processes::Usage::below(this_process),
            Server::None | Server::Elsewhere => processes::Usage::default(),
        };
        Self {
            running,
            ended: Usage::default(),
        }
    }

    /// Adds the part of the running processes to a shell's sample.
    pub(crate) fn add_to(self, sample: &mut Sample, server: Server) {
        match server {
            Server::None => {}
            Server::Elsewhere => sample.server = Some(ServerPart::No),
            Server::Child => self.part(Self::running(server), sample),
        }
    }

    /// Adds the server's part to the sample. The system accounts the I/O of exited processes to the
    /// worker itself; in that case all of it is attributed to the server.
    fn part(self, after: Self, sample: &mut Sample) {
        let sum = |one: Self, pick: fn(&Usage) -> u64, below: fn(&processes::Usage) -> u64| {
            pick(&one.ended) + below(&one.running)
        };
        let since = |pick: fn(&Usage) -> u64, below: fn(&processes::Usage) -> u64| {
            sum(after, pick, below).saturating_sub(sum(self, pick, below))
        };
        let some_ended = after.ended != self.ended;
        let moved = |below: fn(&processes::Usage) -> u64, own: &mut Option<u64>| {
            let own = if some_ended {
                own.take().unwrap_or(0)
            } else {
                0
            };
            (own + below(&after.running)).saturating_sub(below(&self.running))
        };
        let part = ServerUsage {
            user_ns: since(|one| one.user_ns, |one| one.user_ns),
            system_ns: since(|one| one.system_ns, |one| one.system_ns),
            memory_bytes: after.running.memory_bytes,
            read_bytes: moved(|one| one.read_bytes, &mut sample.read_bytes),
            written_bytes: moved(|one| one.written_bytes, &mut sample.written_bytes),
        };
        sample.server = Some(ServerPart::Yes(part));
    }
}

/// Processor time as the system accounts for it, exact to the microsecond.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

impl Usage {
    pub(crate) fn now(who: UsageWho) -> Self {
        let nanoseconds = |seconds: i64, microseconds: i64| {
            u64::try_from(seconds * 1_000_000_000 + microseconds * 1000).unwrap_or(0)
        };
        // The call fails only for an unknown `who`, and this one is known.
        getrusage(who).map_or_else(
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

    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
        }
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

    fn since(self, before: Self) -> Self {
        Self {
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }
}

fn peak_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    Some(field(&text, "VmHWM:")? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(sample.cpu_ns().unwrap() > 0);
        assert_eq!(sample.server, None);
        assert!(sample.written_bytes.unwrap() >= 3 << 20);
        assert!(sample.peak_memory_bytes.unwrap() >= 3 << 20);
    }
}
