//! A query that the proxy finishes, while its rows come.

use std::sync::Arc;

use column_types::{Accumulator, TextContext, Value};
use sql_rewrite::{ColumnId, Finish, OutputKind, Plan};
use wire_postgres::backend::{self, kind};
use wire_postgres::frontend::Bind;
use wire_postgres::values::{self, Format};

use super::inputs::Inputs;
use super::rows::RowError;
use super::statements::Statement;
use crate::finish::{Answer, Cell, Given, Limits, Program, Want, fetch_formats};
use crate::plans::TextPlan;
use crate::session::statements::{BoundConstants, UnboundConstants};
use crate::statement_error::StatementError;

/// A query that takes steps: the columns of its fetch, then their rows.
#[derive(Debug)]
pub(super) struct Finishing {
    pub statement: Arc<Statement>,
    pub place: usize,
    /// The body of the client's Bind.
    pub bind: Box<[u8]>,
    /// The client's portal.
    pub portal: Box<[u8]>,
    /// Rows that the client wants; None: all.
    pub rows_max: Option<usize>,
    /// Whether the client wants the columns first.
    pub is_described: bool,
    pub limits: Limits,
    pub state: State,
    /// Rows that the server has sent.
    pub fetched: u64,
    /// Rows that the client has been sent.
    pub sent: u64,
    /// The client's Sync was sent behind it.
    pub is_synced: bool,
}

/// How far it is.
#[derive(Debug)]
pub(super) enum State {
    /// The columns are not known.
    Begun,
    Running(Box<Answer>, Vec<Given>),
    /// What went wrong first; the rows that still come go nowhere.
    Failed(StatementError),
}

/// The query at a place of a text.
pub(super) fn finish_at(plan: &TextPlan, place: usize) -> Option<&Finish> {
    match &plan.planned.get(place)?.plan {
        Plan::Finish(finish) => Some(finish),
        _ => None,
    }
}

/// What a query is over, for people.
pub(super) fn subject(plan: &TextPlan, finish: &Finish) -> String {
    let sealed = finish
        .fetch
        .outputs
        .iter()
        .find_map(|output| match output.kind {
            OutputKind::Sealed(id) | OutputKind::Gathered(id, _) => {
                Some(plan.loaded.schema.column(id))
            }
            OutputKind::Plain => None,
        });
    sealed.map_or_else(
        || "protected columns".to_owned(),
        |column| format!("{}.{}", column.schema, column.table),
    )
}

/// The formats in which the columns of the fetch are asked for.
pub(super) fn formats(finish: &Finish, bind: &Bind<'_>) -> Vec<i16> {
    fetch_formats(finish, |place| bind.result_formats.of(place))
}

