//! `UPDATE` of protected numbers by their old values: the row is read and locked, new values are
//! computed, and the row is written if it still has what was read.
//!
//! In a transaction the lock holds until its end. Without one it is gone once the row has been
//! read, and somebody else may change the row: the server then finds none with these values, and
//! the row is read again.

use std::sync::Arc;

use column_value::{LogicalType, Value};
use semantics_mysql::Number;
use session_core::plans::TextPlan;
use session_core::{Loaded, OpenedGroup, StatementError};
use sql_plan::{Assignment, ColumnId, Expression, Plan, Purpose, ReadModifyWrite};
use sql_rewrite::mysql::calculated;
use wire_mysql::answer::{self, OkPacket};
use wire_mysql::capabilities::Status;
use wire_mysql::command::{kind, write_text};
use wire_mysql::packet::Header;
use wire_mysql::row::TextRow;
use wire_mysql::{Capabilities, Malformed};

use super::errors::{refusal, without_sealed};
use super::fetching::{Fetched, Fetching};
use super::fill::numbers::{self, Uncomputed};
use super::fill::{self, Made, Values, grouped};
use super::settings::Settings;
use super::statements::Bindings;
use crate::refusal::Refusal;

/// How often a row is read that others change meanwhile.
const ATTEMPTS_MAX: u8 = 100;
/// Rows that are read: a second one would show that the key names several.
const ROWS_MAX: usize = 2;
/// It is shorter than every sealed value, so no row has it.
const NO_VALUE: [u8; 2] = [2, 1];

/// Whether a plan has several statements of the server's.
pub(super) fn takes_steps(plan: &TextPlan) -> bool {
    modification(plan).is_some()
}

fn modification(plan: &TextPlan) -> Option<&ReadModifyWrite> {
    match plan.planned.first().map(|one| &one.plan) {
        Some(Plan::ReadModifyWrite(modify)) => Some(modify),
        _ => None,
    }
}

/// What is to be done behind a packet of the server.
#[derive(Debug)]
pub(super) enum Taken {
    /// More follows.
    More,
    /// The next command for the server.
    Sends(Vec<u8>),
    /// The answer of the client.
    Answers(Vec<u8>),
    /// An error in its place.
    Fails(Refusal),
}

/// An `UPDATE` under way.
#[derive(Debug)]
pub(super) struct Modifying {
    plan: Arc<TextPlan>,
    /// The values of a prepared statement. None: the client has sent a text.
    bindings: Option<Bindings>,
    size_max: usize,
    attempts: u8,
    step: Step,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
    /// A value did not open.
    pub(super) is_damaged: bool,
}

#[derive(Debug)]
enum Step {
    Reading(Fetching),
    /// Whether there was a row.
    Writing(bool),
}

/// A sealed value. None: NULL.
type Sealed = Option<Vec<u8>>;

impl Modifying {
    /// Begins one, and gives the text that reads the row.
    ///
    /// # Errors
    /// A value cannot be sealed.
    pub(super) fn begin(
        (plan, bindings): (Arc<TextPlan>, Option<Bindings>),
        (settings, size_max): (&Settings, usize),
        sequence: u8,
    ) -> Result<(Self, String), StatementError> {
        let own = Self {
            plan,
            bindings,
            size_max,
            attempts: 0,
            step: Step::Reading(Fetching::new(ROWS_MAX, size_max)),
            sequence,
            is_damaged: false,
        };
        let text = own.reading(settings)?;
        Ok((own, text))
    }

    fn modify(&self) -> Result<&ReadModifyWrite, StatementError> {
        modification(&self.plan).ok_or_else(StatementError::other_plan)
    }

