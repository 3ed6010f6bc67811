//! The shell of the lab.

use std::io;

use lab_engines::shell;

/// Name of the sub-command that makes a shell of this program.
pub const SHELL_COMMAND: &str = shell::COMMAND;

/// Runs the script on standard input, as `compare` asks by the environment.
pub fn run_shell() -> anyhow::Result<()> {
    let request = std::env::var(shell::REQUEST_VARIABLE).ok();
    let mut output = io::stdout().lock();
    shell::run(request.as_deref(), &mut io::stdin().lock(), &mut output)?;
    Ok(())
}
