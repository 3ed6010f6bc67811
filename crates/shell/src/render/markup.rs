//! Modes html and line.

use super::{Renderer, plain};
use crate::style::Style;
use rusqlite::types::ValueRef;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Rows of an HTML table.
pub(super) struct Html {
    style: Style,
}

impl Html {
    pub(super) fn new(style: &Style) -> Self {
        Html {
            style: style.clone(),
        }
    }
}

fn html_row<'a>(
    output: &mut dyn Write,
    tag: &str,
    cells: impl Iterator<Item = std::borrow::Cow<'a, [u8]>>,
) -> io::Result<()> {
    output.write_all(b"<TR>")?;
    for cell in cells {
        let text = String::from_utf8_lossy(&cell)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;");
        writeln!(output, "<{tag}>{text}</{tag}>")?;
    }
    output.write_all(b"</TR>\n")
}

impl Renderer for Html {
    fn begin(&mut self, output: &mut dyn Write, columns: &[String]) -> io::Result<()> {
        if !self.style.shows_headers() {
            return Ok(());
        }
        html_row(
            output,
            "TH",
            columns.iter().map(|column| column.as_bytes().into()),
        )
    }

    fn row(&mut self, output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        let cells = values
            .iter()
            .map(|value| plain(*value, self.style.null_value()));
        html_row(output, "TD", cells)
    }

    fn finish(&mut self, _output: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// One value per line, with an empty line between rows.
pub(super) struct Line {
    style: Style,
    columns: Vec<String>,
    rows: u64,
}

impl Line {
    pub(super) fn new(style: &Style) -> Self {
        Line {
            style: style.clone(),
            columns: Vec::new(),
            rows: 0,
        }
    }
}

impl Renderer for Line {
    fn begin(&mut self, _output: &mut dyn Write, columns: &[String]) -> io::Result<()> {
        let width = columns
            .iter()
            .map(|column| column.width())
            .max()
            .unwrap_or(0)
            .max(4);
        let padded = |column: &String| {
            format!(
                "{}{column}",
                " ".repeat(width.saturating_sub(column.width()))
            )
        };
        self.columns = columns.iter().map(padded).collect();
        Ok(())
    }

    fn row(&mut self, output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        if self.rows > 0 {
            output.write_all(b"\n")?;
        }
        self.rows += 1;
        for (column, value) in self.columns.iter().zip(values) {
            write!(output, "{column} = ")?;
            output.write_all(&plain(*value, self.style.null_value()))?;
            output.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(&mut self, _output: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