impl Finishing {
    /// Takes the RowDescription of the fetch.
    pub(super) fn columns(
        &mut self,
        body: &[u8],
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        match self.begin(body, context, out) {
            Ok((answer, given)) => self.state = State::Running(Box::new(answer), given),
            Err(RowError::Statement(failure)) if !failure.ends_session => {
                self.state = State::Failed(failure);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn begin(
        &self,
        body: &[u8],
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(Answer, Vec<Given>), RowError> {
        let bind = Bind::read(&self.bind)?;
        let inputs = Inputs::new(self.place, &bind, context);
        let finish =
            finish_at(&self.statement.plan, self.place).ok_or_else(StatementError::other_plan)?;
        let given = given(&self.statement.plan, finish, body, &formats(finish, &bind))?;
        let statement = &self.statement;
        let constants = BoundConstants {
            statement,
            inputs: &inputs,
        };
        let wanted = |place| bind.result_formats.of(place);
        let program = Program::new(finish, &given, &constants, wanted)?;
        if self.is_described {
            program.write_description(out);
        }
        let answer = Answer::new(program, self.limits.clone(), context)?;
        Ok((answer, given))
    }

    /// Takes a row of the fetch; rows of the answer leave as soon as they are known.
    pub(super) fn row(
        &mut self,
        body: &[u8],
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        self.fetched += 1;
        let State::Running(answer, given) = &mut self.state else {
            return Ok(());
        };
        let plan = &self.statement.plan;
        let pushed = cells(plan, answer.program(), given, body, context);
        let pushed = pushed.and_then(|(cells, gathered)| {
            answer.count(gathered)?;
            Ok(answer.push(&cells, context)?)
        });
        match pushed {
            Ok(()) if self.rows_max.is_none() => self.sent += answer.take(None, out).rows,
            Ok(()) => {}
            Err(RowError::Statement(failure)) if !failure.ends_session => {
                self.state = State::Failed(failure);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// All rows have come. Gives what is left for the next Execute.
    ///
    /// # Errors
    /// What went wrong first.
    pub(super) fn end(
        self,
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<Box<Answer>, StatementError> {
        match self.state {
            State::Begun => Err(StatementError::defect(
                "the columns of a query did not come",
            )),
            State::Failed(failure) => Err(failure),
            State::Running(mut answer, _) => {
                answer.end(context)?;
                give(&mut answer, self.rows_max, self.sent, out);
                Ok(answer)
            }
        }
    }
}

/// Gives the client the next rows, and says whether there are more.
pub(super) fn give(answer: &mut Answer, rows_max: Option<usize>, sent: u64, out: &mut Vec<u8>) {
    let taken = answer.take(rows_max, out);
    let is_full = rows_max.is_some_and(|rows_max| taken.rows == rows_max as u64);
    if is_full {
        // As the server does: it does not look whether there is another row.
        backend::write_empty(kind::PORTAL_SUSPENDED, out);
    } else {
        let tag = format!("SELECT {}", sent + taken.rows);
        backend::write_command_complete(&tag, out);
    }
}

/// Writes the RowDescription of a query by that of its fetch.
pub(super) fn write_description(
    statement: &Statement,
    place: usize,
    body: &[u8],
    wanted: &[i16],
    out: &mut Vec<u8>,
) -> Result<(), RowError> {
    let plan = &statement.plan;
    let finish = finish_at(plan, place).ok_or_else(StatementError::other_plan)?;
    let wanted = |place: usize| match wanted {
        [] => 0,
        [one] => *one,
        many => many.get(place).copied().unwrap_or(0),
    };
    let given = given(plan, finish, body, &fetch_formats(finish, wanted))?;
    let program = Program::new(finish, &given, &UnboundConstants(statement), wanted)?;
    program.write_description(out);
    Ok(())
}

/// The columns of a fetch, as the server describes them and as they are meant.
fn given(
    plan: &TextPlan,
    finish: &Finish,
    body: &[u8],
    formats: &[i16],
) -> Result<Vec<Given>, RowError> {
    let fields = backend::read_row_description(body)?;
    let outputs = &finish.fetch.outputs;
    if fields.len() != outputs.len() {
        return Err(StatementError::other_columns().into());
    }
    let columns = fields.iter().zip(outputs).zip(formats);
    let columns = columns.map(|((field, output), format)| {
        let logical = |id| plan.loaded.schema.column(id).logical;
        Ok(match output.kind {
            OutputKind::Plain => Given::plain(field, *format),
            OutputKind::Sealed(id) => Given::sealed(field, id, logical(id)),
            OutputKind::Gathered(id, function) => Given::gathered(id, logical(id), function)?,
        })
    });
    columns.collect()
}

/// The fields of a row, and how many values were gathered in them.
fn cells<'a>(
    plan: &TextPlan,
    program: &Program,
    given: &[Given],
    body: &'a [u8],
    context: &TextContext,
) -> Result<(Vec<Cell<'a>>, usize), RowError> {
    let row = backend::read_data_row(body)?;
    if row.count() != given.len() {
        return Err(StatementError::other_columns().into());
    }
    let mut cells = Vec::with_capacity(given.len());
    let mut gathered = 0;
    for (column, (bytes, given)) in row.iter().zip(given).enumerate() {
        let Some(bytes) = bytes else {
            cells.push(Cell::Null);
            continue;
        };
        if let (Some(id), Some(aggregate)) = (given.sealed, &given.gathered) {
            let total = total(plan, id, aggregate.clone(), bytes, &mut gathered)?;
            cells.push(total.map_or(Cell::Null, Cell::Value));
            continue;
        }
        cells.push(match (program.want(column), given.sealed, given.logical) {
            (Want::Raw, ..) | (_, None, None) => Cell::Raw(bytes),
            (Want::Value, Some(id), _) => {
                let value = plan.loaded.sealer.open(id, bytes);
                let column = || StatementError::unopened(plan.loaded.schema.column(id));
                Cell::Value(value.ok_or_else(column)?)
            }
            (Want::Value, None, Some(logical)) => {
                let format = Format::of_code(given.format).unwrap_or(Format::Text);
                let value = values::read(bytes, logical, format, context);
                Cell::Value(value?)
            }
        });
    }
    Ok((cells, gathered))
}

/// The aggregate of an array of sealed values, which are counted.
fn total(
    plan: &TextPlan,
    id: ColumnId,
    mut aggregate: Accumulator,
    array: &[u8],
    gathered: &mut usize,
) -> Result<Option<Value>, RowError> {
    let unopened = || StatementError::unopened(plan.loaded.schema.column(id));
    for element in values::array_elements(array).ok_or_else(unopened)? {
        let Some(sealed) = element.map_err(|_| unopened())? else {
            continue;
        };
        let value = plan.loaded.sealer.open(id, sealed).ok_or_else(unopened)?;
        aggregate.add(Some(&value))?;
        *gathered += 1;
    }
    aggregate.finish().map_err(RowError::from)
}
