//! `UPDATE` of protected columns by their old values: rows are read, their new values computed.

use std::sync::Arc;

use column_value::{LogicalType, ValueError};
use finish::{Cell, Limits, Names, Ready, Row};
use semantics_postgres::{TextContext, assign, check_assignment};
use sql_plan::{ColumnId, Current, Plan, ReadModifyWrite};

use crate::constants::seal_computed;
use crate::inputs::Inputs;
use crate::loaded::Loaded;
use crate::locked_rows::{RowName, SealedColumns};
use crate::plans::TextPlan;
use crate::statement_error::StatementError;
use crate::statements::{BoundConstants, Statement};
use crate::value_format::ValueFormat;

/// Computed values, sealed. None: NULL.
pub type Sealed = Vec<Option<Box<[u8]>>>;

/// Computes new values of sealed columns.
#[derive(Debug)]
pub struct Computation {
    values: Vec<(Ready, ColumnId)>,
}

impl Computation {
    /// Prepares the expressions of a statement with its constants and parameters.
    ///
    /// # Errors
    /// One of them is no value of its type.
    pub fn new<F: ValueFormat>(
        statement: &Statement,
        modify: &ReadModifyWrite,
        inputs: &Inputs<'_, F>,
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
            let target = schema.column(assignment.column);
            if let Some(from) = ready.logical {
                // A parameter may be declared otherwise than it was planned.
                check_assignment(&target.column, from, target.logical)?;
            }
            Ok((ready, assignment.column))
        });
        let values = values.collect::<Result<_, ValueError>>();
        Ok(Self { values: values? })
    }

    /// Computes the new values from the old ones. Sealed values are opened; plain ones come in this
    /// format.
    ///
    /// # Errors
    /// A value does not open, or the server would fail.
    pub fn compute<'v, F: ValueFormat>(
        &self,
        loaded: &Loaded,
        current: impl Iterator<Item = (Current, Option<&'v [u8]>)>,
        format: F,
        context: &TextContext,
    ) -> Result<Sealed, StatementError> {
        let mut cells = vec![Cell::Null; LOCATORS];
        for (current, bytes) in current {
            cells.push(match (current, bytes) {
                (_, None) => Cell::Null,
                (Current::Sealed(column), Some(sealed)) => {
                    let value = loaded.sealer.open(column, sealed);
                    let unopened = |_| StatementError::unopened(loaded.schema.column(column));
                    value.map_err(unopened)?.map_or(Cell::Null, Cell::Value)
                }
                (Current::Plain(logical), Some(bytes)) => {
                    Cell::Value(format.read(bytes, logical, context)?)
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
            assign(value, from, to, context).map(Some)
        });
        let values = values.collect::<Result<Vec<_>, ValueError>>()?;
        let columns: Vec<ColumnId> = self.values.iter().map(|(_, column)| *column).collect();
        Ok(seal_computed::<F>(loaded, &columns, values, context)?)
    }

    /// The computed columns with these values.
    pub fn columns(&self, sealed: Sealed) -> SealedColumns {
        let columns = self.values.iter().map(|(_, column)| *column);
        columns.zip(sealed).collect()
    }
}

/// The number of outputs before the columns that locate the row: PostgreSQL's `ctid` and
/// `tableoid`.
const LOCATORS: usize = 2;

/// New values of the rows of one statement.
#[derive(Debug)]
pub struct Changes {
    /// The statement.
    pub statement: Arc<Statement>,
    /// The index of the statement in its text.
    pub index: usize,
    /// The row, if a unique key selects a single one.
    pub row: Option<RowName>,
    /// The expressions.
    pub computation: Computation,
    /// Limits of rows and bytes.
    pub limits: Limits,
    bytes: usize,
    changed: Vec<Changed>,
    failure: Option<StatementError>,
}

/// A row to be written.
#[derive(Debug)]
pub struct Changed {
    /// The locator of the row.
    pub locators: [Option<Box<[u8]>>; LOCATORS],
    /// Its new values.
    pub computed: Sealed,
}

impl Changes {
    /// Makes it without rows.
    pub fn new(
        (statement, index): (Arc<Statement>, usize),
        row: Option<RowName>,
        computation: Computation,
        limits: Limits,
    ) -> Self {
        Self {
            statement,
            index,
            row,
            computation,
            limits,
            bytes: 0,
            changed: Vec::new(),
            failure: None,
        }
    }

    /// The rows to write.
    ///
    /// # Errors
    /// The first error of [`Self::take_row`].
    pub fn changed(&self) -> Result<&[Changed], StatementError> {
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(&self.changed),
        }
    }

    /// The columns and new values of the row, if there is exactly one.
    pub fn into_only(self) -> Option<SealedColumns> {
        let [changed] = <[Changed; 1]>::try_from(self.changed).ok()?;
        Some(self.computation.columns(changed.computed))
    }

    /// Computes the new values of a row that was read. [`Self::changed`] reports what went wrong.
    ///
    /// # Errors
    /// A value does not open, so the session must end.
    pub fn take_row<F: ValueFormat>(
        &mut self,
        values: &[Option<&[u8]>],
        format: F,
        context: &TextContext,
    ) -> Result<(), StatementError> {
        if self.failure.is_some() {
            return Ok(());
        }
        match self.compute(values, format, context) {
            Ok(changed) => {
                self.bytes += changed.size();
                self.changed.push(changed);
            }
            Err(failure) if failure.ends_session => return Err(failure),
            Err(failure) => {
                self.changed = Vec::new();
                self.bytes = 0;
                self.failure = Some(failure);
            }
        }
        Ok(())
    }

    fn compute<F: ValueFormat>(
        &self,
        values: &[Option<&[u8]>],
        format: F,
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
        if self.changed.len() >= self.limits.rows_max {
            let hint =
                "Narrow the condition, or raise max_finish_rows in the proxy's configuration.";
            return Err(too_much(
                &format!("more than {} rows", self.limits.rows_max),
                modify,
                hint,
            ));
        }
        if self.bytes > self.limits.bytes_max {
            return Err(self.too_many_bytes());
        }
        let current = modify.current.iter().copied();
        let current = current.zip(values[LOCATORS..].iter().copied());
        let computed = self.computation.compute(loaded, current, format, context)?;
        let locator = |index: usize| values[index].map(Into::into);
        Ok(Changed {
            locators: [locator(0), locator(1)],
            computed,
        })
    }

    /// The error that the rows take more memory than allowed.
    pub fn too_many_bytes(&self) -> StatementError {
        let Some(modify) = modification(&self.statement.plan, self.index) else {
            return StatementError::other_plan();
        };
        let hint = "Narrow the condition, or raise max_finish_bytes in the proxy's configuration.";
        let what = format!("more than {} bytes", self.limits.bytes_max);
        too_much(&what, modify, hint)
    }
}

impl Changed {
    /// Its approximate size in bytes.
    fn size(&self) -> usize {
        let values = self.locators.iter().chain(&self.computed);
        values
            .map(|value| size_of::<Option<Box<[u8]>>>() + value.as_ref().map_or(0, |own| own.len()))
            .sum()
    }
}

fn too_much(what: &str, modify: &ReadModifyWrite, hint: &'static str) -> StatementError {
    let table = modify.effects.writes.as_ref();
    let table = table.map_or("a table", |(_, table)| table);
    let message = format!("the proxy would have to compute new values of {what} of {table}");
    StatementError::limit(message).hint(hint)
}

/// The statement with computed values at an index of a text.
pub fn modification(plan: &TextPlan, index: usize) -> Option<&ReadModifyWrite> {
    match &plan.planned.get(index)?.plan {
        Plan::ReadModifyWrite(modify) => Some(modify),
        _ => None,
    }
}
