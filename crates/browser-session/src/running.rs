//! A running browser, with a process group that is ended as a whole.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::program::{Program, ProgramError};

/// How long a browser may take to write pending data.
const ENDING: Duration = Duration::from_secs(10);

/// Pause between two checks whether a browser has exited.
const PAUSE: Duration = Duration::from_millis(10);

/// A browser; dropping this value ends it.
pub struct Running {
    child: Mutex<Child>,
    group: Pid,
    log: PathBuf,
}

impl Running {
    /// Starts the browser on a page. All its files are in the folder, which can be reused by
    /// another one after this one has ended.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(program: &Program, folder: &Path, url: &str) -> Result<Self, ProgramError> {
        let mut command = program.command(folder, url)?;
        let log = folder.join("browser.log");
        let profile = |source| ProgramError::Profile {
            path: log.clone(),
            source,
        };
        let errors = File::create(&log).map_err(profile)?;
        let output = errors.try_clone().map_err(profile)?;
        let started = command
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn();
        let child = started.map_err(|source| ProgramError::Start {
            program: program.path().to_owned(),
            source,
        })?;
        let group = Pid::from_raw(child.id().cast_signed());
        let child = Mutex::new(child);
        Ok(Self { child, group, log })
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is still running.
    pub fn is_alive(&self) -> bool {
        matches!(self.child().try_wait(), Ok(None))
    }

    /// The last lines of its standard error, as one line.
    pub fn last_words(&self) -> String {
        const LINES: usize = 3;
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        // Without a message bus Chromium complains many times.
        let is_relevant = |line: &&str| !line.trim().is_empty() && !line.contains("dbus");
        let lines: Vec<&str> = log.lines().filter(is_relevant).collect();
        lines[lines.len().saturating_sub(LINES)..].join(" | ")
    }

    /// Asks it to exit, so that it writes pending data, and then kills what is left of its process
    /// group.
    pub fn end(&self) {
        if self.is_alive() {
            // Not reaped yet, so the number is still this process.
            let _reported_by_wait = kill(self.group, Signal::SIGTERM);
            let began = Instant::now();
            while self.is_alive() && began.elapsed() < ENDING {
                sleep(PAUSE);
            }
        }
        self.kill();
    }

    /// Kills the whole process group at once, like a power failure.
    pub fn kill(&self) {
        // Fails only if no process is left.
        let _none_left = killpg(self.group, Signal::SIGKILL);
        drop(self.child().wait());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
