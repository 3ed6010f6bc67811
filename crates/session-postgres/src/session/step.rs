//! Statements whose rows the proxy takes itself, because they decide what is sent next.

use std::sync::Arc;

use column_types::{LogicalType, TextContext, ValueError, assign};
use finish::{Cell, Names, Ready, Row};
use session_core::plans::TextPlan;
use session_core::{Loaded, StatementError};
use sql_plan::{ColumnId, Current, Plan, Purpose, ReadModifyWrite};
use wire_postgres::backend;
use wire_postgres::values::{self, Format};

use super::finishing::Finishing;
use super::inputs::Inputs;
use super::locks::RowName;
use super::rows::RowError;
use super::statements::Statement;
use crate::session::statements::BoundConstants;

/// A statement that takes steps, while its rows come.
#[derive(Debug)]
pub(super) enum Step {
    /// New values are computed from old ones.
    Modify(Modify),
    /// A query is finished.
    Finish(Finishing),
}

impl Step {
    /// Takes the columns of the rows.
    pub(super) fn columns(
        &mut self,
        body: &[u8],
        context: &TextContext,
        to_client: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        match self {
            Self::Modify(_) => Ok(()),
            Self::Finish(finishing) => finishing.columns(body, context, to_client),
        }
    }

    /// Takes a row.
    pub(super) fn row(
        &mut self,
        body: &[u8],
        context: &TextContext,
        to_client: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        match self {
            Self::Modify(modify) => modify.row(body, context),
            Self::Finish(finishing) => finishing.row(body, context, to_client),
        }
    }
}

/// Sealed values, as they are computed; None: NULL.
pub(super) type Sealed = Vec<Option<Box<[u8]>>>;

/// Computes new values of sealed columns.
#[derive(Debug)]
pub(super) struct Computation {
    values: Vec<(Ready, ColumnId)>,
}

impl Computation {
    /// Puts constants and parameters in.
    pub(super) fn new(
        statement: &Statement,
        modify: &ReadModifyWrite,
        inputs: &Inputs<'_>,
    ) -> Result<Self, StatementError> {
        let schema = &statement.plan.loaded.schema;
        let current = modify.current.iter();
        let current = current.map(|current| match current {
            Current::Sealed(column) => Some(schema.column(*column).logical),
            Current::Plain(logical) => Some(*logical),
        });
        let columns = [None; LOCATORS].into_iter().chain(current);
        let columns: Vec<Option<LogicalType>> = columns.collect();
        let names = Names {
            columns: &columns,
            groups: &[],
            aggregates: &[],
            constants: &BoundConstants { statement, inputs },
        };
        let values = modify.assignments.iter().map(|assignment| {
            let ready = Ready::new(&assignment.value, &names)?;
            Ok((ready, assignment.column))
        });
        let values = values.collect::<Result<_, ValueError>>();
        Ok(Self { values: values? })
    }

    /// The new values over the old ones, sealed both.
    pub(super) fn compute<'v>(
        &self,
        loaded: &Loaded,
        current: impl Iterator<Item = (Current, Option<&'v [u8]>)>,
        context: &TextContext,
    ) -> Result<Sealed, StatementError> {
        let mut cells = vec![Cell::Null; LOCATORS];
        for (current, bytes) in current {
            cells.push(match (current, bytes) {
                (_, None) => Cell::Null,
                (Current::Sealed(column), Some(sealed)) => {
                    let value = loaded.sealer.open(column, sealed);
                    Cell::Value(
                        value.ok_or_else(|| {
                            StatementError::unopened(loaded.schema.column(column))
                        })?,
                    )
                }
                (Current::Plain(logical), Some(bytes)) => {
                    let value = values::read(bytes, logical, Format::Binary, context);
                    Cell::Value(value?)
                }
            });
        }
        let row = Row {
            columns: &cells,
            groups: &[],
            aggregates: &[],
            context,
        };
        let values = self.values.iter().map(|(ready, column)| {
            let (Some(value), Some(from)) = (ready.owned(&row)?, ready.logical) else {
                return Ok(None);
            };
            let to = loaded.schema.column(*column).logical;
            let value = assign(value, from, to, context)?;
            let mut sealed = Vec::new();
            loaded
                .sealer
                .seal(*column, Purpose::Store, &value, &mut sealed)?;
            Ok(Some(sealed.into_boxed_slice()))
        });
        Ok(values.collect::<Result<_, ValueError>>()?)
    }

