//! Bulk execution of MariaDB: a prepared statement with many rows of values in one command.

use std::collections::VecDeque;
use std::sync::Arc;

use session_core::StatementError;
use session_core::plans::TextPlan;
use sql_plan::{Form, Source, Translated};
use wire_mysql::Malformed;
use wire_mysql::answer::{self, OkPacket};
use wire_mysql::bulk::{Bulk, Item, UNIT_RESULTS, statement};
use wire_mysql::execute::{Head, NO_CURSOR, write};
use wire_mysql::packet;
use wire_mysql::value::Value;

use super::fill::Made;
use super::finishing::finish_of;
use super::modifying::takes_steps;
use super::settings::Settings;
use super::statements::{Bindings, Kind, Prepared, translated};
use super::tokens;
use super::{Pending, Protected, Reach, Work};
use crate::refusal::Refusal;

/// One value for so many bytes of `max_message_bytes` is the most that a bulk execution has. The
/// proxy needs some 400 bytes for each, however short it is.
const BYTES_FOR_VALUE: usize = 256;

/// The rows of a bulk execution.
struct Rows {
    number: u32,
    flags: u16,
    rows: Vec<Bindings>,
    /// For each row, the parameters that have no value, and what they have.
    marks: Vec<Vec<(usize, Item<'static>)>>,
}

/// Rows for which the proxy still computes, one after the other.
#[derive(Debug)]
pub(super) struct Further {
    plan: Arc<TextPlan>,
    rows: VecDeque<Bindings>,
    /// Of the rows before.
    affected: u64,
    warnings: u16,
    /// The numbers in what the server says of an `UPDATE`: rows that were found and changed, and
    /// warnings.
    counts: Vec<u64>,
}

impl Rows {
    /// Takes the rows of a command. None: they have more values than these.
    fn take(
        prepared: &mut Prepared,
        (number, body): (u32, &[u8]),
        values_max: usize,
    ) -> Result<Option<Self>, Refusal> {
        let parameters = prepared.parameters();
        let Some(bulk) = Bulk::read(body, parameters, prepared.types(), values_max)? else {
            return Ok(None);
        };
        let head = Head {
            statement: number,
            cursor: NO_CURSOR,
        };
        let (mut rows, mut marks) = (Vec::new(), Vec::new());
        for items in &bulk.rows {
            let values = items.iter().map(|item| match item {
                Item::Value(value) => *value,
                Item::Default | Item::Ignored => Value::Null,
            });
            let mut command = Vec::new();
            write(head, bulk.types.iter().copied().zip(values), &mut command);
            rows.push(Bindings::of_row(number, &command[1..], parameters));
            let marked = items.iter().enumerate();
            let marked = marked.filter_map(|(index, item)| match item {
                Item::Value(_) => None,
                Item::Default => Some((index, Item::Default)),
                Item::Ignored => Some((index, Item::Ignored)),
            });
            marks.push(marked.collect());
        }
        let flags = bulk.flags & !UNIT_RESULTS;
        prepared.note_types(bulk.types);
        Ok(Some(Self {
            number,
            flags,
            rows,
            marks,
        }))
    }

    /// The command for the server's statement of a plan.
    fn command(
        &self,
        (plan, translated, slots): (&TextPlan, &Translated, &[usize]),
        settings: &Settings,
    ) -> Result<Result<Vec<u8>, StatementError>, Refusal> {
        let source = |slot: &usize| &translated.holes[*slot].source;
        let parameter = |slot: &usize| match *source(slot) {
            Source::Parameter(number) => Some(number),
            _ => None,
        };
        let is_sealed = |slot: &&usize| translated.holes[**slot].form != Form::Plain;
        let mut rows = Vec::new();
        for (bindings, marks) in self.rows.iter().zip(&self.marks) {
            let sealed = slots.iter().filter(is_sealed);
            let mut sealed = sealed.flat_map(|slot| source(slot).parameters());
            if sealed.any(|number| marks.iter().any(|(own, _)| *own == number)) {
                return Ok(Err(without_value()));
            }
            match bindings.filled((plan, translated, slots), (settings, Made::default()))? {
                Ok(filled) => rows.push(filled),
                Err(error) => return Ok(Err(error)),
            }
        }
        let first = rows.first().ok_or(Malformed)?;
        let items = rows.iter().zip(&self.marks).map(|(row, marks)| {
            let items = row.iter().zip(slots).map(|((_, filled), slot)| {
                let mark =
                    parameter(slot).and_then(|number| marks.iter().find(|(own, _)| *own == number));
                mark.map_or(Item::Value(filled.value()), |(_, mark)| *mark)
            });
            items.collect()
        });
        let bulk = Bulk {
            statement: self.number,
            flags: self.flags,
            types: first.iter().map(|(kind, _)| *kind).collect(),
            rows: items.collect(),
        };
        let mut out = Vec::new();
        bulk.write(&mut out);
        Ok(Ok(out))
    }
}

impl Further {
    /// Adds the numbers of a text of the server's, whatever its language. Gives the text with the
    /// sums.
    fn add(&mut self, info: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let parts = info.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit());
        let mut index = 0;
        for part in parts {
            let number = std::str::from_utf8(part)
                .ok()
                .and_then(|own| own.parse().ok());
            let Some(number) = number else {
                out.extend_from_slice(part);
                continue;
            };
            if self.counts.len() == index {
                self.counts.push(0);
            }
            self.counts[index] = u64::saturating_add(self.counts[index], number);
            out.extend_from_slice(self.counts[index].to_string().as_bytes());
            index += 1;
        }
        out
    }
}

