//! Delimited modes: list, csv, tabs, ascii.

use super::{Renderer, plain};
use crate::style::{Mode, Style};
use rusqlite::types::ValueRef;
use std::io::{self, Write};

/// Writes each row immediately.
pub(super) struct Delimited {
    style: Style,
}

impl Delimited {
    pub(super) fn new(style: &Style) -> Self {
        Delimited {
            style: style.clone(),
        }
    }

    fn field(&self, output: &mut dyn Write, index: usize, bytes: &[u8]) -> io::Result<()> {
        let separator = self.style.separator().as_bytes();
        if index > 0 {
            output.write_all(separator)?;
        }
        if self.style.mode == Mode::Csv && needs_quotes(bytes, separator) {
            output.write_all(b"\"")?;
            for (part, piece) in bytes.split(|&byte| byte == b'"').enumerate() {
                if part > 0 {
                    output.write_all(b"\"\"")?;
                }
                output.write_all(piece)?;
            }
            return output.write_all(b"\"");
        }
        output.write_all(bytes)
    }
}

fn needs_quotes(bytes: &[u8], separator: &[u8]) -> bool {
    bytes
        .iter()
        .any(|&byte| matches!(byte, b'"' | b'\'' | 0..=b' ' | 0x7f) || byte >= 0x80)
        || (!separator.is_empty() && bytes.windows(separator.len()).any(|part| part == separator))
}

impl Renderer for Delimited {
    fn begin(&mut self, output: &mut dyn Write, columns: &[String]) -> io::Result<()> {
        if !self.style.shows_headers() {
            return Ok(());
        }
        for (index, column) in columns.iter().enumerate() {
            self.field(output, index, column.as_bytes())?;
        }
        output.write_all(self.style.row_separator().as_bytes())
    }

    fn row(&mut self, output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        for (index, value) in values.iter().enumerate() {
            self.field(output, index, &plain(*value, self.style.null_value()))?;
        }
        output.write_all(self.style.row_separator().as_bytes())
    }

    fn finish(&mut self, _output: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
