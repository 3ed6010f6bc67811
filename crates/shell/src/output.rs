//! Where results go: the main output, or a file for a while.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The main output with a possible detour.
pub struct Output {
    main: Box<dyn Write>,
    detour: Option<Detour>,
}

struct Detour {
    file: BufWriter<File>,
    name: String,
    once: bool,
}

impl Output {
    /// Results go to `main`.
    pub fn new(main: Box<dyn Write>) -> Self {
        Output { main, detour: None }
    }

    /// Sends what follows to a file, for one statement or until told otherwise.
    ///
    /// # Errors
    /// When the file cannot be made, or the one before not be finished.
    pub fn detour(&mut self, path: &Path, once: bool) -> io::Result<()> {
        self.back()?;
        let file = BufWriter::new(File::create(path)?);
        self.detour = Some(Detour {
            file,
            name: path.display().to_string(),
            once,
        });
        Ok(())
    }

    /// Sends what follows to the main output again.
    ///
    /// # Errors
    /// When the file cannot be written to its end.
    pub fn back(&mut self) -> io::Result<()> {
        match self.detour.take() {
            Some(mut detour) => detour.file.flush(),
            None => Ok(()),
        }
    }

    /// Ends a detour that was meant for one statement.
    ///
    /// # Errors
    /// When the file cannot be written to its end.
    pub fn statement_done(&mut self) -> io::Result<()> {
        match &self.detour {
            Some(detour) if detour.once => self.back(),
            _ => Ok(()),
        }
    }

    /// The name of the file that output goes to, if any.
    pub fn detour_name(&self) -> Option<&str> {
        self.detour.as_ref().map(|detour| detour.name.as_str())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.detour {
            Some(detour) => detour.file.write(bytes),
            None => self.main.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.detour {
            Some(detour) => detour.file.flush(),
            None => self.main.flush(),
        }
    }
}
