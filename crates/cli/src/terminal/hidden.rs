//! Input without echo.

/// Asks for one line. `rpassword` handles its end, and an interrupt.
#[cfg(not(unix))]
pub(super) fn ask(prompt: &str) -> std::io::Result<String> {
    rpassword::prompt_password(prompt)
}

#[cfg(unix)]
pub(super) use by_terminal::ask;

/// `rpassword` writes its prompt before it disables echo, and so shows what is typed in between.
/// Here echo is disabled first, and `rpassword` only reads.
#[cfg(unix)]
mod by_terminal {
    use nix::sys::signal::{Signal, raise};
    use nix::sys::termios::{
        LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
    };
    use rpassword::{ConfigBuilder, read_password_with_config};
    use std::fs::{File, OpenOptions};
    use std::io::{self, Read, Write};
    use thiserror::Error;

    /// Control-C, as read while the terminal does not turn it into a signal.
    const CONTROL_C: u8 = 3;

    pub(crate) fn ask(prompt: &str) -> io::Result<String> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        let silenced = Silenced::new(terminal.try_clone()?)?;
        (&terminal).write_all(prompt.as_bytes())?;
        let config = ConfigBuilder::new()
            .input_reader(Keys(terminal.try_clone()?))
            .output_discard()
            .build();
        let typed = read_password_with_config(config);
        // The newline was not echoed either.
        (&terminal).write_all(b"\n")?;
        drop(silenced);
        match typed {
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Stopped>()) => {
                // The terminal is restored, so the signal may now end the program.
                raise(Signal::SIGINT)?;
                Err(io::Error::new(io::ErrorKind::Interrupted, error))
            }
            typed => typed,
        }
    }

    /// A terminal without echo and line buffering, until this is dropped.
    struct Silenced {
        terminal: File,
        before: Termios,
    }

    impl Silenced {
        fn new(terminal: File) -> io::Result<Self> {
            let before = tcgetattr(&terminal)?;
            let mut modes = before.clone();
            modes.local_flags.remove(
                LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::ICANON | LocalFlags::ISIG,
            );
            modes.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
            modes.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
            tcsetattr(&terminal, SetArg::TCSANOW, &modes)?;
            Ok(Silenced { terminal, before })
        }
    }

    impl Drop for Silenced {
        fn drop(&mut self) {
            // Fails only if the terminal is gone.
            let _ = tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
        }
    }

    #[derive(Debug, Error)]
    #[error("interrupted")]
    struct Stopped;

    /// The typed characters.
    struct Keys(File);

    impl Read for Keys {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            loop {
                match self.0.read(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(size) if bytes[..size].contains(&CONTROL_C) => {
                        return Err(io::Error::other(Stopped));
                    }
                    other => return other,
                }
            }
        }
    }
}
