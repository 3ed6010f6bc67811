//! A query that the proxy finishes, while its rows come.

use std::sync::Arc;

use finish::Limits;
use semantics_postgres::TextContext;
use session_core::{
    BoundConstants, FetchedColumn, Statement, StatementError, UnboundConstants, cells,
    fetch_formats, finish_at, program, unfinished,
};
use sql_plan::Finish;
use wire_postgres::backend::{self, kind};
use wire_postgres::frontend::{Bind, KeptBind};

use super::fetched::{DataRows, read_columns};
use super::format::FormatCode;
use super::rows::RowError;
use crate::session::statements::inputs_of;

/// An answer whose rows are DataRow messages.
pub(super) type DataRowAnswer = finish::Answer<DataRows>;

/// A query that takes steps: the columns of its fetch, then their rows.
#[derive(Debug)]
pub(super) struct Finishing {
    pub statement: Arc<Statement>,
    pub index: usize,
    /// The client's Bind.
    pub bind: Arc<KeptBind>,
    /// The client's portal.
    pub portal: Box<[u8]>,
    /// How many rows the client wants. None: all.
    pub rows_max: Option<usize>,
    /// Whether to send RowDescription first.
    pub is_described: bool,
    pub limits: Limits,
    /// The table, for errors.
    pub subject: String,
    pub progress: Progress,
    /// How many rows the server has sent.
    pub fetched: u64,
    /// How many rows the client was sent.
    pub sent: u64,
    /// The client's Sync was sent after it.
    pub is_synced: bool,
}

/// The progress of a query.
#[derive(Debug)]
pub(super) enum Progress {
    /// The columns are not known yet.
    Begun,
    Running(Box<DataRowAnswer>, Vec<FetchedColumn<FormatCode>>),
    /// It has failed with this error. Rows that still come are dropped.
    Failed(StatementError),
}

/// The formats in which to ask for the columns of the fetch.
pub(super) fn formats(finish: &Finish, bind: &Bind<'_>) -> Vec<FormatCode> {
    fetch_formats(finish, |index| FormatCode(bind.result_formats.of(index)))
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
            Ok((answer, fetched)) => self.progress = Progress::Running(Box::new(answer), fetched),
            Err(RowError::Statement(failure)) if !failure.ends_session => {
                self.progress = Progress::Failed(failure);
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
    ) -> Result<(DataRowAnswer, Vec<FetchedColumn<FormatCode>>), RowError> {
        let bind = self.bind.bind();
        let inputs = inputs_of(self.index, &bind, context);
        let finish =
            finish_at(&self.statement.plan, self.index).ok_or_else(StatementError::other_plan)?;
        let formats = formats(finish, &bind);
        let (columns, described) = read_columns(&self.statement.plan, finish, body, &formats)?;
        let statement = &self.statement;
        let constants = BoundConstants {
            statement,
            inputs: &inputs,
        };
        let wanted = |index| FormatCode(bind.result_formats.of(index));
        let program = program(finish, &columns, &constants, wanted)?;
        let rows = DataRows::new(&program, &described, wanted);
        if self.is_described {
            rows.write_description(&program, out);
        }
        let answer = DataRowAnswer::new(program, rows, self.limits, context)?;
        Ok((answer, columns))
    }

    /// Takes a row of the fetch. Rows of the answer are written as soon as they are known.
    pub(super) fn row(
        &mut self,
        body: &[u8],
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        self.fetched += 1;
        let Progress::Running(answer, columns) = &mut self.progress else {
            return Ok(());
        };
        let plan = &self.statement.plan;
        let row = backend::read_data_row(body)?;
        let row = (row.count(), row.iter());
        let pushed = cells(plan, answer.program(), columns, row, context);
        let pushed = pushed.and_then(|(cells, gathered)| {
            let pushed = answer.count(gathered);
            let pushed = pushed.and_then(|()| answer.push(&cells, context));
            pushed.map_err(|error| unfinished(error, &self.subject))
        });
        match pushed {
            Ok(()) if self.rows_max.is_none() => self.sent += answer.take(None, out).rows,
            Ok(()) => {}
            Err(failure) if !failure.ends_session => self.progress = Progress::Failed(failure),
            Err(failure) => return Err(failure.into()),
        }
        Ok(())
    }

    /// Ends the fetch. Returns what is left for the next Execute.
    ///
    /// # Errors
    /// What went wrong first.
    pub(super) fn end(
        self,
        context: &TextContext,
        out: &mut Vec<u8>,
    ) -> Result<Box<DataRowAnswer>, StatementError> {
        match self.progress {
            Progress::Begun => Err(StatementError::defect(
                "the columns of a query did not come",
            )),
            Progress::Failed(failure) => Err(failure),
            Progress::Running(mut answer, _) => {
                let ended = answer.end(context);
                ended.map_err(|error| unfinished(error, &self.subject))?;
                give(&mut answer, self.rows_max, self.sent, out);
                Ok(answer)
            }
        }
    }
}

/// Writes the next rows for the client, then PortalSuspended or CommandComplete.
pub(super) fn give(
    answer: &mut DataRowAnswer,
    rows_max: Option<usize>,
    sent: u64,
    out: &mut Vec<u8>,
) {
    let taken = answer.take(rows_max, out);
    let is_full = rows_max.is_some_and(|rows_max| taken.rows == rows_max as u64);
    if is_full {
        // Like the server, it does not check whether there is another row.
        backend::write_empty(kind::PORTAL_SUSPENDED, out);
    } else {
        let tag = format!("SELECT {}", sent + taken.rows);
        backend::write_command_complete(&tag, out);
    }
}

/// Writes the RowDescription of a query, given that of its fetch.
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
        [] => FormatCode(0),
        [one] => FormatCode(*one),
        many => FormatCode(many.get(index).copied().unwrap_or(0)),
    };
    let (columns, described) = read_columns(plan, finish, body, &fetch_formats(finish, wanted))?;
    let program = program(
        finish,
        &columns,
        &UnboundConstants::<FormatCode>::new(statement),
        wanted,
    )?;
    DataRows::new(&program, &described, wanted).write_description(&program, out);
    Ok(())
}
