//! Writes whose rows and values the finisher has computed: each row that it has changed is written
//! by its primary key, in the client's transaction or in one of the statement's own.
//!
//! 1. Rows are locked when they are fetched, and the locks hold until all are written: nobody
//!    changes what was computed from.
//! 2. All rows are written, or none: behind an error everything is undone before the client is told
//!    of it.

use std::collections::{HashSet, VecDeque};

use session_core::{Loaded, StatementError};
use sql_plan::{ColumnId, FilledForm, FilledWrite, FinisherTables, Form, Purpose, Source};
use wire_mysql::answer::{self, OkPacket};
use wire_mysql::capabilities::Status;
use wire_mysql::command::{kind, write_text};
use wire_mysql::row::TextRow;
use wire_mysql::{Capabilities, Malformed};
use zeroize::Zeroizing;

use super::super::errors::{refusal, without_sealed};
use super::super::fill::{self, Written};
use super::super::settings::Settings;
use super::answer::check_lengths;
use super::computed::Computed;
use super::moment;
use super::question::{self, put};
use super::{Asked, Filling, Stage, Taken};
use crate::finisher::{FinisherAnswer, FinisherChanges, FinisherRows};
use crate::refusal::Refusal;

/// What the client is told once all is written.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) affected_rows: u64,
    /// The first number that the server has given to a row.
    pub(super) last_insert_id: u64,
    pub(super) info: Vec<u8>,
    pub(super) warning_count: u16,
}

/// A write under way.
#[derive(Debug)]
pub(super) struct Writing {
    /// The statement is a transaction of its own.
    is_own: bool,
    /// That transaction, or a savepoint, has begun.
    is_open: bool,
    /// One statement of the server's is all, and it needs no transaction around it.
    pub(super) is_single: bool,
    /// Rows that are inserted, if it inserts some.
    pub(super) inserts: Option<Computed>,
    /// The rows of the table as the server gave them, and how many columns these have.
    pub(super) rows: (Vec<Vec<u8>>, usize),
    /// The time at which these were fetched, which is that of all that is written.
    pub(super) moment: String,
    /// The session has it as a setting.
    pub(super) is_timed: bool,
    /// Texts that write rows.
    pub(super) due: VecDeque<String>,
    /// Whether a row that is gone is none of the proxy's business: others were deleted with it.
    deletes: bool,
    pub(super) told: Told,
    /// What the statement returns, if it returns rows.
    pub(super) returned: Option<FinisherRows>,
    /// Rows of `SHOW WARNINGS`.
    pub(super) warnings: Vec<Zeroizing<Vec<u8>>>,
}

/// What the client gets once everything is undone.
#[derive(Debug)]
pub(super) enum Undone {
    /// An error of a server.
    Payload(Vec<u8>),
    /// One of the proxy's.
    Refusal(Refusal),
}

impl Undone {
    fn taken(self) -> Taken {
        match self {
            Self::Payload(payload) => Taken::Answers(payload),
            Self::Refusal(refusal) => Taken::Fails(refusal),
        }
    }
}

pub(super) fn query(text: &str) -> Vec<u8> {
    let mut command = Vec::new();
    write_text(kind::QUERY, text.as_bytes(), &mut command);
    command
}

/// The session cannot go on.
fn stands_still() -> Refusal {
    let message = "the time of the session was set for a write, and cannot be set back";
    refusal(&StatementError::defect(message))
}

/// Whether a statement is a transaction of its own.
fn is_alone(status: Status) -> bool {
    status.has(Status::AUTOCOMMIT) && !status.has(Status::IN_TRANSACTION)
}

impl Writing {
    /// What a statement writes. None: it writes nothing.
    pub(super) fn of(query: &FinisherTables, status: Status) -> Option<Self> {
        let inserts = query.insert.as_ref().map(|_| Computed::default());
        let write = query.write.as_ref();
        let mut fetches = query.tables.iter().filter_map(|table| table.fetch.as_ref());
        let is_single = inserts.is_some() && fetches.next().is_none();
        (write.is_some() || inserts.is_some()).then(|| Self {
            is_own: is_alone(status),
            is_open: !is_single,
            is_single,
            inserts,
            rows: (Vec::new(), 0),
            moment: String::new(),
            is_timed: false,
            due: VecDeque::new(),
            deletes: write.is_some_and(|own| own.deletes),
            told: Told::default(),
            returned: None,
            warnings: Vec::new(),
        })
    }

