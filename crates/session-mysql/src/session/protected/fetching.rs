//! Rows that the proxy computes with: the client does not see them.

use session_core::StatementError;
use wire_mysql::answer;
use wire_mysql::capabilities::Status;
use wire_mysql::packet::Header;
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use crate::refusal::Refusal;

/// The answer to a query of the proxy's own text.
#[derive(Debug)]
pub(super) struct Fetching {
    step: Step,
    /// Of all rows.
    size_left: usize,
    rows_left: usize,
    /// Definitions of columns.
    pub(super) columns: Vec<Vec<u8>>,
    /// Rows as they came.
    pub(super) rows: Vec<Vec<u8>>,
    /// There are more than may be kept.
    pub(super) is_too_much: bool,
}

/// What has become of an answer.
#[derive(Debug)]
pub(super) enum Fetched {
    /// More follows.
    More,
    /// The server's error.
    Failed(Vec<u8>),
    /// All rows are there.
    Done,
}

impl Fetching {
    /// One that has been sent, and whose rows may be so many and have so many bytes.
    pub(super) fn new(rows_max: usize, size_max: usize) -> Self {
        Self {
            step: Step::Result,
            size_left: size_max,
            rows_left: rows_max,
            columns: Vec::new(),
            rows: Vec::new(),
            is_too_much: false,
        }
    }

    /// Takes a payload of the server.
    ///
    /// # Errors
    /// The server says what is no answer.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        capabilities: Capabilities,
        status: &mut Status,
    ) -> Result<Fetched, Refusal> {
        let first = payload.first().copied();
        let need = need(self.step, header, first, capabilities).ok_or(Malformed)?;
        if need == Need::Whole {
            if first == Some(answer::ERR) {
                return Ok(Fetched::Failed(payload.to_vec()));
            }
            return match self.step.read(payload, capabilities, status)? {
                Some(next) => {
                    self.step = next;
                    Ok(Fetched::More)
                }
                None if self.columns.is_empty() => {
                    Err(super::errors::refusal(&StatementError::other_columns()))
                }
                None => Ok(Fetched::Done),
            };
        }
        match self.step {
            Step::Columns(_) => self.columns.push(payload.to_vec()),
            Step::Rows => self.row(payload),
            _ => return Err(Malformed.into()),
        }
        self.step = self.step.passed(capabilities).ok_or(Malformed)?;
        Ok(Fetched::More)
    }

    fn row(&mut self, payload: &[u8]) {
        let left = (
            self.rows_left.checked_sub(1),
            self.size_left.checked_sub(payload.len()),
        );
        match left {
            (Some(rows_left), Some(size_left)) if !self.is_too_much => {
                (self.rows_left, self.size_left) = (rows_left, size_left);
                self.rows.push(payload.to_vec());
            }
            // The rest must still be read.
            _ => {
                self.is_too_much = true;
                self.rows = Vec::new();
            }
        }
    }
}
