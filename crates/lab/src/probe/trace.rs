//! Counts the sync calls of a process and all its descendants, with ptrace.
//!
//! Linux lets a process stop others at each of their system calls (ptrace(2)). The traced program
//! marks the interval itself: it raises `SIGURG`, which is ignored by default and therefore
//! harmless if nobody traces, once before and once after. Invariants:
//!
//! 1. Outside the interval nothing stops at system calls, so that a server is set up at full speed.
//! 2. When the interval begins, the marking thread is held until every other thread has been made
//!    to stop at its calls, so that none is missed.
//! 3. When the traced program has ended, all processes it left behind are killed; when the tracer
//!    ends, so is everything it traces (`PTRACE_O_EXITKILL`).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::calls::SyncCalls;

/// The signal with which the traced program marks the interval.
pub(super) const MARK: Signal = Signal::SIGURG;

/// Result of tracing a program.
#[derive(Debug)]
pub(super) struct Traced {
    /// Calls in the interval, or why they could not be counted.
    pub(super) calls: Result<SyncCalls, String>,
    /// What it wrote to its standard output.
    pub(super) output: String,
    /// Whether it exited successfully.
    pub(super) success: bool,
}

/// Runs the command, passes it the input, and counts between its two marks. The command must not
/// write more to its standard output than a pipe holds, and must read its input before it starts.
pub(super) fn run(command: &mut Command, input: &[u8]) -> io::Result<Traced> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let root = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    let options = ptrace::Options::PTRACE_O_TRACESYSGOOD
        | ptrace::Options::PTRACE_O_TRACEFORK
        | ptrace::Options::PTRACE_O_TRACEVFORK
        | ptrace::Options::PTRACE_O_TRACECLONE
        | ptrace::Options::PTRACE_O_TRACEEXEC
        | ptrace::Options::PTRACE_O_EXITKILL;
    let seized = ptrace::seize(root, options);
    // Written by another thread: the program may stop at a call before it has read everything. The
    // pipe stays open until the end; the program takes its end as a sign that the tracer is gone.
    let input = input.to_owned();
    let writer = child.stdin.take().map(|mut stdin| {
        thread::spawn(move || {
            // If the program has died, its status says so.
            drop(stdin.write_all(&input));
            stdin
        })
    });
    let (calls, success) = match seized {
        Ok(()) => {
            let mut tracer = Tracer::new(root);
            let success = tracer.follow()?;
            let calls = if tracer.marks == 2 {
                Ok(tracer.calls)
            } else {
                Err("the engine failed before the end".to_owned())
            };
            (calls, success)
        }
        Err(errno) => {
            let reason = format!(
                "the system does not allow this program to trace another ({})",
                errno.desc()
            );
            (Err(reason), child.wait()?.success())
        }
    };
    drop(writer.map(thread::JoinHandle::join));
    let mut output = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut output)?;
    }
    Ok(Traced {
        calls,
        output,
        success,
    })
}

/// A traced thread.
#[derive(Default)]
struct Tracee {
    /// Its process, once looked up.
    process: Option<Pid>,
}

struct Tracer {
    root: Pid,
    root_ended: bool,
    tracees: HashMap<Pid, Tracee>,
    calls: SyncCalls,
    /// Marks seen so far; calls are counted between the first and the second.
    marks: u32,
    /// The thread that raised the first mark, while it is held until the others have stopped.
    held: Option<Pid>,
    /// Threads that have not stopped since the first mark.
    running: HashSet<Pid>,
}

impl Tracer {
    fn new(root: Pid) -> Self {
        Self {
            root,
            root_ended: false,
            tracees: HashMap::from([(root, Tracee::default())]),
            calls: SyncCalls::default(),
            marks: 0,
            held: None,
            running: HashSet::new(),
        }
    }

