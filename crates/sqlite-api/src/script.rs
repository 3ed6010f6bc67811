//! SQL text in the form SQLite expects: with a terminating zero byte.

/// The text of one or several statements.
#[derive(Default)]
pub struct Script {
    /// Ends in a zero byte, unless it is empty.
    bytes: Vec<u8>,
}

impl Script {
    /// Takes ownership of the text.
    pub fn new(text: String) -> Self {
        let mut bytes = text.into_bytes();
        bytes.push(0);
        Self { bytes }
    }

    /// Replaces the text, reusing the memory.
    pub(crate) fn set(&mut self, text: &str) {
        self.bytes.clear();
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// The text from that offset on, with its zero byte.
    pub(crate) fn from(&self, offset: usize) -> &[u8] {
        match self.bytes.get(offset..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &[0],
        }
    }

    /// Whether there is only white space from that offset on.
    pub(crate) fn is_blank_from(&self, offset: usize) -> bool {
        let size = self.bytes.len().saturating_sub(1);
        let rest = self.bytes.get(offset..size).unwrap_or_default();
        rest.iter().all(u8::is_ascii_whitespace)
    }
}
