//! The terminal on which the shell shows results: its size, its colours, a pager.

use shell::console::{Pager, Screen};
use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Whether the user wants colours on standard output: <https://no-color.org>.
pub fn has_colours() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// A terminal at standard output.
pub struct TerminalScreen {
    colours: bool,
}

impl TerminalScreen {
    /// The terminal, if standard output is one.
    pub fn of_output() -> Option<Box<dyn Screen>> {
        let colours = has_colours();
        let screen = || Box::new(TerminalScreen { colours }) as Box<dyn Screen>;
        io::stdout().is_terminal().then(screen)
    }
}

impl Screen for TerminalScreen {
    fn size(&self) -> Option<(usize, usize)> {
        let (width, height) = terminal_size::terminal_size()?;
        Some((usize::from(height.0), usize::from(width.0)))
    }

    fn has_colours(&self) -> bool {
        self.colours
    }

    fn pager(&self) -> Option<Box<dyn Pager>> {
        let mut command = pager_command(env::var("PAGER").ok().as_deref());
        // Searches in the content of an encrypted database must not be written to a history file.
        if env::var_os("LESSHISTFILE").is_none() {
            command.env("LESSHISTFILE", "-");
        }
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take().map(BufWriter::new);
        let shows_any = false;
        Some(Box::new(Running {
            child,
            input,
            shows_any,
        }))
    }
}

/// The pager and its arguments: the user's choice, else `less`, which passes colours (`-R`), exits
/// if everything fits (`-F`) and leaves the text on the screen (`-X`).
fn pager_command(chosen: Option<&str>) -> Command {
    let mut words = chosen.unwrap_or_default().split_whitespace();
    match words.next() {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        None => {
            let mut command = Command::new("less");
            command.arg("-RFX");
            command
        }
    }
}

/// A running pager.
struct Running {
    child: Child,
    input: Option<BufWriter<ChildStdin>>,
    shows_any: bool,
}

impl Write for Running {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let size = input.write(bytes)?;
        if !self.shows_any {
            self.shows_any = true;
            input.flush()?;
        }
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Pager for Running {
    fn finish(&mut self) -> io::Result<()> {
        let flushed = self.flush();
        // After the user has quit, no more text is needed, and buffered text must not be written.
        if let Some(input) = self.input.take() {
            drop(input.into_parts());
        }
        self.child.wait()?;
        match flushed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pager_command;

    #[test]
    fn the_pager_is_what_the_user_chose() {
        let words = |chosen| {
            let command = pager_command(chosen);
            let arguments = command
                .get_args()
                .map(|word| word.to_string_lossy().into_owned());
            let mut words = vec![command.get_program().to_string_lossy().into_owned()];
            words.extend(arguments);
            words.join(" ")
        };
        assert_eq!(words(None), "less -RFX");
        assert_eq!(words(Some(" ")), "less -RFX");
        assert_eq!(words(Some("more -d")), "more -d");
    }
}
