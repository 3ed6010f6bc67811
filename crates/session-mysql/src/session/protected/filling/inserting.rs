//! `INSERT` and `REPLACE` of rows that the finisher has computed: all of them go to the server in
//! one statement, which decides what becomes of rows that are there.

use std::collections::VecDeque;

use session_core::StatementError;
use sql_plan::{
    FilledInsert, FilledTable, FinisherTables, Form, Hole, InsertForm, Purpose, Source,
};
use wire_mysql::answer::ErrorPacket;
use wire_mysql::capabilities::Status;
use wire_mysql::row::{TextRow, write_text};
use wire_mysql::{Capabilities, Malformed};
use zeroize::Zeroizing;

use super::super::duplicates;
use super::super::errors::{may_be_sealed, without_values};
use super::super::fetching::Fetching;
use super::super::fill::{self, Written};
use super::super::settings::Settings;
use super::answer::check_lengths;
use super::computed::Values;
use super::moment;
use super::question::{filled, put};
use super::writing::query;
use super::{Filling, Stage, Taken};
use crate::finisher::FinisherChanges;
use crate::refusal::Refusal;

/// Bytes of a statement that inserts rows. No server that has a finisher takes less.
const STATEMENT_SIZE_MAX: usize = (16 << 20) - 1024;
/// Rows of `SHOW WARNINGS` that are kept, and their bytes.
const WARNINGS_MAX: (usize, usize) = (1 << 16, 1 << 20);

/// Whether a row has no number, so that the server makes one.
fn leaves_number(values: &Values<'_>, at: usize) -> bool {
    let value = values.get(at).copied().flatten();
    value.is_none_or(|value| value.iter().all(|byte| b"-0.".contains(byte)))
}

/// What the server says of rows, with other numbers of those that were there, and of warnings.
fn counted(info: &[u8], duplicates: u64, warnings: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut index = 0;
    for part in info.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit()) {
        if !part[0].is_ascii_digit() {
            out.extend_from_slice(part);
            continue;
        }
        match index {
            1 => out.extend_from_slice(duplicates.to_string().as_bytes()),
            2 => out.extend_from_slice(warnings.to_string().as_bytes()),
            _ => out.extend_from_slice(part),
        }
        index += 1;
    }
    out
}

/// The 1 of `Records: 2  Duplicates: 1  Warnings: 0`.
fn duplicates_of(info: &[u8]) -> Option<u64> {
    let numbers = info.split(|byte| !byte.is_ascii_digit());
    let mut numbers = numbers.filter(|part| !part.is_empty());
    std::str::from_utf8(numbers.nth(1)?).ok()?.parse().ok()
}

/// How many rows were there.
fn count_of_duplicates(form: InsertForm, (records, affected): (u64, u64), info: &[u8]) -> u64 {
    match form {
        InsertForm::Ignore => records.saturating_sub(affected),
        InsertForm::Replace => affected.saturating_sub(records),
        // Of a single row the server says no more: one that is changed counts twice.
        InsertForm::Insert => duplicates_of(info).unwrap_or(u64::from(affected > records)),
    }
}

