//! Descendants of a process, from Linux's `/proc`: what they used, and how they are ended.
//!
//! On systems without `/proc` no process is found and nothing is measured.

use std::collections::HashMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::time::ClockId;
use nix::unistd::{Pid, SysconfVar, sysconf};

/// A process as listed by the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// The process that started it or, for an orphan, adopted it.
    pub parent: i32,
    /// Name of its program, at most 15 bytes.
    pub name: String,
    times: Times,
}

/// Processor time in ticks of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    user: u64,
    system: u64,
    /// Times of its children that exited and were waited for, recursively.
    children_user: u64,
    children_system: u64,
}

/// Resources used by processes since they started, including their exited children.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in user mode, nanoseconds.
    pub user_ns: u64,
    /// Processor time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Current memory, bytes: the proportional set size.
    pub memory_bytes: u64,
    /// Bytes moved by read calls.
    pub read_bytes: u64,
    /// Bytes moved by write calls.
    pub written_bytes: u64,
}

/// All descendants of `root`, without itself.
pub fn descendants(root: i32) -> Vec<Process> {
    let all: Vec<Process> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            // A process that exited meanwhile has no file any more.
            Process::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
        })
        .collect();
    below(root, all)
}

fn below(root: i32, all: Vec<Process>) -> Vec<Process> {
    let parents: HashMap<i32, i32> = all.iter().map(|one| (one.pid, one.parent)).collect();
    let is_below = |process: &Process| {
        let mut parent = process.parent;
        // A parent that exited between two readings may form a cycle, so the walk is bounded by the
        // number of processes.
        for _ in 0..=parents.len() {
            if parent == root {
                return true;
            }
            match parents.get(&parent) {
                Some(&next) => parent = next,
                None => return false,
            }
        }
        false
    };
    all.into_iter().filter(is_below).collect()
}

impl Process {
    /// Parses a line of `/proc/PID/stat` (proc(5)): number, (name), state, parent and so on; the
    /// name may contain anything and ends at the last parenthesis.
    fn parse(pid: i32, line: &str) -> Option<Self> {
        let (head, rest) = line.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        // Fields 14 to 17 of the line; the first word here is field 3.
        let ticks = |field: usize| words.get(field - 3)?.parse().ok();
        Some(Self {
            pid,
            parent: words.get(1)?.parse().ok()?,
            name: name.to_owned(),
            times: Times {
                user: ticks(14)?,
                system: ticks(15)?,
                children_user: ticks(16)?,
                children_system: ticks(17)?,
            },
        })
    }

    /// The total is exact, from the process's own clock; its split into user and system follows the
    /// ticks, which are some milliseconds long. So do the times of exited children.
    fn usage(&self) -> Usage {
        let tick = tick_ns();
        let Times {
            user,
            system,
            children_user,
            children_system,
        } = self.times;
        let (user_ns, system_ns) = divided(self.clock_ns(), user * tick, system * tick);
        let file = |name| fs::read_to_string(format!("/proc/{}/{name}", self.pid));
        let io = file("io").unwrap_or_default();
        let memory = file("smaps_rollup").unwrap_or_default();
        Usage {
            user_ns: user_ns + children_user * tick,
            system_ns: system_ns + children_system * tick,
            memory_bytes: field(&memory, "Pss:").unwrap_or(0) * 1024,
            read_bytes: field(&io, "rchar:").unwrap_or(0),
            written_bytes: field(&io, "wchar:").unwrap_or(0),
        }
    }

    /// Processor time of all its threads, including exited ones.
    fn clock_ns(&self) -> Option<u64> {
        let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(self.pid)).ok()?;
        let now = clock.now().ok()?;
        let seconds = u64::try_from(now.tv_sec()).ok()?;
        Some(seconds * 1_000_000_000 + u64::try_from(now.tv_nsec()).ok()?)
    }
}

/// Splits a total in the ratio of two approximate numbers.
fn divided(total: Option<u64>, user: u64, system: u64) -> (u64, u64) {
    let Some(total) = total else {
        return (user, system);
    };
    let rough = u128::from(user) + u128::from(system);
    let system = u128::from(total)
        .saturating_mul(u128::from(system))
        .checked_div(rough)
        .and_then(|system| u64::try_from(system).ok())
        .unwrap_or(0);
    (total.saturating_sub(system), system)
}

fn tick_ns() -> u64 {
    const USUAL_PER_SECOND: i64 = 100;
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten();
    let per_second = per_second.map_or(USUAL_PER_SECOND, |ticks: nix::libc::c_long| ticks.max(1));
    1_000_000_000 / u64::try_from(per_second).unwrap_or(1)
}

