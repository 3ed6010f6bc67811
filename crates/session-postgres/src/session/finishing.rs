//! A query that the proxy finishes, while its rows come.

use std::sync::Arc;

use column_types::{Accumulator, TextContext, Value};
use finish::{Cell, FinishError, Limits, Program, Want};
use session_core::StatementError;
use session_core::plans::TextPlan;
use sql_plan::{ColumnId, Finish, OutputKind, Plan};
use wire_postgres::backend::{self, kind};
use wire_postgres::frontend::Bind;
use wire_postgres::values::{self, Format};

use super::fetched::{self, DataRows, FetchedColumn, fetch_formats};
use super::inputs::Inputs;
use super::rows::RowError;
use super::statements::Statement;
use crate::session::statements::{BoundConstants, UnboundConstants};

/// An answer whose rows are DataRow messages.
pub(super) type Answer = finish::Answer<DataRows>;

/// A query that takes steps: the columns of its fetch, then their rows.
#[derive(Debug)]
pub(super) struct Finishing {
    pub statement: Arc<Statement>,
    pub index: usize,
    /// The body of the client's Bind.
    pub bind: Box<[u8]>,
    /// The client's portal.
    pub portal: Box<[u8]>,
    /// Rows that the client wants; None: all.
    pub rows_max: Option<usize>,
    /// Whether the client wants the columns first.
    pub is_described: bool,
    pub limits: Limits,
    /// What the query is over, for errors: the table.
    pub subject: String,
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
    Running(Box<Answer>, Vec<FetchedColumn>),
    /// What went wrong first; the rows that still come go nowhere.
    Failed(StatementError),
}

/// The query at an index of a text.
pub(super) fn finish_at(plan: &TextPlan, index: usize) -> Option<&Finish> {
    match &plan.planned.get(index)?.plan {
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
    fetch_formats(finish, |index| bind.result_formats.of(index))
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
            Ok((answer, fetched)) => self.state = State::Running(Box::new(answer), fetched),
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
    ) -> Result<(Answer, Vec<FetchedColumn>), RowError> {
        let bind = Bind::read(&self.bind)?;
        let inputs = Inputs::new(self.index, &bind, context);
        let finish =
            finish_at(&self.statement.plan, self.index).ok_or_else(StatementError::other_plan)?;
        let columns = columns(&self.statement.plan, finish, body, &formats(finish, &bind))?;
        let statement = &self.statement;
        let constants = BoundConstants {
            statement,
            inputs: &inputs,
        };
        let wanted = |index| bind.result_formats.of(index);
        let program = fetched::program(finish, &columns, &constants, wanted)?;
        let rows = DataRows::new(&program, &columns, wanted);
        if self.is_described {
            rows.write_description(&program, out);
        }
        let answer = Answer::new(program, rows, self.limits, context)?;
        Ok((answer, columns))
    }

    /// Takes a row of the fetch; rows of the answer leave as soon as they are known.
    pub(super) fn row(
        &mut self,
        body: &[u8],
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        self.fetched += 1;
        let State::Running(answer, columns) = &mut self.state else {
            return Ok(());
        };
        let plan = &self.statement.plan;
        let pushed = cells(plan, answer.program(), columns, body, context);
        let pushed = pushed.and_then(|(cells, gathered)| {
            let pushed = answer.count(gathered);
            let pushed = pushed.and_then(|()| answer.push(&cells, context));
            Ok(pushed.map_err(|error| failure(error, &self.subject))?)
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
                let ended = answer.end(context);
                ended.map_err(|error| failure(error, &self.subject))?;
                give(&mut answer, self.rows_max, self.sent, out);
                Ok(answer)
            }
        }
    }
}

/// What the client is told of it.
fn failure(error: FinishError, subject: &str) -> StatementError {
    match error {
        FinishError::Value(error) => error.into(),
        FinishError::TooManyRows(rows_max) => StatementError::limit(format!(
            "a query over {subject} fetches more than {rows_max} rows to be finished by the proxy"
        ))
        .hint(
            "Narrow its conditions on columns that the server can compare, or raise \
             max_finish_rows.",
        ),
        FinishError::TooManyBytes(bytes_max) => StatementError::limit(format!(
            "a query over {subject} keeps more than {bytes_max} bytes in the proxy to be finished"
        ))
        .hint(
            "Narrow its conditions on columns that the server can compare, or raise \
             max_finish_bytes.",
        ),
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
    index: usize,
    body: &[u8],
    wanted: &[i16],
    out: &mut Vec<u8>,
) -> Result<(), RowError> {
    let plan = &statement.plan;
    let finish = finish_at(plan, index).ok_or_else(StatementError::other_plan)?;
    let wanted = |index: usize| match wanted {
        [] => 0,
        [one] => *one,
        many => many.get(index).copied().unwrap_or(0),
    };
    let columns = columns(plan, finish, body, &fetch_formats(finish, wanted))?;
    let program = fetched::program(finish, &columns, &UnboundConstants(statement), wanted)?;
    DataRows::new(&program, &columns, wanted).write_description(&program, out);
    Ok(())
}

/// The columns of a fetch, as the server describes them and as they are meant.
fn columns(
    plan: &TextPlan,
    finish: &Finish,
    body: &[u8],
    formats: &[i16],
) -> Result<Vec<FetchedColumn>, RowError> {
    let fields = backend::read_row_description(body)?;
    let outputs = &finish.fetch.outputs;
    if fields.len() != outputs.len() {
        return Err(StatementError::other_columns().into());
    }
    let columns = fields.iter().zip(outputs).zip(formats);
    let columns = columns.map(|((field, output), format)| {
        let logical = |id| plan.loaded.schema.column(id).logical;
        Ok(match output.kind {
            OutputKind::Plain => FetchedColumn::plain(field, *format),
            OutputKind::Sealed(id) => FetchedColumn::sealed(field, id, logical(id)),
            OutputKind::Gathered(id, function) => {
                FetchedColumn::gathered(id, logical(id), function)?
            }
        })
    });
    columns.collect()
}

/// The fields of a row, and how many values were gathered in them.
fn cells<'a>(
    plan: &TextPlan,
    program: &Program,
    columns: &[FetchedColumn],
    body: &'a [u8],
    context: &TextContext,
) -> Result<(Vec<Cell<'a>>, usize), RowError> {
    let row = backend::read_data_row(body)?;
    if row.count() != columns.len() {
        return Err(StatementError::other_columns().into());
    }
    let mut cells = Vec::with_capacity(columns.len());
    let mut gathered = 0;
    for (number, (bytes, column)) in row.iter().zip(columns).enumerate() {
        let Some(bytes) = bytes else {
            cells.push(Cell::Null);
            continue;
        };
        if let (Some(id), Some(aggregate)) = (column.sealed, &column.gathered) {
            let total = total(plan, id, aggregate.clone(), bytes, &mut gathered)?;
            cells.push(total.map_or(Cell::Null, Cell::Value));
            continue;
        }
        cells.push(
            match (program.want(number), column.sealed, column.logical) {
                (Want::Raw, ..) | (_, None, None) => Cell::Raw(bytes),
                (Want::Value, Some(id), _) => {
                    let value = plan.loaded.sealer.open(id, bytes);
                    let unopened = || StatementError::unopened(plan.loaded.schema.column(id));
                    Cell::Value(value.ok_or_else(unopened)?)
                }
                (Want::Value, None, Some(logical)) => {
                    let format = Format::of_code(column.described.format).unwrap_or(Format::Text);
                    let value = values::read(bytes, logical, format, context);
                    Cell::Value(value?)
                }
            },
        );
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
