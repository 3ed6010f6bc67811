//! Lines that are not shown while they are typed.

/// Asks for one line. Its end, and a wish to stop, are handled by `rpassword`.
#[cfg(not(unix))]
pub(super) fn ask(prompt: &str) -> std::io::Result<String> {
    rpassword::prompt_password(prompt)
}

#[cfg(unix)]
pub(super) use by_terminal::ask;

/// `rpassword` writes its prompt first and silences the terminal then, and shows what is typed in
/// between. So here the terminal is silenced first, and `rpassword` reads only.
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

    /// Control-C, as the terminal gives it while it makes no signal of it.
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
        // The line end was not shown either.
        (&terminal).write_all(b"\n")?;
        drop(silenced);
        match typed {
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Stopped>()) => {
                // Now that the terminal is as it was, whoever ends by this may end.
                raise(Signal::SIGINT)?;
                Err(io::Error::new(io::ErrorKind::Interrupted, error))
            }
            typed => typed,
        }
    }

    /// A terminal that shows nothing, and gives each key at once, until this is dropped.
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
            // A terminal that is gone needs no modes.
            let _ = tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before);
        }
    }

    #[derive(Debug, Error)]
    #[error("interrupted")]
    struct Stopped;

    /// What is typed.
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
