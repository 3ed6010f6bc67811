//! The answer to a statement that shows how a protected table is declared. It is kept until it is
//! there as a whole: what cannot be shown exactly is refused in its place.

use session_core::StatementError;
use sql_rewrite::mysql::shown::{Described, Form};
use wire_mysql::answer;
use wire_mysql::capabilities::Status;
use wire_mysql::packet::{self, Header, PacketError};
use wire_mysql::row::{TextRow, write_text};
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use crate::refusal::Refusal;

/// The columns of an answer that is understood.
const CREATE_WIDTH: usize = 2;
const COLUMNS_WIDTH: usize = 6;
const FULL_COLUMNS_WIDTH: usize = 9;

/// An answer that is due.
#[derive(Debug)]
pub(super) struct Describing {
    described: Described,
    step: Step,
    width: usize,
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
    pub(super) fn new(described: Described, sequence: u8, size_max: usize) -> Self {
        Self {
            described,
            step: Step::Result,
            width: 0,
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
                if let Some(Step::Columns(count)) = next {
                    self.width = usize::try_from(count).map_err(|_| Malformed)?;
                }
                packet::write_bytes(payload, &mut self.next, &mut self.out);
                next
            }
            Need::Nothing => {
                match self.step {
                    Step::Columns(_) => {
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
        let row = TextRow::read(payload, self.width)?;
        let values: Vec<Option<&[u8]>> = row.iter().collect();
        let mut texts = Vec::new();
        match (self.described.form, &values[..]) {
            (Form::Create, [name, Some(text)]) if values.len() == CREATE_WIDTH => {
                let shown = self.described.create(text);
                self.is_unknown |= shown.is_none();
                write_text(*name, &mut texts);
                write_text(Some(&shown.unwrap_or_default()), &mut texts);
            }
            (Form::Columns | Form::FullColumns, [Some(name), Some(found), rest @ ..])
                if self.is_width(values.len()) =>
            {
                let shown = self.described.shown(name, found);
                write_text(Some(name), &mut texts);
                let kind = shown.map_or(*found, |(kind, _)| kind.as_bytes());
                write_text(Some(kind), &mut texts);
                for (index, value) in rest.iter().enumerate() {
                    let collation = shown.and_then(|(_, collation)| collation);
                    let is_collation = index == 0 && self.described.form == Form::FullColumns;
                    match collation.filter(|_| is_collation) {
                        Some(collation) => write_text(Some(collation.as_bytes()), &mut texts),
                        None => write_text(*value, &mut texts),
                    }
                }
            }
            _ => self.is_unknown = true,
        }
        packet::write_bytes(&texts, &mut self.next, &mut self.out);
        Ok(())
    }

    fn is_width(&self, width: usize) -> bool {
        match self.described.form {
            Form::Create => width == CREATE_WIDTH,
            Form::Columns => width == COLUMNS_WIDTH,
            Form::FullColumns => width == FULL_COLUMNS_WIDTH,
        }
    }
}

fn unknown() -> StatementError {
    StatementError::unsupported(
        "the answer of the server, which shows a protected table in a form that is not known,",
    )
    .hint("Ask past the proxy.")
}