    /// What begins it.
    pub(super) fn begin(&self) -> &'static str {
        match self.is_own {
            true => "START TRANSACTION",
            false => "SAVEPOINT strongroom_statement",
        }
    }

    fn end(&self) -> &'static str {
        match (self.is_single, self.is_own) {
            // It has nothing to end.
            (true, _) => "DO 0",
            (false, true) => "COMMIT AND NO CHAIN NO RELEASE",
            (false, false) => "RELEASE SAVEPOINT strongroom_statement",
        }
    }

    /// What undoes it, one statement behind the other. None: nothing is left to undo.
    fn undo(&self) -> Option<&'static str> {
        match (self.is_timed, self.is_open, self.is_own) {
            (true, ..) => Some(moment::GOES_ON),
            (false, true, true) => Some("ROLLBACK AND NO CHAIN NO RELEASE"),
            (false, true, false) => Some("ROLLBACK TO SAVEPOINT strongroom_statement"),
            (false, false, _) => None,
        }
    }

    /// Notes that the server has answered to it.
    ///
    /// # Errors
    /// The session cannot go on: its time would stand still.
    fn undone(&mut self, is_error: bool) -> Result<(), Refusal> {
        if !self.is_timed {
            // Behind a deadlock there is nothing left to undo.
            self.is_open = false;
            return Ok(());
        }
        self.is_timed = false;
        match is_error {
            true => Err(stands_still()),
            false => Ok(()),
        }
    }

    /// The client's answer.
    pub(super) fn answer(&self, status: Status, capabilities: Capabilities) -> Vec<u8> {
        let counts_found = self.inserts.is_none() && capabilities.has(Capabilities::FOUND_ROWS);
        let found = matched(&self.told.info).filter(|_| counts_found);
        let status = Status(status.0 & !Status::SESSION_STATE_CHANGED);
        let mut ok = OkPacket::new(found.unwrap_or(self.told.affected_rows), status);
        ok.last_insert_id = self.told.last_insert_id;
        ok.info = &self.told.info;
        ok.warnings = self.told.warning_count;
        let mut payload = Vec::new();
        ok.write(answer::OK, capabilities, &mut payload);
        payload
    }
}

/// The 3 of `Rows matched: 3  Changed: 2  Warnings: 0`.
fn matched(info: &[u8]) -> Option<u64> {
    let info = std::str::from_utf8(info).ok()?;
    let (_, rest) = info.split_once(": ")?;
    rest.split(' ').next()?.parse().ok()
}

