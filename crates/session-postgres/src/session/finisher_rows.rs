//! Rows of the finisher's answer that the client has not fetched yet.

use wire_postgres::Header;
use wire_postgres::backend::{self, kind};

use super::rows::write_plain_description;
use crate::finisher::FinisherRows;

/// An answer of the finisher.
#[derive(Debug)]
pub(super) struct AnsweredRows {
    rows: FinisherRows,
    /// How many bytes were given to the client.
    given: usize,
    /// The formats that the client asked for.
    formats: Box<[i16]>,
    /// What the client is told that was done.
    verb: &'static str,
}

impl AnsweredRows {
    pub(super) fn new(rows: FinisherRows, formats: Box<[i16]>) -> Self {
        Self {
            rows,
            given: 0,
            formats,
            verb: "SELECT",
        }
    }

    /// The same of rows that a statement which writes has returned.
    pub(super) fn returned_by(self, verb: &'static str) -> Self {
        Self { verb, ..self }
    }

    /// The same of rows of a cursor.
    pub(super) fn of_fetch(self) -> Self {
        Self {
            verb: "FETCH",
            ..self
        }
    }

    /// How many bytes it holds.
    pub(super) fn size(&self) -> usize {
        self.rows.messages.len()
    }

    /// How many bytes it will hold once so many rows are given: all or none.
    pub(super) fn size_left(&self, rows_max: Option<usize>) -> usize {
        match rows_max.is_some_and(|rows_max| rows_max as u64 <= self.rows.count) {
            true => self.size(),
            false => 0,
        }
    }

    /// Writes the RowDescription.
    pub(super) fn write_description(&self, out: &mut Vec<u8>) {
        write_description(&self.rows.row_description, &self.formats, out);
    }

    /// Writes the next rows, then PortalSuspended or CommandComplete.
    pub(super) fn give(&mut self, rows_max: Option<usize>, out: &mut Vec<u8>) {
        let left = &self.rows.messages[self.given..];
        let (size, count) = match rows_max {
            None => (left.len(), self.rows.count),
            Some(rows_max) => first_rows(left, rows_max),
        };
        out.extend_from_slice(&left[..size]);
        self.given += size;
        self.rows.count = self.rows.count.saturating_sub(count);
        if self.given == self.rows.messages.len() {
            self.rows.messages = Default::default();
            self.given = 0;
        }
        if rows_max.is_some_and(|rows_max| count == rows_max as u64) {
            // Like the server, it does not check whether there is another row.
            backend::write_empty(kind::PORTAL_SUSPENDED, out);
        } else {
            backend::write_command_complete(&format!("{} {count}", self.verb), out);
        }
    }
}

/// The size of the first messages, and how many these are.
fn first_rows(messages: &[u8], rows_max: usize) -> (usize, u64) {
    let mut size = 0;
    let mut count = 0;
    while count < rows_max as u64
        && let Ok(Some(header)) = Header::read(&messages[size..], usize::MAX)
        && size + header.size <= messages.len()
    {
        size += header.size;
        count += 1;
    }
    (size, count)
}

/// Writes a RowDescription, of which the body is given, with these formats; NoData if it is empty.
pub(super) fn write_description(columns: &[u8], formats: &[i16], out: &mut Vec<u8>) {
    if write_plain_description(columns, formats, out).is_err() {
        backend::write_empty(kind::NO_DATA, out);
    }
}