impl Usage {
    /// Usage of a single process; `None` if it has exited.
    pub fn of(pid: i32) -> Option<Self> {
        let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Process::parse(pid, &line)?.usage())
    }

    /// Total usage of all descendants of `root`.
    pub fn below(root: i32) -> Self {
        let mut sum = Self::default();
        for process in descendants(root) {
            let usage = process.usage();
            sum.user_ns += usage.user_ns;
            sum.system_ns += usage.system_ns;
            sum.memory_bytes += usage.memory_bytes;
            sum.read_bytes += usage.read_bytes;
            sum.written_bytes += usage.written_bytes;
        }
        sum
    }
}

/// The number after a label at the start of a line.
pub(crate) fn field(text: &str, label: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The main process of PostgreSQL releases a shared memory segment only if it shuts down itself: on
/// this signal it does so at once, together with its children.
const ASKED: (&str, Signal) = ("postgres", Signal::SIGQUIT);

/// Time limit for processes that are asked to end.
const ASKED_PATIENCE: Duration = Duration::from_secs(3);

/// Time limit for the system to end a process that waits for a disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends all descendants of this process. Returns when none is left, or when the system has not
/// managed to end them within a minute. If this process is a subreaper, orphans become its
/// children.
pub fn end_descendants() {
    let this_process = std::process::id().cast_signed();
    let began = Instant::now();
    loop {
        reap();
        let found = descendants(this_process);
        if found.is_empty() || began.elapsed() > PATIENCE {
            return;
        }
        let patient = began.elapsed() < ASKED_PATIENCE;
        let names: HashMap<i32, &str> = found
            .iter()
            .map(|process| (process.pid, process.name.as_str()))
            .collect();
        for process in &found {
            let is_child_of_asked = names.get(&process.parent) == Some(&ASKED.0);
            let signal = match (patient, process.name == ASKED.0) {
                (true, true) if is_child_of_asked => continue,
                (true, true) => ASKED.1,
                (true, false) | (false, _) => Signal::SIGKILL,
            };
            // It may have exited since it was listed.
            let _ended_already = kill(Pid::from_raw(process.pid), signal);
        }
        sleep(Duration::from_millis(10));
    }
}

/// Reaps children that have exited, so that no zombie remains.
fn reap() {
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        if status.pid().is_none() {
            return;
        }
    }
}

/// Kills a process group, if it exists.
pub fn end_group(leader: i32) -> bool {
    nix::sys::signal::killpg(Pid::from_raw(leader), Signal::SIGKILL) != Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_line_is_read_even_where_the_name_is_odd() {
        let line = "7 (a) b (c) S 5 7 7 0 -1 4194560 93 0 0 0 12 34 56 78 20 0 1 0 9";
        let process = Process::parse(7, line).unwrap();
        assert_eq!((process.pid, process.parent), (7, 5));
        assert_eq!(process.name, "a) b (c");
        let times = process.times;
        assert_eq!((times.user, times.system), (12, 34));
        assert_eq!((times.children_user, times.children_system), (56, 78));
        assert_eq!(Process::parse(7, "7 (a) S 5"), None);
    }

    #[test]
    fn exactly_children_and_grandchildren_are_descendants() {
        let process = |pid, parent| Process {
            pid,
            parent,
            name: String::new(),
            times: Times::default(),
        };
        let all = vec![
            process(1, 0),
            process(2, 1),
            process(3, 2),
            process(4, 3),
            process(9, 1),
            // Process numbers that were reused between two readings.
            process(20, 21),
            process(21, 20),
        ];
        let found: Vec<i32> = below(2, all).iter().map(|one| one.pid).collect();
        assert_eq!(found, [3, 4]);
    }

    #[test]
    fn a_total_is_split_in_the_ratio_of_the_ticks() {
        assert_eq!(divided(Some(1000), 30, 10), (750, 250));
        assert_eq!(divided(Some(1000), 0, 0), (1000, 0));
        assert_eq!(divided(None, 30, 10), (30, 10));
    }

    #[test]
    fn fields_are_found_by_their_label() {
        let text = "Name:\tx\nVmHWM:\t   2048 kB\nwchar: 7\n";
        assert_eq!(field(text, "VmHWM:"), Some(2048));
        assert_eq!(field(text, "wchar:"), Some(7));
        assert_eq!(field(text, "rchar:"), None);
    }

    #[test]
    fn a_child_of_a_child_is_seen_with_its_work() {
        let script = "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; read x'";
        let mut child = Command::new("sh")
            .args(["-c", &format!("{script}; true")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let found = descendants(child.id().cast_signed());
        assert_eq!(found.len(), 1, "{found:?}");
        let usage = Usage::below(child.id().cast_signed());
        assert!(usage.user_ns > 1_000_000, "{usage:?}");
        assert!(usage.memory_bytes > 50_000, "{usage:?}");
        assert!(usage.written_bytes >= 5, "{usage:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