    /// The columns that are computed, with values.
    pub(super) fn columns(&self, sealed: Sealed) -> Vec<(ColumnId, Option<Box<[u8]>>)> {
        let columns = self.values.iter().map(|(_, column)| *column);
        columns.zip(sealed).collect()
    }
}

/// Outputs before the columns: `ctid`, `tableoid`.
const LOCATORS: usize = 2;

/// `UPDATE` by old values: rows are read, and will be written.
#[derive(Debug)]
pub(super) struct Modify {
    pub statement: Arc<Statement>,
    pub index: usize,
    /// The body of the client's Bind.
    pub bind: Box<[u8]>,
    /// The client's portal.
    pub portal: Box<[u8]>,
    /// The row, where it is one.
    pub row: Option<RowName>,
    pub computation: Computation,
    pub rows_max: usize,
    /// What may be kept of them.
    pub bytes_max: usize,
    /// What is kept.
    pub bytes: usize,
    /// What was computed.
    pub changed: Vec<Changed>,
    /// What went wrong first.
    pub failure: Option<StatementError>,
}

/// A row to be written.
#[derive(Debug)]
pub(super) struct Changed {
    /// Where it lies.
    pub locators: [Option<Box<[u8]>>; LOCATORS],
    /// Its new values.
    pub computed: Sealed,
}

impl Modify {
    fn row(&mut self, body: &[u8], context: &TextContext) -> Result<(), RowError> {
        if self.failure.is_some() {
            return Ok(());
        }
        let values: Vec<Option<&[u8]>> = backend::read_data_row(body)?.iter().collect();
        match self.compute(&values, context) {
            Ok(changed) => {
                self.bytes += changed.size();
                self.changed.push(changed);
            }
            Err(failure) if failure.ends_session => return Err(RowError::Statement(failure)),
            Err(failure) => {
                self.changed = Vec::new();
                self.bytes = 0;
                self.failure = Some(failure);
            }
        }
        Ok(())
    }

    fn compute(
        &self,
        values: &[Option<&[u8]>],
        context: &TextContext,
    ) -> Result<Changed, StatementError> {
        let (plan, loaded) = (&self.statement.plan, &self.statement.plan.loaded);
        let Some(modify) = modification(plan, self.index) else {
            return Err(StatementError::defect("the plan is another"));
        };
        if values.len() != modify.current.len() + LOCATORS {
            let message = "the server gives other columns than the statement was planned for";
            return Err(StatementError::unsupported(message));
        }
        if self.changed.len() >= self.rows_max {
            let hint =
                "Narrow the condition, or raise max_finish_rows in the proxy's configuration.";
            return Err(too_much(
                &format!("more than {} rows", self.rows_max),
                modify,
                hint,
            ));
        }
        if self.bytes > self.bytes_max {
            return Err(too_many_bytes(self));
        }
        let current = modify.current.iter().copied();
        let current = current.zip(values[LOCATORS..].iter().copied());
        let computed = self.computation.compute(loaded, current, context)?;
        let locator = |index: usize| values[index].map(Into::into);
        Ok(Changed {
            locators: [locator(0), locator(1)],
            computed,
        })
    }
}

impl Changed {
    /// Bytes that it takes, about.
    fn size(&self) -> usize {
        let values = self.locators.iter().chain(&self.computed);
        values
            .map(|value| size_of::<Option<Box<[u8]>>>() + value.as_ref().map_or(0, |own| own.len()))
            .sum()
    }
}

/// Its rows would take more memory than they may.
pub(super) fn too_many_bytes(step: &Modify) -> StatementError {
    let Some(modify) = modification(&step.statement.plan, step.index) else {
        return StatementError::other_plan();
    };
    let hint = "Narrow the condition, or raise max_finish_bytes in the proxy's configuration.";
    too_much(&format!("more than {} bytes", step.bytes_max), modify, hint)
}

fn too_much(what: &str, modify: &ReadModifyWrite, hint: &'static str) -> StatementError {
    let table = modify.effects.writes.as_ref();
    let table = table.map_or("a table", |(_, table)| table);
    let message = format!("the proxy would have to compute new values of {what} of {table}");
    StatementError::limit(message).hint(hint)
}

/// What computes new values at an index of a text.
pub(super) fn modification(plan: &TextPlan, index: usize) -> Option<&ReadModifyWrite> {
    match &plan.planned.get(index)?.plan {
        Plan::ReadModifyWrite(modify) => Some(modify),
        _ => None,
    }
}
