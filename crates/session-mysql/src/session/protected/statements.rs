//! Statements that the client has prepared.

use std::collections::HashMap;
use std::sync::Arc;

use session_core::StatementError;
use session_core::plans::TextPlan;
use sql_plan::{
    ColumnId, Effects, FinisherTables, Form, Hole, Plan, Purpose, Source, Translated, Use,
};
use sql_rewrite::mysql::shown::Described;
use wire_mysql::command::LongData;
use wire_mysql::execute::{Execute, Head, NO_CURSOR, ParameterType, write};
use wire_mysql::value::{FieldType, Value};

use super::fill::{Bound, Made, Values, grouped, literal, numbers, parameter};
use super::settings::Settings;
use crate::refusal::Refusal;
use wire_mysql::Malformed;

/// MariaDB: the statement that was prepared last.
const LAST: u32 = u32::MAX;
/// `ER_UNKNOWN_STMT_HANDLER`
const UNKNOWN: (u16, [u8; 5]) = (1243, *b"HY000");

/// What the server has for a statement of the client.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// The client's own text.
    Passes(Effects),
    /// The text of a plan, and the hole of each of its parameters.
    Planned(Arc<TextPlan>, Vec<usize>),
    /// A statement that stands for the client's, which the finisher answers.
    Filled(Arc<TextPlan>),
    /// The client's own text, whose answer shows how a table is declared.
    Described(Box<Described>),
}

/// What a text meant when it was prepared. The server keeps that; the finisher reads the text anew
/// at each execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadUnder {
    pub(super) database: Option<String>,
    /// Settings that decide how a text is read.
    pub(super) settings: Vec<String>,
}

/// Why a prepared statement is not executed.
pub(super) fn prepared_otherwise() -> StatementError {
    let message = "a statement was prepared when its tables, the database, the SQL mode or the \
                   character set were others";
    StatementError::unsupported(message).hint("Prepare it again.")
}

/// A statement that the client has prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The client's text, to be planned again when the schema is another.
    pub(super) text: Box<[u8]>,
    pub(super) kind: Kind,
    /// The version of the schema for which it is known what becomes of the text.
    pub(super) version: u64,
    /// None: the server keeps what it meant.
    pub(super) read_under: Option<Arc<ReadUnder>>,
    /// Types of the last execution.
    types: Box<[ParameterType]>,
    /// By parameter: what was sent before the execution.
    long: HashMap<u16, Vec<u8>>,
    /// More was sent than may be.
    is_too_long: bool,
}

impl Prepared {
    pub(super) fn new(text: &[u8], kind: Kind, version: u64) -> Self {
        Self {
            text: text.into(),
            kind,
            version,
            read_under: None,
            types: Box::default(),
            long: HashMap::new(),
            is_too_long: false,
        }
    }

    /// How many parameters the client's text has.
    pub(super) fn parameters(&self) -> usize {
        match &self.kind {
            Kind::Passes(_) | Kind::Described(_) => 0,
            Kind::Planned(plan, _) => translated(plan).map_or(0, |own| own.parameter_types.len()),
            Kind::Filled(plan) => tables_of(plan).map_or(0, |query| query.parameters),
        }
    }

    /// Types of the last execution.
    pub(super) fn types(&self) -> &[ParameterType] {
        &self.types
    }

    /// Notes the types of an execution, for which nothing is kept any more.
    pub(super) fn note_types(&mut self, types: Vec<ParameterType>) {
        self.types = types.into();
        self.reset();
    }

    /// Forgets what was sent before an execution.
    pub(super) fn reset(&mut self) {
        self.long.clear();
        self.is_too_long = false;
    }

    /// Takes back what was sent before an execution that is put off.
    pub(super) fn give_back(&mut self, bindings: Bindings) {
        self.long = bindings.long;
    }

    /// Whether the server has the client's own text.
    pub(super) fn passes(&self) -> bool {
        matches!(self.kind, Kind::Passes(_))
    }
}

/// What the server gets for a plan.
pub(super) fn translated(plan: &TextPlan) -> Option<&Translated> {
    match plan.planned.first().map(|one| &one.plan) {
        Some(Plan::One(translated, _)) => Some(translated),
        // The client's statement stands for the one that writes.
        Some(Plan::ReadModifyWrite(modify)) => Some(&modify.write),
        Some(Plan::Finish(finish)) => Some(&finish.fetch),
        _ => None,
    }
}