    /// Runs until no traced thread is left; returns whether the first process exited successfully.
    fn follow(&mut self) -> io::Result<bool> {
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let mut success = false;
        loop {
            let status = match waitpid(None, Some(flags)) {
                Ok(status) => status,
                Err(Errno::EINTR) => continue,
                Err(Errno::ECHILD) => return Ok(success),
                Err(errno) => return Err(errno.into()),
            };
            match status {
                WaitStatus::Exited(thread, code) => {
                    success |= thread == self.root && code == 0;
                    self.ended(thread);
                }
                WaitStatus::Signaled(thread, ..) => self.ended(thread),
                WaitStatus::PtraceSyscall(thread) => {
                    self.arrived(thread);
                    self.call(thread);
                    self.resume(thread, None);
                }
                WaitStatus::PtraceEvent(thread, ..) => {
                    self.arrived(thread);
                    self.resume(thread, None);
                }
                WaitStatus::Stopped(thread, signal) => {
                    self.arrived(thread);
                    if signal == MARK && self.process_of(thread) == Some(self.root) {
                        self.mark(thread);
                    } else {
                        self.resume(thread, Some(signal));
                    }
                }
                _ => {}
            }
            self.release();
        }
    }

    fn counting(&self) -> bool {
        self.marks == 1
    }

    fn arrived(&mut self, thread: Pid) {
        self.tracees.entry(thread).or_default();
        self.running.remove(&thread);
        if self.root_ended {
            // Its first stop is reported after the exit of the thread that started it.
            let _ = kill(thread, Signal::SIGKILL);
        }
    }

    fn ended(&mut self, thread: Pid) {
        self.tracees.remove(&thread);
        self.running.remove(&thread);
        if thread == self.root {
            self.root_ended = true;
            for &left in self.tracees.keys() {
                // Fails if the process has just exited by itself.
                let _ = kill(left, Signal::SIGKILL);
            }
        }
    }

    /// Resumes a stopped thread. That fails if the thread was killed meanwhile, which is reported
    /// separately.
    fn resume(&self, thread: Pid, signal: Option<Signal>) {
        let _ = if self.counting() {
            ptrace::syscall(thread, signal)
        } else {
            ptrace::cont(thread, signal)
        };
    }

    fn mark(&mut self, thread: Pid) {
        self.marks += 1;
        if self.marks != 1 {
            self.resume(thread, None);
            return;
        }
        let others = self.tracees.keys().filter(|&&other| other != thread);
        self.running = others
            .copied()
            .filter(|&other| ptrace::interrupt(other).is_ok())
            .collect();
        self.held = Some(thread);
    }

    /// Resumes the thread that raised the first mark, once all others have stopped.
    fn release(&mut self) {
        if self.running.is_empty()
            && let Some(thread) = self.held.take()
        {
            self.resume(thread, None);
        }
    }

    fn process_of(&mut self, thread: Pid) -> Option<Pid> {
        let tracee = self.tracees.get_mut(&thread)?;
        if tracee.process.is_none() {
            let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("Tgid:"))?
                .trim();
            tracee.process = line.parse().ok().map(Pid::from_raw);
        }
        tracee.process
    }

    /// Counts a call that is about to be made.
    fn call(&mut self, thread: Pid) {
        if !self.counting() {
            return;
        }
        let Some(Call { number, arguments }) = Call::entered(thread) else {
            return;
        };
        let calls = &mut self.calls;
        match number {
            libc::SYS_fsync => calls.fsync += 1,
            libc::SYS_fdatasync => calls.fdatasync += 1,
            libc::SYS_msync if has(arguments[2], libc::MS_SYNC) => calls.msync += 1,
            libc::SYS_sync_file_range => calls.sync_file_range += 1,
            libc::SYS_sync | libc::SYS_syncfs => calls.whole += 1,
            libc::SYS_io_uring_enter => calls.rings += 1,
            libc::SYS_pwritev2 if has(arguments[5], libc::RWF_DSYNC | libc::RWF_SYNC) => {
                calls.synced_writes += 1;
            }
            libc::SYS_write
            | libc::SYS_pwrite64
            | libc::SYS_writev
            | libc::SYS_pwritev
            | libc::SYS_pwritev2
                if is_synced(thread, arguments[0]) =>
            {
                calls.synced_writes += 1;
            }
            _ => {}
        }
    }
}

