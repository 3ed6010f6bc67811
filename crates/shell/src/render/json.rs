//! Mode json: an array of objects, one row per line.

use super::Renderer;
use crate::number;
use rusqlite::types::ValueRef;
use std::io::{self, Write};

/// Writes each row immediately.
#[derive(Default)]
pub(super) struct Json {
    keys: Vec<String>,
    rows: u64,
}

impl Renderer for Json {
    fn begin(&mut self, _output: &mut dyn Write, columns: &[String]) -> io::Result<()> {
        self.keys = columns.iter().map(|column| string(column)).collect();
        Ok(())
    }

    fn row(&mut self, output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        output.write_all(if self.rows == 0 { b"[{" } else { b",\n{" })?;
        self.rows += 1;
        for (index, (key, value)) in self.keys.iter().zip(values).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(output, "{comma}{key}:{}", json_value(*value))?;
        }
        output.write_all(b"}")
    }

    fn finish(&mut self, output: &mut dyn Write) -> io::Result<()> {
        output.write_all(b"]\n")
    }

    fn no_rows(&mut self, output: &mut dyn Write) -> io::Result<()> {
        output.write_all(b"[]\n")
    }
}

fn json_value(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(integer) => integer.to_string(),
        // JSON has no infinity; readers take a number that exceeds their range for one.
        ValueRef::Real(real) => number::literal(real),
        ValueRef::Text(bytes) => string(&String::from_utf8_lossy(bytes)),
        // Each byte as the character with the same code, like SQLite's own shell.
        ValueRef::Blob(bytes) => string(&bytes.iter().copied().map(char::from).collect::<String>()),
    }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
