//! What the shell asks of its surroundings: lines, keys, a screen, and passphrases that nobody
//! sees.

use crypto::secret::SecretBytes;
use keyring::Credential;
use std::error::Error;
use std::io::{self, BufRead, Write};

/// Asks for passphrases.
pub trait Console {
    /// Asks for one line that is not shown while it is typed.
    ///
    /// # Errors
    /// When nobody can be asked.
    fn ask_secret(&mut self, prompt: &str) -> io::Result<SecretBytes>;
}

/// The key that somebody named for the databases of the session, as by an option.
pub trait NamedKey {
    /// Reads it; `None` when nobody named one.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&mut self) -> Result<Option<Credential>, Box<dyn Error + Send + Sync>>;
}

/// Nobody named a key.
pub struct NoKey;

impl NamedKey for NoKey {
    fn read(&mut self) -> Result<Option<Credential>, Box<dyn Error + Send + Sync>> {
        Ok(None)
    }
}

/// The terminal that a person sees results on.
pub trait Screen {
    /// Its rows and columns; `None` where it does not tell.
    fn size(&self) -> Option<(usize, usize)>;

    /// Whether it shows colours, and the person wants any.
    fn has_colours(&self) -> bool;

    /// Starts a program that shows text page by page; `None` where there is none.
    fn pager(&self) -> Option<Box<dyn Pager>>;
}

/// A program that shows text page by page. When the person leaves it, writing fails by a broken
/// pipe.
pub trait Pager: Write {
    /// Says that no more text comes, and waits until the person has seen enough.
    ///
    /// # Errors
    /// When the program cannot be waited for.
    fn finish(&mut self) -> io::Result<()>;
}

/// What came instead of, or as, the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A line was read.
    Line,
    /// The user gave up the line (and the statement it belongs to).
    Abandoned,
    /// There are no more lines.
    End,
}

/// Gives the shell its input, line by line.
pub trait LineSource {
    /// Puts the next line, without its line end, into `line`, which is empty.
    /// `continuing` says that a statement is not complete yet.
    ///
    /// # Errors
    /// When the input cannot be read.
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

/// Lines that are at hand already.
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
