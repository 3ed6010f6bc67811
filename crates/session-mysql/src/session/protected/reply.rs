//! The answer to a statement of the proxy's own text, as the client gets it: definitions are those
//! of the declared types, values are opened, and messages have no sealed values.

use std::sync::Arc;

use session_core::plans::TextPlan;
use session_core::{OpenedGroup, StatementError};
use sql_plan::{Output, Plan};
use wire_mysql::answer::{self, ErrorPacket, OkPacket};
use wire_mysql::capabilities::Status;
use wire_mysql::column::Column;
use wire_mysql::packet::{self, Header};
use wire_mysql::row::{BinaryRow, TextRow, write_binary, write_text};
use wire_mysql::value::{FieldType, Value};
use wire_mysql::{Capabilities, Malformed};

use super::super::answers::{Need, Step, need};
use super::columns::{self, sealed};
use super::duplicates;
use super::errors::{refusal, write_without_values};
use super::settings::{Results, Settings};
use super::statements::Bindings;
use super::values::Opened;
use super::warned::WarnedOf;
use crate::refusal::{Reason, Refusal};

/// An answer that is due, and is not passed on as it is.
#[derive(Debug)]
pub(super) struct Reply {
    plan: Arc<TextPlan>,
    /// The values of a prepared statement, for each time that it is executed; rows of the answer
    /// have the binary form. None: the client has sent a text.
    bindings: Option<Vec<Bindings>>,
    results: Results,
    step: Step,
    /// Types of the columns so far, as the server has them.
    types: Vec<FieldType>,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
    /// A value did not open.
    pub(super) is_damaged: bool,
    /// The server has warnings of the statement.
    has_warnings: bool,
}

/// Columns of the answer to a plan. Empty: none has sealed values.
pub(super) fn outputs(plan: &TextPlan) -> &[Output] {
    match plan.planned.first().map(|one| &one.plan) {
        Some(Plan::One(translated, _)) => &translated.outputs,
        Some(Plan::Finish(finish)) => &finish.fetch.outputs,
        _ => &[],
    }
}

/// A definition as the client gets it.
///
/// # Errors
/// It is not what was planned.
pub(super) fn definition(
    payload: &[u8],
    index: usize,
    plan: &TextPlan,
    results: Results,
) -> Result<Vec<u8>, Refusal> {
    let column = Column::read(payload)?;
    let output = outputs(plan).get(index);
    let schema = &plan.loaded.schema;
    let mut shown = match output.and_then(sealed) {
        Some(id) => columns::shown(column, (schema, id), results),
        None => columns::check_plain(&column, schema).map(|()| column),
    }
    .map_err(|error| refusal(&error))?;
    if let Some(name) = output.and_then(|output| output.name.as_ref()) {
        shown.name = name.as_bytes();
    }
    let mut out = Vec::new();
    shown.write(&mut out);
    Ok(out)
}

/// Checks that an answer has as many columns as were planned.
///
/// # Errors
/// It has others.
pub(super) fn check_count(count: u64, plan: &TextPlan) -> Result<(), Refusal> {
    let planned = outputs(plan).len();
    match planned == 0 || u64::try_from(planned) == Ok(count) {
        true => Ok(()),
        false => Err(refusal(&StatementError::other_columns())),
    }
}

impl Reply {
    pub(super) fn new(
        (plan, bindings): (Arc<TextPlan>, Option<Vec<Bindings>>),
        results: Results,
        sequence: u8,
    ) -> Self {
        Self {
            plan,
            bindings,
            results,
            step: Step::Result,
            types: Vec::new(),
            sequence,
            is_damaged: false,
            has_warnings: false,
        }
    }

    /// What the server has warnings of. None: it has none.
    pub(super) fn warned_of(self) -> Option<WarnedOf> {
        self.has_warnings.then_some(WarnedOf {
            plan: self.plan,
            bindings: self.bindings,
        })
    }