impl Filling {
    /// Whether the finisher's answer is written to the server.
    pub(in crate::session::protected) fn writes(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether it begins a transaction of its own.
    pub(in crate::session::protected) fn begins_transaction(&self) -> bool {
        let own = self.writing.as_ref();
        own.is_some_and(|own| own.is_own && !own.is_single)
    }

    /// Warnings of a write that is done.
    pub(in crate::session::protected) fn take_warnings(&mut self) -> Vec<Zeroizing<Vec<u8>>> {
        let writing = self.writing.as_mut();
        writing.map_or_else(Vec::new, |own| std::mem::take(&mut own.warnings))
    }

    /// Ends a statement that fails: what it has done is undone first.
    pub(super) fn fail(&mut self, undone: Undone) -> Taken {
        match self.writing.as_ref().and_then(Writing::undo) {
            None => undone.taken(),
            Some(text) => {
                self.stage = Stage::Undoing(undone);
                Taken::Sends(query(text))
            }
        }
    }

    /// Takes the answer to a statement of a write that has no rows.
    pub(super) fn word(
        &mut self,
        payload: &[u8],
        (capabilities, status): (Capabilities, &mut Status),
    ) -> Result<Taken, Refusal> {
        let is_error = payload.first() == Some(&answer::ERR);
        if let Stage::Undoing(_) = self.stage {
            if !is_error {
                *status = OkPacket::read(payload, capabilities)?.status;
            }
            self.writing.as_mut().ok_or(Malformed)?.undone(is_error)?;
            let stage = std::mem::replace(&mut self.stage, Stage::Waiting);
            let Stage::Undoing(undone) = stage else {
                return Err(Malformed.into());
            };
            return Ok(self.fail(undone));
        }
        if is_error {
            let error = match self.with_values(payload) {
                Some(error) => error,
                None => without_sealed(payload)?,
            };
            return Ok(match self.stage {
                Stage::Writing | Stage::Setting => self.fail(Undone::Payload(error)),
                Stage::GoingOn => return Err(stands_still()),
                _ => Taken::Answers(error),
            });
        }
        let ok = OkPacket::read(payload, capabilities)?;
        *status = ok.status;
        let writing = self.writing.as_mut().ok_or(Malformed)?;
        match std::mem::replace(&mut self.stage, Stage::Waiting) {
            // A deadlock has ended the client's transaction, which no error tells: a savepoint
            // would hold no lock.
            Stage::Beginning(text, fetching) if !writing.is_own && is_alone(*status) => {
                writing.is_own = true;
                self.stage = Stage::Beginning(text, fetching);
                Ok(Taken::Sends(query(writing.begin())))
            }
            Stage::Beginning(text, fetching) => {
                self.stage = Stage::Fetching(fetching);
                Ok(Taken::Sends(query(&text)))
            }
            Stage::Writing if writing.inserts.is_some() => {
                let (affected, number) = (ok.affected_rows, ok.last_insert_id);
                let said = (ok.info.to_vec(), ok.warnings);
                self.put((affected, number), said, (capabilities, *status))
            }
            Stage::Writing => {
                let is_found = ok.affected_rows > 0 || matched(ok.info).is_some_and(|own| own > 0);
                match is_found || writing.deletes {
                    true => Ok(self.next()),
                    false => Ok(self.fail(Undone::Refusal(refusal(&StatementError::defect(
                        "a row that was locked is not there",
                    ))))),
                }
            }
            Stage::Setting => {
                writing.is_timed = true;
                Ok(self.next())
            }
            Stage::GoingOn => self.went_on((capabilities, *status)),
            Stage::Ending => Ok(match writing.returned.take() {
                Some(rows) => Taken::Returns(Box::new(rows)),
                None => Taken::Answers(writing.answer(*status, capabilities)),
            }),
            _ => Err(Malformed.into()),
        }
    }

    /// Writes the next row, or ends.
    pub(super) fn next(&mut self) -> Taken {
        let Some(writing) = &mut self.writing else {
            return Taken::Fails(refusal(&StatementError::other_plan()));
        };
        match writing.due.pop_front() {
            Some(text) => {
                self.stage = Stage::Writing;
                Taken::Sends(query(&text))
            }
            None if writing.is_timed => {
                self.stage = Stage::GoingOn;
                Taken::Sends(query(moment::GOES_ON))
            }
            None => {
                self.stage = Stage::Ending;
                Taken::Sends(query(writing.end()))
            }
        }
    }

    /// Takes the finisher's answer.
    pub(in crate::session::protected) fn changed(
        &mut self,
        answer: FinisherAnswer,
        settings: &Settings,
    ) -> Result<Taken, Refusal> {
        let changes = match answer {
            FinisherAnswer::Changed(changes) => changes,
            FinisherAnswer::Refused(error) => {
                return Ok(match self.refused(&error)? {
                    Ok(payload) => self.fail(Undone::Payload(payload)),
                    Err(refusal) => self.fail(Undone::Refusal(refusal)),
                });
            }
            FinisherAnswer::Failed(error) => return Ok(self.fail(Undone::Refusal(refusal(&error)))),
            FinisherAnswer::Described(_) | FinisherAnswer::Rows(_) => {
                let error = StatementError::defect("the finisher answers what it was not asked");
                return Ok(self.fail(Undone::Refusal(refusal(&error))));
            }
        };
        let (query, inserts) = match super::tables_of(&self.plan) {
            Some(query) => (query, query.insert.as_ref()),
            None => return Err(Malformed.into()),
        };
        let due = match inserts {
            None => self.texts(&changes, settings),
            Some(insert) => self.text_of_rows(&changes, (query, insert), settings),
        };
        match due {
            Err(error) => Ok(self.fail(Undone::Refusal(refusal(&error)))),
            Ok(due) => {
                let writing = self.writing.as_mut().ok_or(Malformed)?;
                writing.due = due;
                writing.told = Told {
                    affected_rows: changes.affected_rows,
                    last_insert_id: 0,
                    info: changes.info,
                    warning_count: changes.read.warning_count,
                };
                writing.warnings = changes.read.warnings;
                writing.returned = changes.returned;
                if let Some(computed) = &mut writing.inserts {
                    let width = changes.read.columns.len();
                    *computed = Computed {
                        rows: changes.read.rows,
                        width,
                    };
                }
                writing.rows = (Vec::new(), 0);
                self.write()
            }
        }
    }

    /// The texts that write what the finisher has changed.
    fn texts(
        &self,
        changes: &FinisherChanges,
        settings: &Settings,
    ) -> Result<VecDeque<String>, StatementError> {
        let (query, write) = written(&self.plan)?;
        let writing = self.writing.as_ref();
        let writing = writing.ok_or_else(StatementError::other_plan)?;
        let other = || StatementError::defect("the finisher tells of other rows than it has");
        check_lengths(&changes.read)?;
        let width = changes.read.columns.len();
        let mut read = Vec::new();
        for payload in &changes.read.rows {
            let row = TextRow::read(payload, width).map_err(|_| other())?;
            let mut values = row.iter();
            let number = values.next().flatten();
            let number = number.and_then(|own| std::str::from_utf8(own).ok()?.parse().ok());
            let number: usize = number.ok_or_else(other)?;
            read.push((number, values.collect::<Vec<_>>()));
        }
        let made = Made {
            query,
            write,
            loaded: &self.plan.loaded,
            asked: &self.asked,
            settings,
            moment: &writing.moment,
            series: self.kind.series,
        };
        let mut texts = VecDeque::new();
        if write.deletes {
            let left: HashSet<usize> = read.into_iter().map(|(number, _)| number).collect();
            for (number, row) in (1..).zip(&writing.rows.0) {
                if !left.contains(&number) {
                    texts.push_back(made.text((row, writing.rows.1), &[])?);
                }
            }
        } else {
            for (number, values) in &read {
                let row = number
                    .checked_sub(1)
                    .and_then(|own| writing.rows.0.get(own));
                texts.push_back(made.text((row.ok_or_else(other)?, writing.rows.1), values)?);
            }
        }
        if texts.len() as u64 != changes.affected_rows
            || write.returns != changes.returned.is_some()
        {
            return Err(other());
        }
        if let Some(returned) = &changes.returned {
            check_lengths(returned)?;
        }
        if write.is_unique && texts.len() > 1 {
            return Err(StatementError::unsupported(
                "new values for a protected column of a unique key, which are computed for several \
                 rows",
            )
            .hint("Write one row at a time."));
        }
        Ok(texts)
    }
}

fn written(
    plan: &session_core::plans::TextPlan,
) -> Result<(&FinisherTables, &FilledWrite), StatementError> {
    let query = super::tables_of(plan).ok_or_else(StatementError::other_plan)?;
    let write = query.write.as_ref();
    Ok((query, write.ok_or_else(StatementError::other_plan)?))
}

/// What a text that writes a row is made of.
struct Made<'a> {
    query: &'a FinisherTables,
    write: &'a FilledWrite,
    loaded: &'a Loaded,
    asked: &'a Asked,
    settings: &'a Settings,
    moment: &'a str,
    series: u16,
}

