//! Modes that know the width of every value before they write the first: column, box, table,
//! markdown.

use super::{Renderer, plain};
use crate::style::Style;
use rusqlite::types::ValueRef;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// The characters of a kind of grid.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Line above everything: left end, crossing, right end.
    top: Option<[&'static str; 3]>,
    /// Line under the headers.
    middle: [&'static str; 3],
    bottom: Option<[&'static str; 3]>,
    /// What these lines are made of.
    dash: &'static str,
    /// Left border, between columns, right border.
    row: [&'static str; 3],
    /// Spaces on each side of a value that the lines run over too.
    padding: usize,
    /// Markdown knows no line breaks and gives meaning to a bar.
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
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
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

    fn cell(&self, bytes: &[u8]) -> String {
        let text = visible(&String::from_utf8_lossy(bytes));
        if self.frame.markdown {
            return text.replace('|', "\\|").replace('\n', "<br>");
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = vec![0; self.columns.len()];
        let headers = self.style.shows_headers().then_some(&self.columns);
        for row in headers.into_iter().chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell
                    .lines()
                    .map(UnicodeWidthStr::width)
                    .fold(*width, usize::max);
            }
        }
        widths
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
        row: &[String],
        centred: bool,
    ) -> io::Result<()> {
        let height = row
            .iter()
            .map(|cell| cell.lines().count())
            .max()
            .unwrap_or(0)
            .max(1);
        let padding = " ".repeat(self.frame.padding);
        for line in 0..height {
            let cells: Vec<String> = row
                .iter()
                .zip(widths)
                .map(|(cell, &width)| {
                    let text = cell.lines().nth(line).unwrap_or("");
                    let free = width.saturating_sub(text.width());
                    let left = if centred { free / 2 } else { 0 };
                    let (left, right) = (" ".repeat(left), " ".repeat(free - left));
                    format!("{padding}{left}{text}{right}{padding}")
                })
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
        self.columns = columns
            .iter()
            .map(|column| self.cell(column.as_bytes()))
            .collect();
        Ok(())
    }

    fn row(&mut self, _output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        let row = values
            .iter()
            .map(|value| self.cell(&plain(*value, &self.style.null_value)));
        self.rows.push(row.collect());
        Ok(())
    }

    fn finish(&mut self, output: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths();
        if let Some(ends) = self.frame.top {
            self.rule(output, &widths, ends)?;
        }
        if self.style.shows_headers() {
            self.draw(output, &widths, &self.columns, self.frame.padding > 0)?;
            self.rule(output, &widths, self.frame.middle)?;
        }
        for row in &self.rows {
            self.draw(output, &widths, row, false)?;
        }
        match self.frame.bottom {
            Some(ends) => self.rule(output, &widths, ends),
            None => Ok(()),
        }
    }
}

/// Control characters in caret notation, so that no value steers the terminal.
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
