//! Interfaces to the shell's surroundings: lines, keys, a screen, and hidden passphrase input.

use crypto::secret::SecretBytes;
use keyring::Credential;
use std::error::Error;
use std::io::{self, BufRead, Write};

/// Asks for passphrases.
pub trait Console {
    /// Asks for one line without echoing it.
    ///
    /// # Errors
    ///
    /// If nobody can be asked.
    fn ask_secret(&mut self, prompt: &str) -> io::Result<SecretBytes>;
}

/// The key that was named for the databases of the session, for example by an option.
pub trait NamedKey {
    /// Reads it; `None` if none was named.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn read(&mut self) -> Result<Option<Credential>, Box<dyn Error + Send + Sync>>;
}

/// No key was named.
pub struct NoKey;

impl NamedKey for NoKey {
    fn read(&mut self) -> Result<Option<Credential>, Box<dyn Error + Send + Sync>> {
        Ok(None)
    }
}

/// The terminal that shows results to a person.
pub trait Screen {
    /// Its rows and columns; `None` if unknown.
    fn size(&self) -> Option<(usize, usize)>;

    /// Whether it supports colours and the person wants them.
    fn has_colours(&self) -> bool;

    /// Starts a pager; `None` if there is none.
    fn pager(&self) -> Option<Box<dyn Pager>>;
}

/// A program that shows text page by page. After the person quits it, writing fails with a broken
/// pipe.
pub trait Pager: Write {
    /// Signals the end of the text, and waits until the person quits.
    ///
    /// # Errors
    ///
    /// If the program cannot be waited for.
    fn finish(&mut self) -> io::Result<()>;
}

/// The result of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A line was read.
    Line,
    /// The user cancelled the line, and the statement it belongs to.
    Abandoned,
    /// There are no more lines.
    End,
}

/// Supplies the shell's input, line by line.
pub trait LineSource {
    /// Reads the next line into `line`, which is empty, without its newline. `continuing` is true
    /// within an incomplete statement.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    fn next_line(&mut self, continuing: bool, line: &mut String) -> io::Result<Next>;
}

/// Lines from a file or pipe.
pub struct Lines<R>(pub R);

impl<R: BufRead> LineSource for Lines<R> {
    fn next_line(&mut self, _continuing: bool, line: &mut String) -> io::Result<Next> {
        if self.0.read_line(line)? == 0 {
            return Ok(Next::End);
        }
        for line_end in ['\n', '\r'] {
            if line.ends_with(line_end) {
                line.pop();
            }
        }
        Ok(Next::Line)
    }
}

/// Lines from a string.
pub struct Text<'a>(pub std::str::Lines<'a>);

impl LineSource for Text<'_> {
    fn next_line(&mut self, _continuing: bool, line: &mut String) -> io::Result<Next> {
        match self.0.next() {
            Some(text) => {
                line.push_str(text);
                Ok(Next::Line)
            }
            None => Ok(Next::End),
        }
    }
}
