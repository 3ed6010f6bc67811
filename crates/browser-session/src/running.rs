//! A browser that runs: a process group of its own, which ends as a whole.

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

/// How long a browser may take to write what it still holds.
const ENDING: Duration = Duration::from_secs(10);

/// Between two looks at a browser that ends.
const PAUSE: Duration = Duration::from_millis(10);

/// A browser, ended with this value at the latest.
pub struct Running {
    child: Mutex<Child>,
    group: Pid,
    log: PathBuf,
}

impl Running {
    /// Starts the browser on a page. All it writes is in the folder, which another one may use
    /// when it has ended.
    ///
    /// # Errors
    /// When it cannot be started.
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

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        matches!(self.child().try_wait(), Ok(None))
    }

    /// What it wrote on its standard error last, in one line.
    pub fn last_words(&self) -> String {
        const LINES: usize = 3;
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        // Chromium always misses a message bus where there is none, and says so many times.
        let telling = |line: &&str| !line.trim().is_empty() && !line.contains("dbus");
        let lines: Vec<&str> = log.lines().filter(telling).collect();
        lines[lines.len().saturating_sub(LINES)..].join(" | ")
    }

    /// Asks it to end, so that it writes what it still holds, and ends what is left of its process
    /// group then.
    pub fn end(&self) {
        if self.is_alive() {
            // Not waited for yet, so the number is still its own.
            let _told_by_waiting = kill(self.group, Signal::SIGTERM);
            let began = Instant::now();
            while self.is_alive() && began.elapsed() < ENDING {
                sleep(PAUSE);
            }
        }
        self.kill();
    }

    /// Ends the whole process group at once, as a loss of power would.
    pub fn kill(&self) {
        // Nobody is left, or all of them go.
        let _none_left = killpg(self.group, Signal::SIGKILL);
        drop(self.child().wait());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
