//! What the process of `strongroom proxy` keeps to itself: its memory, and the variable of the
//! environment that its key came in.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crypto::secret::Key;
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

/// Of `capabilities(7)`: memory may be locked without a limit.
const CAP_IPC_LOCK: u32 = 14;

/// Keeps memory out of core dumps, and, on Linux, away from other processes of the same user: they
/// can neither trace this one, nor read its memory and environment below `/proc`.
pub fn forbid_dumps() {
    if let Err(error) = setrlimit(Resource::RLIMIT_CORE, 0, 0) {
        tracing::warn!(%error, "core dumps cannot be switched off: they would hold keys");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        tracing::warn!(
            %error,
            "other processes of this user may read the memory of this one, and so its keys"
        );
    }
}

/// Keeps memory out of swap where the system allows that without a limit. With one, allocations
/// would fail later.
pub fn lock_memory() {
    let locked = match may_lock() {
        true => lock(),
        false => Err(io::Error::other("the limit of locked memory is too small")),
    };
    if let Err(error) = locked {
        tracing::info!(
            %error,
            "memory is not locked, so that keys may come into swap: set LimitMEMLOCK=infinity \
             (systemd) or `ulimit -l unlimited`, or encrypt the swap"
        );
    }
}

fn lock() -> io::Result<()> {
    let mut flags = MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE;
    // Memory that is reserved and never used, as of stacks, is not made real by it.
    #[cfg(target_os = "linux")]
    {
        flags |= MlockAllFlags::from_bits_retain(nix::libc::MCL_ONFAULT);
    }
    mlockall(flags).map_err(io::Error::from)
}

/// Whether no limit holds, or none that cannot be lifted.
fn may_lock() -> bool {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_MEMLOCK) else {
        return false;
    };
    let is_unlimited = soft == RLIM_INFINITY
        || hard == RLIM_INFINITY && setrlimit(Resource::RLIMIT_MEMLOCK, hard, hard).is_ok();
    is_unlimited || is_privileged()
}

/// Whether the process has `CAP_IPC_LOCK`, and not only within a name space of users, where the
/// system does not count it.
fn is_privileged() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| {
        let digits = line.strip_prefix("CapEff:")?.trim();
        u64::from_str_radix(digits, 16).ok()
    });
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_first = users.split_whitespace().eq(["0", "0", "4294967295"]);
    is_first && effective.is_some_and(|bits| bits >> CAP_IPC_LOCK & 1 == 1)
}

/// Starts the program anew in this process, without a variable of its environment and with the key
/// that it held in a pipe: `more` gives the arguments that name the descriptor. The system keeps
/// the environment that a program was started with readable for as long as it runs.
///
/// Returns only where that fails.
pub fn start_without(
    variable: &str,
    key: &Key,
    more: impl FnOnce(i32) -> Vec<OsString>,
) -> io::Error {
    let prepared = pipe_of(key).and_then(|pipe| Ok((pipe, own_program()?)));
    let (pipe, program) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return error,
    };
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into());
    Command::new(program)
        .arg0(name)
        .args(arguments)
        .args(more(pipe.as_raw_fd()))
        .env_remove(variable)
        .exec()
}

/// A pipe to read the key from, which the next program of the process has, too.
fn pipe_of(key: &Key) -> io::Result<File> {
    let (reader, writer) = nix::unistd::pipe()?;
    // It is far smaller than what a pipe takes before somebody reads.
    File::from(writer).write_all(key.expose())?;
    Ok(File::from(reader))
}

fn own_program() -> io::Result<PathBuf> {
    // This one is found even when the file has another name by now, or was replaced.
    match cfg!(target_os = "linux") {
        true => Ok(PathBuf::from("/proc/self/exe")),
        false => env::current_exe(),
    }
}
