//! What the shell asks of its surroundings: lines, and passphrases that nobody sees.

use crypto::secret::SecretBytes;
use std::io::{self, BufRead};

/// Asks for passphrases.
pub trait Console {
    /// Asks for one line that is not shown while it is typed.
    ///
    /// # Errors
    /// When nobody can be asked.
    fn ask_secret(&mut self, prompt: &str) -> io::Result<SecretBytes>;
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