    fn values(&self) -> Result<Values<'_>, StatementError> {
        match &self.bindings {
            None => Ok((Vec::new(), Vec::new())),
            Some(bindings) => bindings.values().map_err(|Malformed| unread()),
        }
    }

    /// The text that reads the row.
    fn reading(&self, settings: &Settings) -> Result<String, StatementError> {
        let modify = self.modify()?;
        let values = self.values()?;
        fill::text_with(&modify.read, |hole| {
            fill::written(hole, &values, (settings, &self.plan.loaded))
        })
    }

    /// Takes a payload of the server.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        packet: (Header, &[u8]),
        (capabilities, status): (Capabilities, &mut Status),
        settings: &Option<Settings>,
    ) -> Result<Taken, Refusal> {
        let settings = settings.as_ref().ok_or(Malformed)?;
        match &mut self.step {
            Step::Reading(fetching) => match fetching.take(packet, capabilities, status)? {
                Fetched::More => Ok(Taken::More),
                Fetched::Failed(error) => Ok(Taken::Answers(without_sealed(&error)?)),
                Fetched::Done => {
                    let rows = std::mem::take(&mut fetching.rows);
                    let is_too_much = fetching.is_too_much;
                    self.write(&rows, is_too_much, settings)
                }
            },
            Step::Writing(had_row) => {
                let (had_row, payload) = (*had_row, packet.1);
                match payload.first() {
                    Some(&answer::ERR) => Ok(Taken::Answers(without_sealed(payload)?)),
                    Some(&answer::OK) => {
                        let ok = OkPacket::read(payload, capabilities)?;
                        *status = ok.status;
                        match had_row && !has_matched(&ok) {
                            true => self.again(settings),
                            false => Ok(Taken::Answers(payload.to_vec())),
                        }
                    }
                    _ => Err(Malformed.into()),
                }
            }
        }
    }

    /// Reads the row again: somebody else has changed it.
    fn again(&mut self, settings: &Settings) -> Result<Taken, Refusal> {
        self.attempts += 1;
        if self.attempts > ATTEMPTS_MAX {
            let message = "others change the row as often as it is read";
            let error = StatementError::unsupported(message)
                .hint("Begin a transaction before the UPDATE: then the row stays locked.");
            return Ok(Taken::Fails(refusal(&error)));
        }
        self.step = Step::Reading(Fetching::new(ROWS_MAX, self.size_max));
        Ok(match self.reading(settings) {
            Ok(text) => {
                let mut command = Vec::new();
                write_text(kind::QUERY, text.as_bytes(), &mut command);
                Taken::Sends(command)
            }
            Err(error) => Taken::Fails(refusal(&error)),
        })
    }

    /// Computes, and gives the command that writes.
    fn write(
        &mut self,
        rows: &[Vec<u8>],
        is_too_much: bool,
        settings: &Settings,
    ) -> Result<Taken, Refusal> {
        let count = match self.modify() {
            Ok(modify) => modify.current.len(),
            Err(error) => return Ok(Taken::Fails(refusal(&error))),
        };
        if is_too_much || rows.len() >= ROWS_MAX {
            let message = "the new value of a protected column is computed from the old one, and \
                           the condition names several rows";
            let error = StatementError::unsupported(message)
                .hint("Name one row by all columns of a primary or unique key.");
            return Ok(Taken::Fails(refusal(&error)));
        }
        let had_row = !rows.is_empty();
        let given: Vec<Sealed> = match rows.first() {
            None => vec![Some(NO_VALUE.to_vec()); count],
            Some(row) => TextRow::read(row, count)?
                .iter()
                .map(|value| value.map(<[u8]>::to_vec))
                .collect(),
        };
        let computed = match rows.is_empty() {
            true => self.modify().map_err(Uncomputed::from).map(|modify| {
                let values = modify.assignments.iter();
                values.map(|_| Some(NO_VALUE.to_vec())).collect()
            }),
            false => self.computed(&given, settings),
        };
        let computed = match computed {
            Ok(computed) => computed,
            Err(Uncomputed(error)) => {
                self.is_damaged = error.ends_session;
                return match error.ends_session {
                    true => Err(refusal(&error)),
                    false => Ok(Taken::Fails(refusal(&error))),
                };
            }
        };
        // Without a row, none is written: no sealed value is empty. Of NULL, the server would know
        // before it looks that a column which is NOT NULL never has it, and say less of it.
        let given = match had_row {
            true => given,
            false => vec![Some(Vec::new()); count],
        };
        let made = Made {
            computed: &computed,
            given: &given,
        };
        let command = self.command(made, settings)?;
        self.step = Step::Writing(had_row);
        Ok(match command {
            Ok(command) => Taken::Sends(command),
            Err(error) => Taken::Fails(refusal(&error)),
        })
    }

    fn command(
        &self,
        made: Made<'_>,
        settings: &Settings,
    ) -> Result<Result<Vec<u8>, StatementError>, Refusal> {
        let Ok(modify) = self.modify() else {
            return Err(Malformed.into());
        };
        match &self.bindings {
            Some(bindings) => {
                let (_, slots) = fill::prepared_text(&modify.write);
                bindings.command((&self.plan, &modify.write, &slots), settings, made)
            }
            None => Ok(
                fill::text(&modify.write, &self.plan.loaded, made).map(|text| {
                    let mut command = Vec::new();
                    write_text(kind::QUERY, text.as_bytes(), &mut command);
                    command
                }),
            ),
        }
    }

    /// The new values.
    fn computed(&self, given: &[Sealed], settings: &Settings) -> Result<Vec<Sealed>, Uncomputed> {
        let loaded = &self.plan.loaded;
        let modify = self.modify()?;
        let values = self.values()?;
        let (mut row, mut types) = (Vec::new(), Vec::new());
        let mut together = OpenedGroup::default();
        for (current, sealed) in modify.current.iter().zip(given) {
            let column = current.sealed().ok_or_else(StatementError::other_plan)?;
            let unopened = |_| StatementError::unopened(loaded.schema.column(column));
            let opened = sealed.as_ref().map(|sealed| {
                let value = loaded.sealer.open_in_row(column, sealed, &mut together);
                value.map_err(unopened)
            });
            row.push(opened.transpose()?.flatten());
            types.push(loaded.schema.column(column).logical);
        }
        let over = Over {
            row: &row,
            types: &types,
            values: &values,
            modify,
        };
        let computed = modify
            .assignments
            .iter()
            .map(|assignment| over.assigned(assignment, (settings, loaded)));
        computed
            .collect::<Result<Vec<_>, Uncomputed>>()
            .and_then(|values| Ok(sealed(modify, values, loaded)?))
            .map_err(|error| about(error, modify, loaded))
    }
}

