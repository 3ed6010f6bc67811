//! Runs a program that may crash or hang, with its output in a file and a timeout.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::command::{program, succeeds};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    WithStatus(i32),
    BySignal(i32),
    /// Killed, with everything it had started.
    TimedOut,
}

impl Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::WithStatus(code),
            (None, signal) => Ended::BySignal(signal.unwrap_or(0)),
        }
    }
}

/// Interval for polling a running program.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `command` to its end, or kills it after `limit`.
pub fn run(command: &mut Command, output: &Path, limit: Duration) -> anyhow::Result<Ended> {
    let file = File::create(output).with_context(|| format!("cannot make {}", output.display()))?;
    let errors = file.try_clone()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::from(file))
        .stderr(Stdio::from(errors))
        // A separate process group, so that children of a program that hangs are killed too.
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::from(status));
        }
        if start.elapsed() > limit {
            let group = format!("-{}", child.id());
            succeeds(program("kill").args(["-KILL", "--", &group]));
            child.wait()?;
            return Ok(Ended::TimedOut);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str, limit: Duration) -> (Ended, String) {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        let ended = run(program("sh").args(["-c", script]), &output, limit).unwrap();
        (ended, std::fs::read_to_string(output).unwrap())
    }

    #[test]
    fn an_end_by_status_or_signal_is_told() {
        let limit = Duration::from_secs(60);
        let said = (Ended::WithStatus(3), "seen\n".to_owned());
        assert_eq!(ended("echo seen; exit 3", limit), said);
        assert_eq!(ended("kill -SEGV $$", limit).0, Ended::BySignal(11));
    }

    #[test]
    fn what_hangs_is_killed() {
        let limit = Duration::from_millis(1);
        assert_eq!(ended("sleep 600 & wait", limit).0, Ended::TimedOut);
    }
}
