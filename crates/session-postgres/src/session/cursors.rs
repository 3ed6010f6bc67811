//! Cursors whose rows the session keeps.

use std::collections::HashMap;

use session_core::{StatementError, wiped};
use sql_plan::{Passed, Scroll};
use sqlstate::SqlState;
use wire_postgres::backend::{self, kind, write_value};
use wire_postgres::{HEADER_SIZE, Header};
use zeroize::Zeroizing;

use super::finisher_rows::write_description;
use super::found::unasked;
use super::rows::format_at;
use crate::finisher::FinisherRows;

/// The rows of a cursor, with each column as text and in binary.
#[derive(Debug)]
pub(super) struct CursorRows {
    rows: FinisherRows,
    /// Where each row begins.
    starts: Vec<usize>,
    /// The RowDescription of the columns as the client knows them.
    columns: Vec<u8>,
    /// How many these are.
    width: usize,
    is_scroll: bool,
    /// The number of the row that it stands on: 0 before the first.
    position: usize,
    /// An error has made it unusable.
    has_failed: bool,
}

impl CursorRows {
    /// The rows of an answer, whose first columns are texts, and whose others are the same in
    /// binary.
    ///
    /// # Errors
    /// They are not.
    pub fn new(rows: FinisherRows, is_scroll: bool) -> Result<Self, StatementError> {
        let fields = backend::read_row_description(&rows.row_description).map_err(|_| unasked())?;
        let width = fields.len() / 2;
        let mut columns = Vec::new();
        backend::write_row_description(&fields[..width], &mut columns);
        columns.drain(..HEADER_SIZE);
        let mut starts = Vec::new();
        let mut at = 0;
        while let Ok(Some(header)) = Header::read(&rows.messages[at..], usize::MAX) {
            starts.push(at);
            at += header.size;
        }
        if fields.len() != 2 * width || at != rows.messages.len() {
            return Err(unasked());
        }
        Ok(Self {
            rows,
            starts,
            columns,
            width,
            is_scroll,
            position: 0,
            has_failed: false,
        })
    }

    /// How many bytes it holds.
    pub fn size(&self) -> usize {
        self.rows.messages.len() + self.starts.len() * size_of::<usize>()
    }

    /// Writes the RowDescription.
    pub fn write_description(&self, formats: &[i16], out: &mut Vec<u8>) {
        write_description(&self.columns, formats, out);
    }

    /// Moves it. Returns how many rows it has passed, and these in the formats of the client unless
    /// they are only counted.
    ///
    /// # Errors
    /// 55000: it may not be read backwards, or has been before.
    pub fn scroll(
        &mut self,
        scroll: &Scroll,
        formats: &[i16],
    ) -> Result<FinisherRows, StatementError> {
        let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
        if self.has_failed {
            let message = format!("portal \"{}\" cannot be run", scroll.name);
            return Err(StatementError::statement(state, message));
        }
        let at = (self.starts.len(), self.position);
        let passed = scroll.direction.pass(at, scroll.is_move, self.is_scroll);
        self.has_failed = passed.is_none();
        let passed = passed.ok_or_else(|| {
            StatementError::statement(state, "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan.")
        })?;
        let mut taken = FinisherRows {
            row_description: self.columns.clone(),
            messages: Zeroizing::default(),
            count: passed.count as u64,
        };
        if !scroll.is_move {
            self.write_rows(passed, formats, &mut taken.messages)?;
        }
        self.position = passed.position;
        Ok(taken)
    }

    fn write_rows(
        &self,
        passed: Passed,
        formats: &[i16],
        out: &mut Zeroizing<Vec<u8>>,
    ) -> Result<(), StatementError> {
        for index in 0..passed.count {
            let number = match passed.is_backward {
                true => passed.first - index,
                false => passed.first + index,
            };
            let start = number.checked_sub(1).and_then(|at| self.starts.get(at));
            let message = start.and_then(|start| self.rows.messages.get(*start..));
            let message = message.ok_or_else(unasked)?;
            let header = Header::read(message, usize::MAX).ok().flatten();
            let body = header.and_then(|header| message.get(HEADER_SIZE..header.size));
            let row = backend::read_data_row(body.ok_or_else(unasked)?);
            let row: Vec<Option<&[u8]>> = row.map_err(|_| unasked())?.iter().collect();
            if row.len() != 2 * self.width {
                return Err(unasked());
            }
            let size: usize = row.iter().flatten().map(|value| value.len()).sum();
            wiped::reserve(out, size + 4 * row.len() + 16);
            backend::write(kind::DATA_ROW, out, |out| {
                out.extend_from_slice(&backend::count(self.width));
                for column in 0..self.width {
                    let value = match format_at(formats, column) {
                        0 => row[column],
                        _ => row[self.width + column],
                    };
                    let Ok(()) = write_value(out, |out| {
                        out.extend_from_slice(value.unwrap_or_default());
                        Ok::<bool, std::convert::Infallible>(value.is_some())
                    });
                }
            });
        }
        Ok(())
    }
}

/// The cursors of a session whose rows it keeps, by their names.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    rows: HashMap<String, CursorRows>,
}

impl Cursors {
    /// How many bytes they hold.
    pub fn size(&self) -> usize {
        self.rows.values().map(CursorRows::size).sum()
    }

    /// A cursor that the server has.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut CursorRows> {
        self.rows.get_mut(name)
    }

    /// Notes that the server has declared a cursor.
    pub fn insert(&mut self, name: &str, rows: CursorRows) {
        self.rows.insert(name.to_owned(), rows);
    }

    /// Takes the rows of a cursor.
    pub fn take(&mut self, name: &str) -> Option<CursorRows> {
        self.rows.remove(name)
    }

    /// Forgets the rows of all others.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.rows.retain(|name, _| is_kept(name));
    }
}

/// The error that a cursor of the server is not the one whose rows were kept.
pub(super) fn without_rows(name: &str) -> StatementError {
    let message = format!("the rows of cursor \"{name}\" are no longer there");
    StatementError::statement(SqlState::INVALID_CURSOR_STATE, message)
        .hint("Close the cursor, and declare it again.")
}