    /// Takes a payload of the server, and writes what the client gets. Gives whether it was the
    /// last.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        (header, payload): (Header, &[u8]),
        (capabilities, status, settings): (Capabilities, &mut Status, &Option<Settings>),
        out: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        let first = payload.first().copied();
        let need = need(self.step, header, first, capabilities).ok_or(Malformed)?;
        let next = match need {
            Need::Whole if first == Some(answer::ERR) => {
                self.error(payload, settings.as_ref(), out)?;
                None
            }
            Need::Whole => {
                let next = self.step.read(payload, capabilities, status)?;
                if let Some(Step::Columns(count)) = next {
                    check_count(count, &self.plan)?;
                }
                if self.step == Step::Result && first == Some(answer::OK) {
                    self.has_warnings = OkPacket::read(payload, capabilities)?.warnings > 0;
                }
                packet::write_bytes(payload, &mut self.sequence, out);
                next
            }
            Need::Nothing => {
                match self.step {
                    Step::Columns(_) => self.column(payload, out)?,
                    Step::Rows => self.rows(payload, out)?,
                    _ => return Err(Malformed.into()),
                }
                self.step.passed(capabilities)
            }
        };
        match next {
            Some(step) => {
                self.step = step;
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// An error of the server. That a key is there twice is said with the client's values, if they
    /// are known.
    fn error(
        &mut self,
        payload: &[u8],
        settings: Option<&Settings>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let error = ErrorPacket::read(payload)?;
        let said = settings.and_then(|settings| {
            duplicates::said(&error, (&self.plan, self.bindings.as_deref()), settings)
        });
        match said {
            None => write_without_values(payload, &mut self.sequence, out)?,
            Some(message) => {
                let shown = ErrorPacket {
                    message: &message,
                    ..error
                };
                packet::write(&mut self.sequence, out, |out| shown.write(out));
            }
        }
        Ok(())
    }

    fn column(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let shown = definition(payload, self.types.len(), &self.plan, self.results)?;
        self.types.push(Column::read(payload)?.kind);
        packet::write_bytes(&shown, &mut self.sequence, out);
        Ok(())
    }

    fn rows(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let taken = self.row(payload, out);
        self.is_damaged = matches!(&taken, Err(own) if matches!(own.reason, Reason::Statement(..)));
        taken
    }

    fn row(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let outputs = outputs(&self.plan);
        if outputs.iter().all(|output| sealed(output).is_none()) {
            packet::write_bytes(payload, &mut self.sequence, out);
            return Ok(());
        }
        let mut together = OpenedGroup::default();
        let mut open = |output: &Output, bytes: &[u8]| {
            let id = sealed(output)?;
            let loaded = &self.plan.loaded;
            Some(Opened::in_row(
                loaded,
                (id, bytes),
                self.results,
                &mut together,
            ))
        };
        if self.bindings.is_none() {
            let row = TextRow::read(payload, self.types.len())?;
            let mut texts = Vec::new();
            for (output, value) in outputs.iter().zip(row.iter()) {
                match value.and_then(|bytes| open(output, bytes)) {
                    Some(opened) => {
                        let opened = opened.map_err(|error| refusal(&error))?;
                        write_text(opened.as_ref().map(Opened::text), &mut texts);
                    }
                    None => write_text(value, &mut texts),
                }
            }
            packet::write_bytes(&texts, &mut self.sequence, out);
            return Ok(());
        }
        let row = BinaryRow::read(payload, &self.types)?;
        let values: Vec<Value<'_>> = row.values(&self.types).collect();
        let mut opened = Vec::new();
        for (output, value) in outputs.iter().zip(&values) {
            opened.push(match value {
                Value::Bytes(bytes) => open(output, bytes)
                    .transpose()
                    .map_err(|error| refusal(&error))?,
                _ => None,
            });
        }
        let shown = values.iter().zip(&opened);
        let shown = shown.map(|(value, opened)| match opened {
            None => *value,
            Some(opened) => opened.as_ref().map_or(Value::Null, Opened::binary),
        });
        packet::write(&mut self.sequence, out, |out| write_binary(shown, out));
        Ok(())
    }
}