impl Made<'_> {
    /// The text for a row, as the server gave it, with the values that the finisher computed.
    fn text(
        &self,
        (row, width): (&[u8], usize),
        computed: &[Option<&[u8]>],
    ) -> Result<String, StatementError> {
        let other = StatementError::other_columns;
        let row = TextRow::read(row, width).map_err(|_| other())?;
        let row: Vec<Option<&[u8]>> = row.iter().collect();
        let tables = &self.query.tables;
        let before = tables[..self.write.table].iter();
        let before: usize = before.map(question::width_of).sum();
        let table = tables.get(self.write.table).ok_or_else(other)?;
        let given = |number: usize| {
            let place = self.write.key.get(number).copied().ok_or_else(other)?;
            let value = row.get(question::COLUMNS_BEFORE + before + place);
            let value = value.copied().flatten().ok_or_else(other)?;
            let column = table.columns.get(place).ok_or_else(other)?;
            match column.sealed {
                Some(_) => Ok(Written::Sealed(Some(value.to_vec()))),
                None => literal(&column.form, value).map(Written::Plain),
            }
        };
        let text = fill::text_with(&self.write.write, |hole| match (&hole.source, hole.form) {
            (Source::Locator(number), _) => given(*number),
            (Source::Computed(number), Form::Sealed(column, Purpose::Store)) => {
                let sealed = match self.loaded.schema.is_member(column) {
                    true => self.sealed_together(column, computed),
                    false => self.sealed(column, *computed.get(*number).ok_or_else(other)?),
                };
                sealed.map(Written::Sealed)
            }
            _ => question::filled(hole, self.asked, self.settings, self.loaded),
        })?;
        // The server evaluates NOW() for each row anew.
        Ok(moment::at(self.moment, self.series, &text))
    }

    /// The value of a group, of whose members the finisher tells.
    fn sealed_together(
        &self,
        holder: ColumnId,
        computed: &[Option<&[u8]>],
    ) -> Result<Option<Vec<u8>>, StatementError> {
        fill::grouped::computed(holder, self.loaded, |member| {
            let mut known = self.write.computed.iter();
            let place = known.position(|(_, own)| *own == member);
            let value = place.and_then(|place| computed.get(place));
            value.copied().ok_or_else(StatementError::other_columns)
        })
    }

    fn sealed(
        &self,
        column: ColumnId,
        value: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, StatementError> {
        let Some(value) = value else {
            return Ok(None);
        };
        fill::sealed(self.loaded, column, value).map(Some)
    }
}

