//! Runs programs that download and compile.

use std::process::{Command, Stdio};

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not installed.
    #[error("cannot start `{program}`; {remedy}")]
    Start {
        /// Its name.
        program: String,
        /// How to get it.
        remedy: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// It exited with a failure.
    #[error("`{program}` failed; {remedy}\n{said}")]
    Failed {
        /// Its name.
        program: String,
        /// What may help.
        remedy: &'static str,
        /// The end of its output.
        said: String,
    },
}

/// How many lines of a failing program's output are shown.
const LINES_MAX: usize = 12;

/// Runs a program to its end and returns its standard output.
pub(super) fn output(command: &mut Command, remedy: &'static str) -> Result<String, CommandError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let ended = command.stdin(Stdio::null()).output();
    let output = match ended {
        Ok(output) => output,
        Err(source) => {
            return Err(CommandError::Start {
                program,
                remedy,
                source,
            });
        }
    };
    if !output.status.success() {
        let stderr_end = last_lines(&String::from_utf8_lossy(&output.stderr));
        return Err(CommandError::Failed {
            program,
            remedy,
            said: stderr_end,
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}