impl Protected {
    /// Executes a prepared statement for many rows.
    pub(super) fn execute_bulk(
        &mut self,
        body: &[u8],
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let values_max = self.size_max() / BYTES_FOR_VALUE;
        let number = self.statements.number(statement(body)?);
        if !self.begin_prepared(number, pending, reach) {
            return Ok(());
        }
        let prepared = self.statements.find(number)?;
        let plan = match &prepared.kind {
            Kind::Passes(effects) => {
                let effects = effects.clone();
                self.pass_with(&effects, pending, None, reach);
                return Ok(());
            }
            Kind::Described(_) | Kind::Filled(_) => {
                self.refuse(&no_rows(), pending.sequence, reach);
                return Ok(());
            }
            Kind::Planned(plan, _) => Arc::clone(plan),
        };
        if finish_of(&plan).is_some() || prepared.parameters() == 0 {
            self.refuse(&no_rows(), pending.sequence, reach);
            return Ok(());
        }
        let Some(plan) = self.at_moment(plan, pending, reach) else {
            return Ok(());
        };
        let prepared = self.statements.find(number)?;
        let Some(rows) = Rows::take(prepared, (number, body), values_max)? else {
            self.refuse(&too_many(values_max), pending.sequence, reach);
            return Ok(());
        };
        if let Some(settings) = &self.settings {
            let values = rows.rows.iter().map(Bindings::values);
            let keyless = tokens::keyless_rows(&plan, values, settings)?;
            if !keyless.is_empty() {
                self.weigh(keyless, pending, reach);
                return Ok(());
            }
        }
        if takes_steps(&plan) {
            self.take_rows(plan, rows, pending, reach);
            return Ok(());
        }
        let (Kind::Planned(_, slots), Some(own)) = (&prepared.kind, translated(&plan)) else {
            return Ok(());
        };
        let Some(settings) = &self.settings else {
            return Ok(());
        };
        match rows.command((&plan, own, slots), settings)? {
            Err(error) => self.refuse(&error, pending.sequence, reach),
            Ok(command) => {
                self.send(|out| out.extend_from_slice(&command), reach);
                self.await_rows((plan, Some(rows.rows)), pending.sequence);
            }
        }
        Ok(())
    }

    /// Begins what the proxy computes for one row after the other.
    fn take_rows(
        &mut self,
        plan: Arc<TextPlan>,
        rows: Rows,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) {
        if rows.marks.iter().any(|marks| !marks.is_empty()) {
            return self.refuse(&without_value(), pending.sequence, reach);
        }
        let further = Further {
            plan,
            rows: rows.rows.into(),
            affected: 0,
            warnings: 0,
            counts: Vec::new(),
        };
        self.next_row(further, pending.sequence, reach);
    }

    /// Takes the next row. Gives whether there is one.
    fn next_row(&mut self, mut further: Further, sequence: u8, reach: &mut Reach<'_>) -> bool {
        let Some(bindings) = further.rows.pop_front() else {
            return false;
        };
        let plan = Arc::clone(&further.plan);
        self.further = Some(further);
        self.take_steps((plan, Some(bindings)), sequence, reach);
        true
    }

    /// Answers the client, or goes on with the next row of a bulk execution.
    pub(super) fn modified(
        &mut self,
        said: &[u8],
        mut sequence: u8,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        self.work = Work::Nothing;
        let mut further = match self.further.take() {
            Some(further) if said.first() == Some(&answer::OK) => further,
            _ => {
                packet::write_bytes(said, &mut sequence, reach.to_client);
                return Ok(());
            }
        };
        let mut ok = OkPacket::read(said, reach.capabilities)?;
        further.affected = further.affected.saturating_add(ok.affected_rows);
        further.warnings = further.warnings.saturating_add(ok.warnings);
        (ok.affected_rows, ok.warnings) = (further.affected, further.warnings);
        let info = further.add(ok.info);
        ok.info = &info;
        if !self.next_row(further, sequence, reach) {
            let capabilities = reach.capabilities;
            packet::write(&mut sequence, reach.to_client, |out| {
                ok.write(answer::OK, capabilities, out);
            });
        }
        Ok(())
    }
}

fn no_rows() -> StatementError {
    StatementError::unsupported("a bulk execution of a query, or without parameters,")
        .hint("Execute the statement once for each row.")
}

fn too_many(values_max: usize) -> StatementError {
    StatementError::limit(format!(
        "a bulk execution has more than {values_max} values (max_message_bytes / \
         {BYTES_FOR_VALUE})"
    ))
    .hint("Send the rows in several executions.")
}

fn without_value() -> StatementError {
    StatementError::unsupported(
        "a bulk execution with DEFAULT or IGNORE in the place of a value of a protected column",
    )
    .hint("Pass values, or write DEFAULT into the statement.")
}