impl Filling {
    /// The text that inserts the rows which the finisher has computed. None: there are none.
    pub(super) fn text_of_rows(
        &self,
        changes: &FinisherChanges,
        (query, insert): (&FinisherTables, &FilledInsert),
        settings: &Settings,
    ) -> Result<VecDeque<String>, StatementError> {
        let other = || StatementError::defect("the finisher tells of other rows than it has");
        check_lengths(&changes.read)?;
        if insert.form == InsertForm::Ignore && changes.read.warning_count > 0 {
            return Err(StatementError::unsupported(
                "INSERT IGNORE of what does not fit its column, in a statement that the finisher \
                 evaluates",
            )
            .hint("Leave IGNORE out to see what does not fit."));
        }
        let rows = &changes.read.rows;
        if rows.len() as u64 != changes.affected_rows {
            return Err(other());
        }
        let writing = self.writing.as_ref().ok_or_else(other)?;
        let table = query.tables.get(insert.table).ok_or_else(other)?;
        if rows.is_empty() {
            return Ok(VecDeque::new());
        }
        let translated = &insert.write;
        let (pieces, holes) = (&translated.template.pieces, &translated.holes);
        let of_client = |hole: &Hole| filled(hole, &self.asked, settings, &self.plan.loaded);
        let part = |range: std::ops::Range<usize>| pieces.get(range).ok_or_else(other);
        let mut text = String::new();
        fill::write_pieces(part(0..insert.row.start)?, holes, of_client, &mut text)?;
        let inside = part(insert.row.clone())?;
        for (number, row) in rows.iter().enumerate() {
            let row = TextRow::read(row, changes.read.columns.len()).map_err(|_| other())?;
            let values: Values<'_> = row.iter().collect();
            if insert.numbered.is_some_and(|at| leaves_number(&values, at)) {
                return Err(StatementError::unsupported(
                    "ON DUPLICATE KEY UPDATE behind a query with rows that the server would number",
                )
                .hint("Give each row a number other than 0."));
            }
            if number > 0 {
                text.push_str("), (");
            }
            let value = |hole: &Hole| match hole.source {
                Source::Computed(number) => {
                    self.computed(hole.form, number, (table, insert), &values)
                }
                _ => of_client(hole),
            };
            fill::write_pieces(inside, holes, value, &mut text)?;
            if text.len() > STATEMENT_SIZE_MAX {
                return Err(StatementError::limit(
                    "the rows that the finisher computes for an INSERT take more than 16 MiB",
                )
                .hint("Insert fewer rows at a time."));
            }
        }
        fill::write_pieces(
            part(insert.row.end..pieces.len())?,
            holes,
            of_client,
            &mut text,
        )?;
        let text = moment::at(&writing.moment, self.kind.series, &text);
        Ok(VecDeque::from([text]))
    }

    /// What is written for a value that the finisher has computed.
    fn computed(
        &self,
        form: Form,
        number: usize,
        (table, insert): (&FilledTable, &FilledInsert),
        values: &Values<'_>,
    ) -> Result<Written, StatementError> {
        let other = || StatementError::defect("the finisher gives other values than it has");
        let value = values.get(number).copied().ok_or_else(other)?;
        match (form, value) {
            (Form::Sealed(_, Purpose::Store), None) => Ok(Written::Sealed(None)),
            (Form::Sealed(column, Purpose::Store), Some(value)) => {
                let sealed = fill::sealed(&self.plan.loaded, column, value)?;
                Ok(Written::Sealed(Some(sealed)))
            }
            (Form::Plain, None) => Ok(Written::Plain("NULL".to_owned())),
            (Form::Plain, Some(value)) => {
                let place = *insert.columns.get(number).ok_or_else(other)?;
                let column = table.columns.get(place).ok_or_else(other)?;
                let mut out = Zeroizing::default();
                put(&column.form, value, &mut out)?;
                let constant = String::from_utf8(out.to_vec()).map_err(|_| other())?;
                Ok(Written::Plain(constant))
            }
            _ => Err(StatementError::other_plan()),
        }
    }

    /// The server has inserted the rows: how many were affected, the first number that it gave,
    /// what it says, and how many warnings it has.
    pub(super) fn put(
        &mut self,
        (affected_rows, last_insert_id): (u64, u64),
        (info, warnings): (Vec<u8>, u16),
        (capabilities, status): (Capabilities, Status),
    ) -> Result<Taken, Refusal> {
        let insert = super::tables_of(&self.plan).and_then(|query| query.insert.as_ref());
        let insert = insert.ok_or(Malformed)?;
        let form = insert.form;
        // None was made, and of one that is given behind a query nothing is told.
        let last_insert_id = insert.numbered.map_or(last_insert_id, |_| 0);
        let writing = self.writing.as_mut().ok_or(Malformed)?;
        let told = &mut writing.told;
        let records = told.affected_rows;
        told.warning_count = told.warning_count.saturating_add(warnings);
        let duplicates = count_of_duplicates(form, (records, affected_rows), &info);
        told.info = counted(&told.info, duplicates, told.warning_count);
        (told.affected_rows, told.last_insert_id) = (affected_rows, last_insert_id);
        if warnings > 0 {
            // They are gone once the transaction ends.
            let (rows, size) = WARNINGS_MAX;
            self.stage = Stage::Warned(Box::new(Fetching::new(rows, size)));
            return Ok(Taken::Sends(query("SHOW WARNINGS")));
        }
        Ok(self.inserted((capabilities, status)))
    }

