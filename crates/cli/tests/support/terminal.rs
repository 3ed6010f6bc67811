//! The program on a pseudo-terminal.

use rexpect::session::{PtySession, spawn_command};
use std::process::Command;

use crate::support::{self, Place};

/// Timeout for output of the program, in milliseconds.
pub const PATIENCE_MS: u64 = 20_000;

/// The shell's prompt.
pub const PROMPT: &str = "strongroom> ";

/// Starts the program without colours, since most tests read its output.
pub fn start(place: &Place, arguments: &[&str]) -> PtySession {
    start_with(place, arguments, &[("NO_COLOR", "1")])
}

/// Starts the program at a terminal of 8 rows and 200 columns with echo, with only these
/// environment variables.
pub fn start_with(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> PtySession {
    start_in_script(
        place,
        "stty echo rows 8 cols 200; exec \"$0\" \"$@\"",
        arguments,
        variables,
    )
}

/// Starts a script in the system's shell, whose `$0` is the program.
pub fn start_in_script(
    place: &Place,
    script: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> PtySession {
    let program = support::program(place.folder());
    let mut command = Command::new("sh");
    command.current_dir(place.folder());
    support::take_environment(&mut command, &program);
    command.env_remove("PAGER").env_remove("NO_COLOR");
    // A plain terminal: the editor asks for no capabilities.
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command
        .args(["-c", script])
        .arg(program.get_program())
        .args(arguments);
    spawn_command(command, Some(PATIENCE_MS)).unwrap()
}

/// Types a line at the shell's prompt, as the editor expects it: ended by carriage return.
pub fn type_line(session: &mut PtySession, line: &str) {
    session.send(&format!("{line}\r")).unwrap();
    session.flush().unwrap();
}
