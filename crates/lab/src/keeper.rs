//! A small process between the lab and a worker, which sees to it that nothing is left behind.
//!
//! 1. Whatever the worker starts (a server and its children) is below the keeper, also when its own
//!    parent has ended: the keeper asks the system for orphans.
//! 2. The keeper's standard input is held open by the lab alone. When it ends, the lab is gone, by
//!    whatever means: the keeper ends everything below it and removes the folder of the pass.
//! 3. When the worker ends, the keeper ends what the worker left, tells how the worker ended, and
//!    then waits for 2.
//! 4. The worker ends when the keeper does. It is the leader of a process group, whose number is
//!    told to the lab, so that the lab can end what is left if the keeper was killed.
//! 5. The keeper has a group of its own (the lab sees to that): an interrupt at the terminal
//!    reaches the lab alone; and a name of its own, so that whoever kills by name leaves it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use crate::processes::end_descendants;
use crate::worker::{Reply, Request, WorkerError};

/// Keeps a worker, whose program and arguments are given, until the lab has done with it.
///
/// # Errors
/// When there is no request, or no worker can be started.
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
    tell(&Reply::Started { group: child.id() });
    let lifeline = thread::spawn(move || outlive(&request.pass_folder));
    if let Some(input) = &mut child.stdin {
        // A worker that has ended already is reported below.
        drop(input.write_all(line.as_bytes()));
    }
    let status = child.wait();
    end_descendants();
    if let Ok(status) = status {
        tell(&ended(status));
    }
    // It never returns.
    drop(lifeline.join());
    Ok(())
}

/// To be called by a worker first of all: it ends as soon as its keeper does.
pub fn end_with_keeper() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::{prctl, signal::Signal};
        // Where the system refuses, a killed keeper leaves the worker to the lab.
        let _refused = prctl::set_pdeathsig(Signal::SIGKILL);
    }
}

fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::prctl;
        // Where the system refuses, orphans are left to themselves.
        let _refused = prctl::set_child_subreaper(true);
        let _refused = prctl::set_name(c"lab-keeper");
    }
}

fn ended(status: ExitStatus) -> Reply {
    let status = (!status.success()).then(|| status.to_string());
    Reply::Ended { status }
}

/// A lab that is gone reads nothing, which the other thread sees too.
fn tell(reply: &Reply) {
    // The worker may have been cut off within a line.
    let line = serde_json::to_string(reply).map(|line| format!("\n{line}\n"));
    drop(line.map(|line| io::stdout().lock().write_all(line.as_bytes())));
}

/// Waits for the lab's end and cleans up.
fn outlive(pass_folder: &Path) -> ! {
    let mut nothing = [0u8; 64];
    while matches!(io::stdin().lock().read(&mut nothing), Ok(1..)) {}
    end_descendants();
    remove_whole(pass_folder);
    std::process::exit(0)
}

/// Where this fails, the next run in the same place tries again and says so.
fn remove_whole(folder: &Path) {
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        if fs::remove_dir_all(folder).is_ok() || !PathBuf::from(folder).exists() {
            return;
        }
    }
}