    /// Goes on, or ends a statement that needs no transaction.
    pub(super) fn inserted(&mut self, (capabilities, status): (Capabilities, Status)) -> Taken {
        match &self.writing {
            Some(writing) if writing.is_single && !writing.is_timed => {
                Taken::Answers(writing.answer(status, capabilities))
            }
            _ => self.next(),
        }
    }

    /// All warnings are there.
    pub(super) fn warned(&mut self, of: (Capabilities, Status)) -> Result<Taken, Refusal> {
        const WIDTH: usize = 3;
        let stage = std::mem::replace(&mut self.stage, Stage::Waiting);
        let Stage::Warned(fetching) = stage else {
            return Err(Malformed.into());
        };
        let mut rows = Vec::new();
        for payload in &fetching.rows {
            let row = TextRow::read(payload, WIDTH)?;
            let values: Values<'_> = row.iter().collect();
            let [level, Some(code), Some(message)] = values[..] else {
                return Err(Malformed.into());
            };
            let number = std::str::from_utf8(code)
                .ok()
                .and_then(|own| own.parse().ok());
            let error = ErrorPacket {
                code: number.unwrap_or_default(),
                state: None,
                message,
            };
            let shown = match may_be_sealed(message) {
                true => self.said(&error).unwrap_or_else(|| without_values(&error)),
                false => message.to_vec(),
            };
            let mut out = Zeroizing::new(Vec::new());
            for part in [level, Some(code), Some(&shown)] {
                write_text(part, &mut out);
            }
            rows.push(out);
        }
        let writing = self.writing.as_mut().ok_or(Malformed)?;
        writing.warnings.extend(rows);
        Ok(self.inserted(of))
    }

    /// The server's error that a row is there, with the values of the client. None: it is another
    /// one, or they are not known.
    pub(super) fn with_values(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let error = ErrorPacket::read(payload).ok()?;
        let message = self.said(&error)?;
        let shown = ErrorPacket {
            message: &message,
            ..error
        };
        let mut out = Vec::new();
        shown.write(&mut out);
        Some(out)
    }

    fn said(&self, error: &ErrorPacket<'_>) -> Option<Vec<u8>> {
        let insert = super::tables_of(&self.plan)?.insert.as_ref()?;
        let rows = self.writing.as_ref()?.inserts.as_ref()?.read()?;
        duplicates::said_of_rows(error, (&insert.write, &self.plan.loaded), &rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_there_are_counted_as_the_server_counts_them() {
        let info = b"Records: 3  Duplicates: 0  Warnings: 0";
        let said = counted(info, 2, 7);
        assert_eq!(said, b"Records: 3  Duplicates: 2  Warnings: 7");
        assert_eq!(counted(b"", 2, 7), b"");
        for (form, affected, said, wanted) in [
            (InsertForm::Ignore, 1, &b""[..], 2),
            (InsertForm::Replace, 5, b"", 2),
            (InsertForm::Insert, 3, b"", 0),
            (
                InsertForm::Insert,
                5,
                b"Records: 3  Duplicates: 2  Warnings: 0",
                2,
            ),
        ] {
            assert_eq!(
                count_of_duplicates(form, (3, affected), said),
                wanted,
                "{form:?}"
            );
        }
        assert_eq!(count_of_duplicates(InsertForm::Insert, (1, 2), b""), 1);
    }
}