/// A value of a key as a constant that finds it.
fn literal(form: &FilledForm, value: &[u8]) -> Result<String, StatementError> {
    let is_number = value
        .iter()
        .skip(1)
        .all(|byte| byte.is_ascii_digit() || *byte == b'.')
        && value
            .first()
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
    let unwritten = |_| StatementError::defect("a key of another form");
    let mut out = Zeroizing::default();
    match form {
        FilledForm::Quoted if is_number => String::from_utf8(value.to_vec()).map_err(unwritten),
        form => {
            put(form, value, &mut out)?;
            String::from_utf8(out.to_vec()).map_err(unwritten)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_constants_of_their_kind() {
        for (form, value, wanted) in [
            (FilledForm::Quoted, &b"-12"[..], Some("-12")),
            (FilledForm::Quoted, b"1.50", Some("1.50")),
            (FilledForm::Quoted, b"2024-01-02", Some("'2024-01-02'")),
            (FilledForm::Quoted, b"1 OR 1", Some("'1 OR 1'")),
            (FilledForm::Quoted, b"1' OR 1", None),
            (FilledForm::Bytes, b"a'", Some("x'6127'")),
            (
                FilledForm::Text("latin1".to_owned()),
                b"\xe9",
                Some("_latin1 x'e9'"),
            ),
        ] {
            assert_eq!(literal(&form, value).ok().as_deref(), wanted, "{value:?}");
        }
    }

    #[test]
    fn matched_rows_are_read_from_what_the_server_says() {
        let info = b"Rows matched: 3  Changed: 2  Warnings: 0";
        assert_eq!(matched(info), Some(3));
        assert_eq!(matched(b""), None);
    }
}
