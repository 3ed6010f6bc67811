//! The answer to a statement that shows how a protected table is declared. It is kept until it is
//! there as a whole: what cannot be shown exactly is refused in its place.

use std::borrow::Cow;

use session_core::StatementError;
use sql_rewrite::mysql::shown::{Described, Form};
use wire_mysql::answer;
use wire_mysql::capabilities::Status;
use wire_mysql::column::Column;
use wire_mysql::packet::{self, Header, PacketError};
use wire_mysql::row::{BinaryRow, TextRow, write_binary, write_text};
use wire_mysql::value::{FieldType, Value};
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use super::{Pending, Protected, Reach, Work};
use crate::refusal::Refusal;

/// The columns of an answer that is understood.
const CREATE_WIDTH: usize = 2;
const COLUMNS_WIDTH: usize = 6;
const FULL_COLUMNS_WIDTH: usize = 9;

/// An answer that is due.
#[derive(Debug)]
pub(super) struct Describing {
    described: Described,
    /// Whether rows have the binary form.
    is_binary: bool,
    step: Step,
    /// Types of the columns so far.
    types: Vec<FieldType>,
    /// What the client gets.
    out: Vec<u8>,
    /// The number of the next packet in it.
    next: u8,
    /// What may still come, in bytes.
    size_left: usize,
    is_unknown: bool,
    /// The number of the packet with which the answer begins.
    pub(super) sequence: u8,
}

impl Describing {
    /// Of a statement that has been sent. Its answer may have this many bytes.
    pub(super) fn new(
        described: Described,
        is_binary: bool,
        sequence: u8,
        size_max: usize,
    ) -> Self {
        Self {
            described,
            is_binary,
            step: Step::Result,
            types: Vec::new(),
            out: Vec::new(),
            next: sequence,
            size_left: size_max,
            is_unknown: false,
            sequence,
        }
    }

    /// Takes a payload of the server. Gives what the client gets once all is there.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        capabilities: Capabilities,
        status: &mut Status,
    ) -> Result<Option<Result<Vec<u8>, StatementError>>, Refusal> {
        let size_max = self.size_left;
        let left = size_max.checked_sub(payload.len());
        self.size_left = left.ok_or(PacketError::TooLarge { size_max })?;
        let first = payload.first().copied();
        let need = need(self.step, header, first, capabilities).ok_or(Malformed)?;
        let next = match need {
            Need::Whole if first == Some(answer::ERR) => {
                packet::write_bytes(payload, &mut self.next, &mut self.out);
                self.is_unknown = false;
                None
            }
            Need::Whole => {
                let next = self.step.read(payload, capabilities, status)?;
                packet::write_bytes(payload, &mut self.next, &mut self.out);
                next
            }
            Need::Nothing => {
                match self.step {
                    Step::Columns(_) => {
                        self.types.push(Column::read(payload)?.kind);
                        packet::write_bytes(payload, &mut self.next, &mut self.out);
                    }
                    Step::Rows => self.row(payload)?,
                    _ => return Err(Malformed.into()),
                }
                self.step.passed(capabilities)
            }
        };
        if let Some(step) = next {
            self.step = step;
            return Ok(None);
        }
        Ok(Some(match self.is_unknown {
            false => Ok(std::mem::take(&mut self.out)),
            true => Err(unknown()),
        }))
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        let values: Option<Vec<Option<&[u8]>>> = match self.is_binary {
            false => Some(TextRow::read(payload, self.types.len())?.iter().collect()),
            true => {
                let row = BinaryRow::read(payload, &self.types)?;
                let texts = row.values(&self.types).map(|value| match value {
                    Value::Null => Some(None),
                    Value::Bytes(text) => Some(Some(text)),
                    _ => None,
                });
                texts.collect()
            }
        };
        let shown = values.as_ref().and_then(|values| self.shown(values));
        let Some(shown) = shown else {
            self.is_unknown = true;
            return Ok(());
        };
        let mut out = Vec::new();
        match self.is_binary {
            false => shown
                .iter()
                .for_each(|value| write_text(value.as_deref(), &mut out)),
            true => {
                let values = shown
                    .iter()
                    .map(|value| value.as_deref().map_or(Value::Null, Value::Bytes));
                write_binary(values, &mut out);
            }
        }
        packet::write_bytes(&out, &mut self.next, &mut self.out);
        Ok(())
    }

    /// The values of a row with what was declared. None: it is not of the form that is expected.
    fn shown<'v>(&'v self, values: &[Option<&'v [u8]>]) -> Option<Vec<Option<Cow<'v, [u8]>>>> {
        let mut shown: Vec<Option<Cow<'_, [u8]>>> = values
            .iter()
            .map(|value| value.map(Cow::Borrowed))
            .collect();
        match (self.described.form, values) {
            (Form::Create, [_, Some(text)]) if values.len() == CREATE_WIDTH => {
                shown[1] = Some(Cow::Owned(self.described.create(text)?));
            }
            (Form::Columns | Form::FullColumns, [Some(name), Some(found), ..])
                if self.is_width(values.len()) =>
            {
                let is_full = self.described.form == Form::FullColumns;
                if let Some((kind, collation)) = self.described.shown(name, found) {
                    shown[1] = Some(Cow::Borrowed(kind.as_bytes()));
                    if let (true, Some(collation)) = (is_full, collation) {
                        shown[2] = Some(Cow::Borrowed(collation.as_bytes()));
                    }
                    if let Some((default, extra)) = self.described.shown_default(name) {
                        let place = if is_full { 5 } else { 4 };
                        shown[place] = Some(Cow::Borrowed(default.as_bytes()));
                        if let Some(extra) = extra {
                            shown[place + 1] = Some(Cow::Borrowed(extra.as_bytes()));
                        }
                    }
                    if let Some(null) = self.described.shown_null(name) {
                        let place = if is_full { 3 } else { 2 };
                        shown[place] = Some(Cow::Borrowed(null.as_bytes()));
                    }
                }
            }
            _ => return None,
        }
        Some(shown)
    }

    fn is_width(&self, width: usize) -> bool {
        match self.described.form {
            Form::Create => width == CREATE_WIDTH,
            Form::Columns => width == COLUMNS_WIDTH,
            Form::FullColumns => width == FULL_COLUMNS_WIDTH,
        }
    }
}

impl Protected {
    /// Executes a prepared statement that shows how a table is declared.
    pub(super) fn show(&mut self, described: Described, pending: &Pending, reach: &mut Reach<'_>) {
        /// Where a command that executes a statement has its flags.
        const FLAGS: usize = 5;
        let mut payload = pending.payload.clone();
        // Rows come at once: those of a cursor would be the server's.
        if let Some(flags) = payload.get_mut(FLAGS) {
            *flags = 0;
        }
        self.send(|out| out.extend_from_slice(&payload), reach);
        let describing = Describing::new(described, true, pending.sequence, self.size_max());
        self.work = Work::Describing(Box::new(describing));
    }
}

fn unknown() -> StatementError {
    StatementError::unsupported(
        "the answer of the server, which shows a protected table in a form that is not known,",
    )
    .hint("Ask past the proxy.")
}
