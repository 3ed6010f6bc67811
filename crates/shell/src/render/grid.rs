//! Modes that need the width of every value before they write the first: column, box, table,
//! markdown.

use super::{Renderer, plain};
use crate::highlight;
use crate::style::{Reader, Style};
use rusqlite::types::ValueRef;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The characters of a kind of grid.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Line above everything: left end, crossing, right end.
    top: Option<[&'static str; 3]>,
    /// Line under the headers.
    middle: [&'static str; 3],
    bottom: Option<[&'static str; 3]>,
    /// The character of these lines.
    dash: &'static str,
    /// Left border, between columns, right border.
    row: [&'static str; 3],
    /// Padding on each side of a value, which the lines cover too.
    padding: usize,
    /// Markdown does not support line breaks, and a bar must be escaped.
    markdown: bool,
}

/// Columns with a line under the headers.
pub(super) const COLUMN: Frame = Frame {
    top: None,
    middle: ["", "  ", ""],
    bottom: None,
    dash: "-",
    row: ["", "  ", ""],
    padding: 0,
    markdown: false,
};

/// Drawn with box characters.
pub(super) const BOX: Frame = Frame {
    top: Some(["┌", "┬", "┐"]),
    middle: ["├", "┼", "┤"],
    bottom: Some(["└", "┴", "┘"]),
    dash: "─",
    row: ["│", "│", "│"],
    padding: 1,
    markdown: false,
};

/// Drawn with ASCII characters.
pub(super) const TABLE: Frame = Frame {
    top: Some(["+", "+", "+"]),
    middle: ["+", "+", "+"],
    bottom: Some(["+", "+", "+"]),
    dash: "-",
    row: ["|", "|", "|"],
    padding: 1,
    markdown: false,
};

/// A Markdown table.
pub(super) const MARKDOWN: Frame = Frame {
    top: None,
    middle: ["|", "|", "|"],
    bottom: None,
    dash: "-",
    row: ["|", "|", "|"],
    padding: 1,
    markdown: true,
};

/// Collects all rows, then draws them.
pub(super) struct Grid {
    style: Style,
    frame: Frame,
    columns: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

/// A formatted value, line by line.
struct Cell {
    text: String,
    is_null: bool,
}

/// Alignment of a value's lines in its column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alignment {
    /// In the middle.
    Header,
    /// According to `.width`.
    Value,
}

impl Grid {
    pub(super) fn new(style: &Style, frame: Frame) -> Self {
        Grid {
            style: style.clone(),
            frame,
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn cell(&self, column: usize, bytes: &[u8]) -> String {
        let text = visible(&String::from_utf8_lossy(bytes));
        if self.frame.markdown {
            return text.replace('|', "\\|").replace('\n', "<br>");
        }
        match self.width_wanted(column) {
            0 => text,
            width => wrapped(&text, width),
        }
    }

    /// The width that the user chose for a column, 0 for none.
    fn width_wanted(&self, column: usize) -> usize {
        let width = self.style.widths.get(column).copied().unwrap_or(0);
        width.unsigned_abs() as usize
    }

    fn widths(&self) -> Vec<usize> {
        let columns = 0..self.columns.len();
        let mut widths: Vec<usize> = columns.map(|column| self.width_wanted(column)).collect();
        let headers = self.style.shows_headers().then_some(&self.columns);
        for row in headers.into_iter().chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                let lines = cell.text.lines();
                *width = lines.map(UnicodeWidthStr::width).fold(*width, usize::max);
            }
        }
        widths
    }

    /// One line of a cell, with padding.
    fn drawn(
        &self,
        cell: &Cell,
        line: usize,
        column: usize,
        width: usize,
        at: Alignment,
    ) -> String {
        let text = cell.text.lines().nth(line).unwrap_or("");
        let free = width.saturating_sub(text.width());
        let to_the_right = self
            .style
            .widths
            .get(column)
            .is_some_and(|&width| width < 0);
        let left = match at {
            Alignment::Header if self.frame.padding > 0 => free / 2,
            _ if to_the_right => free,
            _ => 0,
        };
        let colours = self.style.reader == Reader::Person { colours: true };
        let text = match cell.is_null && colours && !text.is_empty() {
            true => highlight::dim(text),
            false => text.to_owned(),
        };
        let padding = " ".repeat(self.frame.padding);
        let (left, right) = (" ".repeat(left), " ".repeat(free - left));
        format!("{padding}{left}{text}{right}{padding}")
    }

    fn rule(&self, output: &mut dyn Write, widths: &[usize], ends: [&str; 3]) -> io::Result<()> {
        let dashes: Vec<String> = widths
            .iter()
            .map(|width| self.frame.dash.repeat(width + 2 * self.frame.padding))
            .collect();
        writeln!(output, "{}{}{}", ends[0], dashes.join(ends[1]), ends[2])
    }

    fn draw(
        &self,
        output: &mut dyn Write,
        widths: &[usize],
        row: &[Cell],
        at: Alignment,
    ) -> io::Result<()> {
        let height = row.iter().map(|cell| cell.text.lines().count()).max();
        for line in 0..height.unwrap_or(0).max(1) {
            let cells = row.iter().zip(widths).enumerate();
            let cells: Vec<String> = cells
                .map(|(column, (cell, &width))| self.drawn(cell, line, column, width, at))
                .collect();
            let [left, between, right] = self.frame.row;
            let drawn = format!("{left}{}{right}", cells.join(between));
            let drawn = if right.is_empty() {
                drawn.trim_end()
            } else {
                &drawn
            };
            writeln!(output, "{drawn}")?;
        }
        Ok(())
    }
}

impl Renderer for Grid {
    fn begin(&mut self, _output: &mut dyn Write, columns: &[String]) -> io::Result<()> {
        let cells = columns.iter().enumerate().map(|(column, name)| {
            let mut text = self.cell(column, name.as_bytes());
            if self.width_wanted(column) > 0 {
                // A name that is too long for its column is truncated.
                text.truncate(text.find('\n').unwrap_or(text.len()));
            }
            Cell {
                text,
                is_null: false,
            }
        });
        self.columns = cells.collect();
        Ok(())
    }

    fn row(&mut self, _output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        let row = values.iter().enumerate().map(|(column, value)| Cell {
            text: self.cell(column, &plain(*value, self.style.null_value())),
            is_null: *value == ValueRef::Null,
        });
        self.rows.push(row.collect());
        Ok(())
    }

    fn finish(&mut self, output: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths();
        if let Some(ends) = self.frame.top {
            self.rule(output, &widths, ends)?;
        }
        if self.style.shows_headers() {
            self.draw(output, &widths, &self.columns, Alignment::Header)?;
            self.rule(output, &widths, self.frame.middle)?;
        }
        for row in &self.rows {
            self.draw(output, &widths, row, Alignment::Value)?;
        }
        match self.frame.bottom {
            Some(ends) => self.rule(output, &widths, ends),
            None => Ok(()),
        }
    }
}

/// Wraps a text into lines of at most this width.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::with_capacity(text.len() + text.len() / width);
    let mut column = 0;
    for character in text.chars() {
        let size = character.width().unwrap_or(0);
        match character {
            '\n' => column = 0,
            _ if column + size > width && column > 0 => {
                lines.push('\n');
                column = size;
            }
            _ => column += size,
        }
        lines.push(character);
    }
    lines
}

/// Shows control characters in caret notation, so that no value controls the terminal.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push('\n'),
            '\t' => shown.push(' '),
            '\0'..='\x1f' => shown.extend(['^', char::from(character as u8 + 0x40)]),
            '\x7f' => shown.push_str("^?"),
            '\u{80}'..='\u{9f}' => shown.extend(character.escape_unicode()),
            other => shown.push(other),
        }
    }
    shown
}
