//! The keeper: a small process between the lab and a worker that makes sure nothing is left behind.
//!
//! 1. Whatever the worker starts (a server and its children) is a descendant of the keeper, even
//!    after its own parent has ended: the keeper is the subreaper of orphans.
//! 2. Only the lab holds the keeper's standard input open. When it closes, the lab is gone, for
//!    whatever reason: the keeper kills all its descendants and removes the folder of the pass.
//! 3. When the worker ends, the keeper kills what the worker left, reports how the worker ended,
//!    and then waits for 2.
//! 4. The worker dies when the keeper does. It leads a process group, whose number is reported to
//!    the lab, so that the lab can kill what is left if the keeper itself was killed.
//! 5. The keeper has a process group of its own (the lab arranges that), so an interrupt at the
//!    terminal reaches only the lab. It also has a name of its own, so that a kill by name spares
//!    it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use crate::processes::end_descendants;
use crate::worker::{Reply, Request, WorkerError};

/// Runs and guards the worker with this program and arguments until the lab is done with it.
///
/// # Errors
///
/// If there is no request, or the worker cannot be started.
pub fn keep(worker: &[OsString]) -> Result<(), WorkerError> {
    let (program, arguments) = worker.split_first().ok_or(WorkerError::NoProgram)?;
    adopt_orphans();
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line).map_err(WorkerError::Request)?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()?;
    report(&Reply::Started { group: child.id() });
    let lifeline = thread::spawn(move || outlive(&request.pass_folder));
    if let Some(input) = &mut child.stdin {
        // A worker that has already exited is reported below.
        drop(input.write_all(line.as_bytes()));
    }
    let status = child.wait();
    end_descendants();
    if let Ok(status) = status {
        report(&ended(status));
    }
    // The thread never returns.
    drop(lifeline.join());
    Ok(())
}

/// Makes this process die with its keeper. A worker must call it first.
pub fn end_with_keeper() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::{prctl, signal::Signal};
        // If the system refuses and the keeper is killed, the lab has to end the worker.
        let _refused = prctl::set_pdeathsig(Signal::SIGKILL);
    }
}

fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::prctl;
        // If the system refuses, orphans are not cleaned up.
        let _refused = prctl::set_child_subreaper(true);
        let _refused = prctl::set_name(c"lab-keeper");
    }
}

fn ended(status: ExitStatus) -> Reply {
    let status = (!status.success()).then(|| status.to_string());
    Reply::Ended { status }
}

/// Errors are ignored: if the lab is gone, the other thread notices too.
fn report(reply: &Reply) {
    // Starts with a line feed because the worker may have been cut off within a line.
    let line = serde_json::to_string(reply).map(|line| format!("\n{line}\n"));
    drop(line.map(|line| io::stdout().lock().write_all(line.as_bytes())));
}

/// Waits for the lab to end and cleans up.
fn outlive(pass_folder: &Path) -> ! {
    let mut nothing = [0u8; 64];
    while matches!(io::stdin().lock().read(&mut nothing), Ok(1..)) {}
    end_descendants();
    remove_whole(pass_folder);
    std::process::exit(0)
}

/// If this fails, the next run in the same folder tries again and reports it.
fn remove_whole(folder: &Path) {
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        if fs::remove_dir_all(folder).is_ok() || !PathBuf::from(folder).exists() {
            return;
        }
    }
}