/// Seals new values. Those that are sealed together are one, in the place of the column that has
/// it.
fn sealed(
    modify: &ReadModifyWrite,
    values: Vec<Option<Value>>,
    loaded: &Loaded,
) -> Result<Vec<Sealed>, StatementError> {
    let own = |column: ColumnId| {
        let mut all = modify.assignments.iter().zip(&values);
        let found = all.find(|(assignment, _)| assignment.column == column);
        found.and_then(|(_, value)| value.clone())
    };
    let sealed = modify.assignments.iter().zip(&values);
    let sealed = sealed.map(|(assignment, value)| {
        let column = assignment.column;
        match (loaded.schema.group_of(column), value) {
            (Some(group), _) if group.holder() == Some(column) => {
                let members = group.members.iter().map(|member| own(*member));
                grouped::together(&members.collect::<Vec<_>>(), column, loaded)
            }
            (Some(_), _) | (None, None) => Ok(None),
            (None, Some(value)) => {
                let mut out = Vec::new();
                let purpose = Purpose::Store;
                loaded.sealer.seal(column, purpose, value, &mut out)?;
                Ok(Some(out))
            }
        }
    });
    sealed.collect()
}

/// What is computed over.
struct Over<'a> {
    row: &'a [Option<Value>],
    /// The types of these values.
    types: &'a [LogicalType],
    values: &'a Values<'a>,
    modify: &'a ReadModifyWrite,
}

impl Over<'_> {
    /// The new value of a column. None: NULL.
    fn assigned(
        &self,
        Assignment { column, value }: &Assignment,
        (settings, loaded): (&Settings, &Loaded),
    ) -> Result<Option<Value>, Uncomputed> {
        match value {
            // It is sealed with others, and keeps its value.
            Expression::Column(index) if self.is(*column, *index) => {
                Ok(self.value(*index)?.clone())
            }
            Expression::Value(source, _) if loaded.schema.is_member(*column) => Ok(grouped::value(
                source,
                *column,
                self.values,
                (settings, loaded),
            )?),
            value => {
                let logical = loaded.schema.column(*column).logical;
                let number = self.number(value, logical)?;
                Ok(number.map(|number| number.assigned(logical)).transpose()?)
            }
        }
    }

    /// Whether a value that was read is that of a column.
    fn is(&self, column: ColumnId, index: usize) -> bool {
        let read = self.modify.current.get(index);
        read.and_then(|own| own.sealed()) == Some(column)
    }

    fn value(&self, index: usize) -> Result<&Option<Value>, StatementError> {
        self.row.get(index).ok_or_else(StatementError::other_plan)
    }

    /// The value of an expression for a column of a type. None: NULL.
    fn number(
        &self,
        expression: &Expression,
        logical: LogicalType,
    ) -> Result<Option<Number>, Uncomputed> {
        calculated::number(expression, logical, &|part| match part {
            Expression::Column(index) => match self.value(*index)? {
                None => Ok(None),
                Some(value) => {
                    let own = self.types.get(*index).copied();
                    let own = own.ok_or_else(StatementError::other_plan)?;
                    let number = Number::of_value(value, own);
                    Ok(Some(number.ok_or_else(StatementError::other_plan)?))
                }
            },
            Expression::Value(source, _) => Ok(numbers::constant(source, Some(self.values))?),
            _ => Err(StatementError::other_plan().into()),
        })
    }
}

/// Why new values are not computed, with the table that it is about.
fn about(Uncomputed(error): Uncomputed, modify: &ReadModifyWrite, loaded: &Loaded) -> Uncomputed {
    let Some(first) = modify.assignments.first() else {
        return Uncomputed(error);
    };
    let table = &loaded.schema.column(first.column).table;
    Uncomputed(StatementError {
        message: format!("protected numbers of table {table}: {}", error.message),
        ..error
    })
}

fn unread() -> StatementError {
    StatementError::statement(
        sqlstate::SqlState::SYNTAX_ERROR,
        "the values of the parameters cannot be read",
    )
}

/// Whether the server has found the row: it tells so in words, since a row that has the new values
/// already does not count as changed.
fn has_matched(ok: &OkPacket<'_>) -> bool {
    let digits = |byte: &u8| byte.is_ascii_digit();
    let start = ok.info.iter().position(digits).unwrap_or(ok.info.len());
    let matched = ok.info[start..].iter().take_while(|byte| digits(byte));
    ok.affected_rows > 0 || matched.into_iter().any(|byte| *byte != b'0')
}
