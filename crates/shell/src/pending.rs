//! The statement that is being read, line by line; it may hold a secret.

use crate::scanner::Scanner;
use zeroize::Zeroize;

/// A statement that is not complete yet.
pub(crate) struct Pending {
    pub text: String,
    pub scanner: Scanner,
    /// Number of the first line of `text`.
    pub first_line: u64,
}

impl Pending {
    pub(crate) fn new() -> Self {
        Pending {
            text: String::new(),
            scanner: Scanner::new(),
            first_line: 1,
        }
    }

    pub(crate) fn clear(&mut self, next_line: u64) {
        wipe(&mut self.text);
        self.scanner = Scanner::new();
        self.first_line = next_line;
    }

    pub(crate) fn line_of(&self, offset: usize) -> u64 {
        self.first_line
            + self.text[..offset]
                .bytes()
                .filter(|&byte| byte == b'\n')
                .count() as u64
    }
}

/// Buffers above this size are freed: wiping costs time proportional to the capacity, on each line.
const BUFFER_SIZE_KEPT: usize = 16 * 1024;

/// Empties a text that may have held a secret.
pub(crate) fn wipe(text: &mut String) {
    text.zeroize();
    if text.capacity() > BUFFER_SIZE_KEPT {
        *text = String::new();
    }
}