fn has(flags: u64, wanted: i32) -> bool {
    u64::try_from(wanted).is_ok_and(|wanted| flags & wanted != 0)
}

/// Whether the file was opened such that each write waits for the disk (proc(5), `fdinfo`).
/// `O_SYNC` includes the bit of `O_DSYNC`.
fn is_synced(thread: Pid, file: u64) -> bool {
    let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{file}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| has(flags, libc::O_DSYNC))
}

/// A system call that is about to be made.
struct Call {
    number: libc::c_long,
    arguments: [u64; 6],
}

impl Call {
    /// The call that the thread is about to make; `None` if it has stopped after a call.
    #[cfg(target_arch = "x86_64")]
    fn entered(thread: Pid) -> Option<Self> {
        let registers = ptrace::getregs(thread).ok()?;
        // The kernel stores ENOSYS there until the call has been made.
        if registers.rax.cast_signed() != -i64::from(libc::ENOSYS) {
            return None;
        }
        Some(Self {
            number: registers.orig_rax.cast_signed(),
            arguments: [
                registers.rdi,
                registers.rsi,
                registers.rdx,
                registers.r10,
                registers.r8,
                registers.r9,
            ],
        })
    }

    /// The call that the thread is about to make; `None` if it has stopped after a call.
    #[cfg(target_arch = "aarch64")]
    fn entered(thread: Pid) -> Option<Self> {
        let registers = ptrace::getregs(thread).ok()?.regs;
        // At these stops register 7 says which of the two it is.
        if registers[7] != 0 {
            return None;
        }
        Some(Self {
            number: registers[8].cast_signed(),
            arguments: std::array::from_fn(|place| registers[place]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(script: &str) -> Traced {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(format!("read line; {script}"))
            .current_dir(folder.path());
        run(&mut command, b"go\n").unwrap()
    }

    fn calls(script: &str) -> SyncCalls {
        let traced = traced(script);
        assert!(traced.success, "{traced:?}");
        traced.calls.unwrap()
    }

    #[test]
    fn each_kind_is_counted_between_the_marks_only() {
        let calls = calls(
            "echo a > f; sync f; kill -URG $$; sync f; sync -d f; sync -d f; sync -f f; \
             dd if=f of=g oflag=dsync conv=notrunc bs=1 count=2 2>/dev/null; \
             kill -URG $$; sync f; sync -d f",
        );
        let expected = SyncCalls {
            fsync: 1,
            fdatasync: 2,
            whole: 1,
            synced_writes: 2,
            ..SyncCalls::default()
        };
        assert_eq!(calls, expected);
        assert_eq!(calls.total(), 6);
    }

    #[test]
    fn processes_that_were_there_before_the_mark_are_counted_too() {
        // When the interval begins, the second shell has its file open and waits.
        let calls = calls(
            "mkfifo p q; ( exec 3>f; read go <p; sync -d f; echo done >q ) & \
             kill -URG $$; echo go >p; read done <q; kill -URG $$; wait",
        );
        assert_eq!(calls.fdatasync, 1);
        assert_eq!(calls.total(), 1);
    }

    #[test]
    fn remaining_processes_are_killed() {
        let traced = traced("sleep 1000 & echo $!; kill -URG $$; kill -URG $$; exit 0");
        let left: u32 = traced.output.trim().parse().unwrap();
        // Gone, or dead and not yet reaped by its parent.
        let state = fs::read_to_string(format!("/proc/{left}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
        assert_eq!(traced.calls.unwrap(), SyncCalls::default());
    }

    #[test]
    fn a_program_that_fails_before_its_second_mark_has_no_count() {
        let traced = traced("echo early; kill -URG $$; kill -9 $$");
        assert!(!traced.success);
        assert!(traced.calls.is_err());
        assert_eq!(traced.output, "early\n");
    }
}