/// The query of a plan that the finisher answers.
pub(super) fn tables_of(plan: &TextPlan) -> Option<&FinisherTables> {
    match plan.planned.first().map(|one| &one.plan) {
        Some(Plan::FinisherTables(query)) => Some(query),
        _ => None,
    }
}

/// All statements of a session.
#[derive(Debug, Default)]
pub(super) struct Statements {
    known: HashMap<u32, Prepared>,
    last: Option<u32>,
}

impl Statements {
    pub(super) fn put(&mut self, number: u32, prepared: Prepared) {
        self.known.insert(number, prepared);
        self.last = Some(number);
    }

    /// Notes that another one is to be prepared: until it is, none is the last.
    pub(super) fn begin(&mut self) {
        self.last = None;
    }

    /// The server's number of a statement.
    pub(super) fn number(&self, number: u32) -> u32 {
        match number {
            LAST => self.last.unwrap_or(LAST),
            number => number,
        }
    }

    /// A statement by its number.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn find(&mut self, number: u32) -> Result<&mut Prepared, Refusal> {
        let number = self.number(number);
        self.known.get_mut(&number).ok_or_else(|| {
            let reason = crate::Reason::Statement(UNKNOWN.0, UNKNOWN.1);
            Refusal::new(reason, "there is no prepared statement of this number")
        })
    }

    pub(super) fn remove(&mut self, number: u32) {
        let number = self.number(number);
        self.known.remove(&number);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Keeps a piece of a parameter. All pieces of the session have at most `size_max` bytes.
    pub(super) fn keep(&mut self, piece: &LongData<'_>, size_max: usize) {
        let pieces = self.known.values().flat_map(|one| one.long.values());
        let kept: usize = pieces.map(Vec::len).sum();
        let Ok(prepared) = self.find(piece.statement) else {
            return;
        };
        if kept + piece.data.len() > size_max {
            prepared.long.clear();
            prepared.is_too_long = true;
        } else if !prepared.is_too_long {
            let own = prepared.long.entry(piece.parameter).or_default();
            own.extend_from_slice(piece.data);
        }
    }
}

/// The values of a command that executes a statement, kept as they came.
#[derive(Debug)]
pub(super) struct Bindings {
    number: u32,
    body: Box<[u8]>,
    parameters: usize,
    /// Types of the execution before.
    types: Vec<ParameterType>,
    long: HashMap<u16, Vec<u8>>,
    pub(super) read_under: Option<Arc<ReadUnder>>,
}

impl Bindings {
    /// Takes the values of a command for a statement of the server's.
    ///
    /// # Errors
    /// Too much was sent before. An error of the protocol ends the session.
    pub(super) fn take(
        prepared: &mut Prepared,
        (number, body): (u32, &[u8]),
    ) -> Result<Result<Self, StatementError>, Refusal> {
        if std::mem::take(&mut prepared.is_too_long) {
            let message = "the parameters of the statement are larger than max_message_bytes";
            return Ok(Err(StatementError::limit(message)));
        }
        let bindings = Self {
            number,
            body: body.into(),
            parameters: prepared.parameters(),
            types: prepared.types.to_vec(),
            long: std::mem::take(&mut prepared.long),
            read_under: prepared.read_under.clone(),
        };
        let (types, _) = bindings.values()?;
        prepared.types = types.into();
        Ok(Ok(bindings))
    }

    /// The values of a row of a bulk execution, as the body of a command with types.
    pub(super) fn of_row(number: u32, body: &[u8], parameters: usize) -> Self {
        Self {
            number,
            body: body.into(),
            parameters,
            types: Vec::new(),
            long: HashMap::new(),
            read_under: None,
        }
    }

