//! SQL text as SQLite wants it: with a zero byte at its end.

/// The text of one statement or of many.
#[derive(Default)]
pub struct Script {
    /// Ends in a zero byte, unless it is empty.
    bytes: Vec<u8>,
}

impl Script {
    /// Takes the text over.
    pub fn new(text: String) -> Self {
        let mut bytes = text.into_bytes();
        bytes.push(0);
        Self { bytes }
    }

    /// Replaces the text; the memory is used again.
    pub(crate) fn set(&mut self, text: &str) {
        self.bytes.clear();
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// The text from that place on, with its zero byte.
    pub(crate) fn from(&self, offset: usize) -> &[u8] {
        match self.bytes.get(offset..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &[0],
        }
    }

    /// Whether nothing but white space stands from that place on.
    pub(crate) fn is_blank_from(&self, offset: usize) -> bool {
        let size = self.bytes.len().saturating_sub(1);
        let rest = self.bytes.get(offset..size).unwrap_or_default();
        rest.iter().all(u8::is_ascii_whitespace)
    }
}
