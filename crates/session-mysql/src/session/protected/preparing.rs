//! The answer to a statement of the proxy's own text that is prepared: the client sees the
//! parameters of its own text, and the declared types of columns.

use wire_mysql::answer::{self, EofPacket, Prepared as Answer};
use wire_mysql::capabilities::Status;
use wire_mysql::column::{BINARY, Column, flag};
use wire_mysql::packet::{self, Header};
use wire_mysql::value::FieldType;
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use super::errors::write_without_values;
use super::finishing::{definitions, shown_columns};
use super::reply::{check_count, definition};
use super::settings::Results;
use super::statements::{Kind, Prepared};
use crate::refusal::Refusal;

/// A statement that the server prepares.
#[derive(Debug)]
pub(super) struct Preparing {
    step: Step,
    /// What will be prepared; None: it is.
    prepared: Option<Prepared>,
    results: Results,
    answer: Option<Answer>,
    /// What the server says of its first parameter: it says the same of all.
    parameter: Option<Vec<u8>>,
    /// Definitions as they came.
    raw: Vec<Vec<u8>>,
    /// Definitions for the client.
    columns: Vec<Vec<u8>>,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
}

/// The server's number of a statement, and the statement; None: it was refused.
pub(super) type Made = Option<(u32, Prepared)>;

impl Preparing {
    pub(super) fn new(prepared: Prepared, results: Results, sequence: u8) -> Self {
        Self {
            step: Step::Prepared,
            prepared: Some(prepared),
            results,
            answer: None,
            parameter: None,
            raw: Vec::new(),
            columns: Vec::new(),
            sequence,
        }
    }

    /// Takes a payload of the server. None: more follows.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        capabilities: Capabilities,
        mut status: Status,
        out: &mut Vec<u8>,
    ) -> Result<Option<Made>, Refusal> {
        let first = payload.first().copied();
        let need = need(self.step, header, first, capabilities).ok_or(Malformed)?;
        let next = match need {
            Need::Whole if first == Some(answer::ERR) => {
                write_without_values(payload, &mut self.sequence, out)?;
                return Ok(Some(None));
            }
            Need::Whole => {
                if self.step == Step::Prepared {
                    self.check(Answer::read(payload)?)?;
                }
                self.step.read(payload, capabilities, &mut status)?
            }
            Need::Nothing => {
                self.definition(payload)?;
                self.step.passed(capabilities)
            }
        };
        match next {
            Some(step) => {
                self.step = step;
                Ok(None)
            }
            None => self.done(capabilities, status, out).map(Some),
        }
    }

    /// Checks that the server sees the parameters that were written.
    fn check(&mut self, found: Answer) -> Result<(), Refusal> {
        let prepared = self.prepared.as_ref().ok_or(Malformed)?;
        let Kind::Planned(plan, slots) = &prepared.kind else {
            return Err(Malformed.into());
        };
        if usize::from(found.parameters) != slots.len() {
            return Err(Malformed.into());
        }
        // MariaDB tells of the columns of `RETURNING` only with the rows; they are checked then.
        if found.columns > 0 {
            check_count(found.columns.into(), plan)?;
        }
        self.answer = Some(found);
        Ok(())
    }

    fn definition(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        if matches!(self.step, Step::Parameters(..)) {
            self.parameter.get_or_insert_with(|| payload.to_vec());
            return Ok(());
        }
        let prepared = self.prepared.as_ref().ok_or(Malformed)?;
        let Kind::Planned(plan, _) = &prepared.kind else {
            return Err(Malformed.into());
        };
        let shown = definition(payload, self.columns.len(), plan, self.results)?;
        self.raw.push(payload.to_vec());
        self.columns.push(shown);
        Ok(())
    }

    /// Writes what the client gets.
    fn done(
        &mut self,
        capabilities: Capabilities,
        status: Status,
        out: &mut Vec<u8>,
    ) -> Result<Made, Refusal> {
        let prepared = self.prepared.take().ok_or(Malformed)?;
        let found = self.answer.ok_or(Malformed)?;
        let parameters = prepared.parameters();
        if let Kind::Planned(plan, _) = &prepared.kind
            && shown_columns(plan).is_some()
        {
            self.columns = definitions(&self.raw, plan, self.results)?;
        }
        let shown = Answer {
            parameters: u16::try_from(parameters).map_err(|_| Malformed)?,
            columns: u16::try_from(self.columns.len()).map_err(|_| Malformed)?,
            ..found
        };
        let sequence = &mut self.sequence;
        packet::write(sequence, out, |out| shown.write(out));
        let parameter = self.parameter.take().unwrap_or_else(any_parameter);
        let parameters = vec![parameter; parameters];
        for definitions in [&parameters, &self.columns] {
            for one in definitions {
                packet::write_bytes(one, sequence, out);
            }
            if !definitions.is_empty() && !capabilities.has(Capabilities::DEPRECATE_EOF) {
                let eof = EofPacket {
                    warnings: 0,
                    status,
                };
                packet::write(sequence, out, |out| eof.write(out));
            }
        }
        Ok(Some((found.statement, prepared)))
    }
}

/// What MySQL says of a parameter.
fn any_parameter() -> Vec<u8> {
    let mut out = Vec::new();
    let column = Column {
        catalog: b"def",
        schema: b"",
        table: b"",
        original_table: b"",
        name: b"?",
        original_name: b"",
        character_set: BINARY,
        length: 0,
        kind: FieldType::VAR_STRING,
        flags: flag::BINARY,
        decimals: 0,
    };
    column.write(&mut out);
    out
}