    /// Types and values.
    ///
    /// # Errors
    /// They are malformed.
    pub(super) fn values(&self) -> Result<Values<'_>, Malformed> {
        let is_long =
            |index: usize| u16::try_from(index).is_ok_and(|own| self.long.contains_key(&own));
        let execute = Execute::read(&self.body, self.parameters, &self.types, is_long)?;
        let values = execute.values.iter().enumerate();
        let values = values.map(|(index, value)| match value {
            Some(value) => *value,
            None => {
                let index = u16::try_from(index).unwrap_or_default();
                Value::Bytes(self.long.get(&index).map_or(&[], Vec::as_slice))
            }
        });
        Ok((execute.types, values.collect()))
    }

    /// Types and values of the parameters that the server's statement of a plan has.
    ///
    /// # Errors
    /// A value cannot be sealed. An error of the protocol ends the session.
    pub(super) fn filled(
        &self,
        (plan, translated, slots): (&TextPlan, &Translated, &[usize]),
        (settings, made): (&Settings, Made<'_>),
    ) -> Result<Result<Vec<(ParameterType, Filled<'_>)>, StatementError>, Refusal> {
        let given = self.values()?;
        let filled = slots.iter().map(|slot| {
            let hole = &translated.holes[*slot];
            fill(hole, &given, (settings, plan), made)
        });
        Ok(filled.collect())
    }

    /// The command that executes the server's statement of a plan, with these values.
    ///
    /// # Errors
    /// A value cannot be sealed. An error of the protocol ends the session.
    pub(super) fn command(
        &self,
        of: (&TextPlan, &Translated, &[usize]),
        settings: &Settings,
        made: Made<'_>,
    ) -> Result<Result<Vec<u8>, StatementError>, Refusal> {
        let filled = self.filled(of, (settings, made))?;
        Ok(filled.map(|filled| {
            let mut out = Vec::new();
            let head = Head {
                statement: self.number,
                // Rows come at once: those of a cursor would be the server's.
                cursor: NO_CURSOR,
            };
            let filled = filled.iter().map(|(kind, own)| (*kind, own.value()));
            write(head, filled, &mut out);
            out
        }))
    }
}

/// What a parameter of the server's is filled with.
pub(super) enum Filled<'a> {
    Plain(Value<'a>),
    Sealed(Option<Vec<u8>>),
}

impl Filled<'_> {
    /// The value for the server.
    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Self::Plain(value) => *value,
            Self::Sealed(Some(bytes)) => Value::Bytes(bytes),
            Self::Sealed(None) => Value::Null,
        }
    }
}

const OF_SEALED: ParameterType = ParameterType {
    kind: FieldType::BLOB,
    is_unsigned: false,
};

fn fill<'a>(
    hole: &Hole,
    values: &Values<'a>,
    (settings, plan): (&Settings, &TextPlan),
    made: Made<'_>,
) -> Result<(ParameterType, Filled<'a>), StatementError> {
    if let (Form::Sealed(..), Some(sealed)) = (hole.form, made.find(&hole.source)) {
        return Ok((OF_SEALED, Filled::Sealed(sealed)));
    }
    let bound = |number: usize| Bound::find(values, number);
    match (&hole.source, hole.form) {
        (Source::Parameter(number), Form::Plain) => {
            let bound = bound(*number)?;
            Ok((bound.kind, Filled::Plain(bound.value)))
        }
        (Source::Parameter(number), Form::Sealed(column, purpose)) => {
            let bound = bound(*number)?;
            let sealed = parameter(&bound, (column, purpose), settings, &plan.loaded)?;
            match sealed {
                None if is_never_null(plan, column) => Err(null_is_ignored(plan, column)),
                sealed => Ok((OF_SEALED, Filled::Sealed(sealed))),
            }
        }
        (Source::Calculated(value, _), Form::Sealed(column, purpose)) => {
            let target = (column, purpose);
            let sealed = numbers::calculated(value, target, Some(values), &plan.loaded)?;
            Ok((OF_SEALED, Filled::Sealed(sealed)))
        }
        (Source::Members(members), Form::Sealed(holder, Purpose::Store)) => {
            let sealed = grouped::members(members, holder, values, (settings, &plan.loaded))?;
            // It is NULL for a member that must not be.
            let group = plan
                .loaded
                .schema
                .group_of(holder)
                .filter(|_| sealed.is_none());
            let mut lacking = group.into_iter().flat_map(|group| &group.members);
            match lacking.find(|column| is_never_null(plan, **column)) {
                Some(column) => Err(null_is_ignored(plan, *column)),
                None => Ok((OF_SEALED, Filled::Sealed(sealed))),
            }
        }
        _ => Ok((OF_SEALED, Filled::Sealed(literal(hole, &plan.loaded)?))),
    }
}

/// Whether the server would store an empty value in the place of NULL.
fn is_never_null(plan: &TextPlan, column: ColumnId) -> bool {
    let mut planned = plan.planned.iter();
    planned.any(|one| one.plan.effects().uses.contains(&(column, Use::NeverNull)))
}

fn null_is_ignored(plan: &TextPlan, column: ColumnId) -> StatementError {
    let own = plan.loaded.schema.column(column);
    StatementError::unsupported(format!(
        "INSERT IGNORE of NULL into protected column {}.{}, which is NOT NULL",
        own.table, own.column
    ))
    .hint("Leave IGNORE out, or pass a value.")
}
