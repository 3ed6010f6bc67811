//! Starting other programs.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The cargo that runs this program, so that the selected toolchain is kept.
pub fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// A program without standard input.
pub fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

/// Runs a command whose output the user sees.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", name(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", name(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub fn read(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", name(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}", name(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote no text", name(command)))
}

/// Whether a command can be started and succeeds; its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn name(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named() {
        let error = run(program("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(error.to_string().starts_with("sh -c exit 3 ended with"));
    }

    #[test]
    fn output_is_read() {
        let text = read(program("sh").args(["-c", "echo seen"])).unwrap();
        assert_eq!(text, "seen\n");
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_succeed() {
        assert!(!succeeds(&mut program("no-such-program-here")));
    }
}
