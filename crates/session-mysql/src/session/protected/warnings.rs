//! What was said of the last statement, where the server would tell of an older one: behind a
//! refusal, and behind an answer of the finisher.

use std::sync::Arc;

use session_core::StatementError;
use wire_mysql::row::write_text;
use zeroize::Zeroizing;

use super::asked::{self, Asked, Said};
use super::texts;
use super::warned::{Instead, Warned, WarnedOf};
use super::{Pending, Protected, Reach, Work};
use crate::refusal::Refusal;

/// What was said of the last statement.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The proxy refused it.
    pub(super) refused: Option<Refusal>,
    /// The statement, if the server has warnings of it and it had sealed values.
    pub(super) warned_of: Option<Arc<WarnedOf>>,
    /// Rows of `SHOW WARNINGS`, where the finisher has answered it.
    pub(super) rows: Vec<Zeroizing<Vec<u8>>>,
    /// The server counts other rows than it has found or changed.
    pub(super) has_other_counts: bool,
}

/// The least number of messages that a server may have left out (`max_error_count`).
const LEFT_OUT_FROM: usize = 64;

impl Told {
    /// What a text asks for, in the place of the server's answer. None: it asks for nothing, or the
    /// server knows it.
    ///
    /// # Errors
    /// The server would answer what is not right.
    pub(super) fn instead(&self, text: &[u8]) -> Result<Option<Instead>, StatementError> {
        let rows = match &self.refused {
            Some(refused) => vec![row_of(refused)],
            None if self.rows.is_empty() => return Ok(None),
            None => self.rows.clone(),
        };
        let is_error = |row: &Zeroizing<Vec<u8>>| row.starts_with(b"\x05Error");
        let is_of = |of: Said, row: &Zeroizing<Vec<u8>>| of == Said::Warnings || is_error(row);
        match asked::read(text) {
            Some(Asked::Rows {
                of,
                skipped,
                count_max,
            }) => {
                let rows = rows.into_iter().filter(|row| is_of(of, row));
                let rows = rows.skip(skipped).take(count_max);
                Ok(Some(Instead::Rows(rows.collect())))
            }
            Some(Asked::Counts(_)) if rows.len() >= LEFT_OUT_FROM => Err(unknown()),
            Some(Asked::Counts(all)) => {
                let count = |of: Said| rows.iter().filter(|row| is_of(of, row)).count();
                Ok(Some(Instead::Counts(all.into_iter().map(count).collect())))
            }
            None if asked::may_ask(text) => Err(unknown()),
            None => Ok(None),
        }
    }
}

impl Protected {
    /// Answers a text that asks for what was said of a statement which the server has not executed.
    /// False: it is another text.
    pub(super) fn told_instead(
        &mut self,
        text: &[u8],
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> bool {
        let instead = match self.told.instead(text) {
            Ok(None) => return false,
            Ok(Some(instead)) => instead,
            Err(error) => {
                self.refuse(&error, pending.sequence, reach);
                return true;
            }
        };
        let settings = self.settings.as_ref();
        let is_mariadb = settings
            .and_then(|own| own.own.as_ref().ok())
            .is_some_and(|(own, _)| own.is_mariadb);
        if !is_mariadb && asked::is_query(text) {
            // It is a statement of which nothing was said.
            self.told = Told::default();
        }
        self.warn(Warned::with(instead, pending.sequence), pending, reach);
        true
    }

    /// What the server has said, without sealed values.
    pub(super) fn warned(&self, pending: &Pending) -> Warned {
        Warned::new(self.told.warned_of.clone(), pending.sequence)
    }

    pub(super) fn warn(&mut self, warned: Warned, pending: &Pending, reach: &mut Reach<'_>) {
        self.send(|out| out.extend_from_slice(&pending.payload), reach);
        self.work = Work::Warned(Box::new(warned));
    }
}

fn unknown() -> StatementError {
    StatementError::unsupported(
        "a question of this form for the warnings of a statement that the server has not executed",
    )
    .hint("Ask by SHOW WARNINGS.")
}

/// The row of a refusal.
fn row_of(refused: &Refusal) -> Zeroizing<Vec<u8>> {
    let (code, _) = refused.reason.code();
    let message = format!("strongroom: {}", refused.message);
    let mut row = Zeroizing::new(Vec::new());
    write_text(Some(b"Error"), &mut row);
    write_text(Some(code.to_string().as_bytes()), &mut row);
    write_text(Some(message.as_bytes()), &mut row);
    row
}

/// Refuses the question how many rows the last statement has found or changed, if the server has
/// evaluated another one since.
pub(super) fn check_counts(has_other_counts: bool, text: &[u8]) -> Result<(), StatementError> {
    match has_other_counts && texts::asks_for_counts(text) {
        true => Err(StatementError::unsupported(
            "FOUND_ROWS() and ROW_COUNT() where the proxy has asked the server something since",
        )
        .hint("The answer to the statement has the count.")),
        false => Ok(()),
    }
}
