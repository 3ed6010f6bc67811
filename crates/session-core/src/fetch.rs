//! Columns and rows that the proxy fetches to finish a query; rows become cells.

use column_value::{LogicalType, Value, ValueError};
use finish::{Cell, Constants, FinishError, Input, Program, Want};
use semantics_postgres::{Accumulator, TextContext};
use sql_plan::{AggregateFunction, ColumnId, Expression, Finish, OutputKind, Plan};

use crate::plans::TextPlan;
use crate::statement_error::StatementError;
use crate::value_format::ValueFormat;

/// A column of a fetch.
#[derive(Clone, Debug)]
pub struct FetchedColumn<F> {
    /// The type. None: a type that the proxy does not know.
    pub logical: Option<LogicalType>,
    /// The protected column. None: the column is plain.
    pub sealed: Option<ColumnId>,
    /// The column is this aggregate over an array of sealed values.
    pub gathered: Option<Accumulator>,
    /// The format in which it comes.
    pub format: F,
}

impl<F: ValueFormat> FetchedColumn<F> {
    /// The column of an output. A plain one has the type and format given.
    ///
    /// # Errors
    /// As [`Accumulator::new`].
    pub fn new(
        plan: &TextPlan,
        kind: OutputKind,
        plain: (Option<LogicalType>, F),
    ) -> Result<Self, ValueError> {
        let logical = |id| plan.loaded.schema.column(id).logical;
        Ok(match kind {
            OutputKind::Plain => Self {
                logical: plain.0,
                sealed: None,
                gathered: None,
                format: plain.1,
            },
            OutputKind::Sealed(id) => Self::sealed(id, logical(id)),
            OutputKind::Gathered(id, function) => Self::gathered(id, logical(id), function)?,
        })
    }

    /// A sealed column of this type.
    pub fn sealed(id: ColumnId, logical: LogicalType) -> Self {
        Self {
            logical: Some(logical),
            sealed: Some(id),
            gathered: None,
            format: F::BINARY,
        }
    }

    fn gathered(
        id: ColumnId,
        logical: LogicalType,
        function: AggregateFunction,
    ) -> Result<Self, ValueError> {
        let gathered = finish::accumulator(function, logical)?;
        Ok(Self {
            logical: Some(gathered.result_type()),
            sealed: Some(id),
            gathered: Some(gathered),
            format: F::BINARY,
        })
    }

    fn input(&self) -> Input {
        Input {
            logical: self.logical,
            is_aggregate: self.gathered.is_some(),
        }
    }
}

/// The formats in which to ask for the columns. A plain column that is also a column of the answer
/// comes as the client wants it, so that it can be copied; all others come in binary. `wanted`
/// gives the format of a column of the answer.
pub fn fetch_formats<F: ValueFormat>(finish: &Finish, wanted: impl Fn(usize) -> F) -> Vec<F> {
    let mut formats = vec![F::BINARY; finish.fetch.outputs.len()];
    for (number, (_, value, _)) in finish.project.iter().enumerate().rev() {
        if let Expression::Column(column) = value
            && let Some(output) = finish.fetch.outputs.get(*column)
            && output.kind == OutputKind::Plain
        {
            formats[*column] = wanted(number);
        }
    }
    formats
}

/// The executor's program over these columns. A plain column is copied if it comes in the format
/// that the client wants.
///
/// # Errors
/// As [`Program::new`].
pub fn program<F: ValueFormat + PartialEq>(
    finish: &Finish,
    fetched: &[FetchedColumn<F>],
    constants: &dyn Constants,
    wanted: impl Fn(usize) -> F,
) -> Result<Program, ValueError> {
    let inputs: Vec<Input> = fetched.iter().map(FetchedColumn::input).collect();
    Program::new(finish, &inputs, constants, |column, output| {
        fetched
            .get(column)
            .is_some_and(|fetched| fetched.sealed.is_none() && fetched.format == wanted(output))
    })
}

/// The query at an index of a text.
pub fn finish_at(plan: &TextPlan, index: usize) -> Option<&Finish> {
    match &plan.planned.get(index)?.plan {
        Plan::Finish(finish) => Some(finish),
        _ => None,
    }
}

/// The table of a query, for messages.
pub fn subject(plan: &TextPlan, finish: &Finish) -> String {
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

/// The error of a query that cannot be finished.
pub fn unfinished(error: FinishError, subject: &str) -> StatementError {
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

/// The cells of a row, and how many values were gathered in them.
///
/// # Errors
/// A value does not open, or is not of its type.
pub fn cells<'a, F: ValueFormat>(
    plan: &TextPlan,
    program: &Program,
    columns: &[FetchedColumn<F>],
    (count, row): (usize, impl Iterator<Item = Option<&'a [u8]>>),
    context: &TextContext,
) -> Result<(Vec<Cell<'a>>, usize), StatementError> {
    if count != columns.len() {
        return Err(StatementError::other_columns());
    }
    let mut cells = Vec::with_capacity(columns.len());
    let mut gathered = 0;
    for (number, (bytes, column)) in row.zip(columns).enumerate() {
        let Some(bytes) = bytes else {
            cells.push(Cell::Null);
            continue;
        };
        if let (Some(id), Some(aggregate)) = (column.sealed, &column.gathered) {
            let total = total::<F>(plan, id, aggregate.clone(), bytes, &mut gathered)?;
            cells.push(total.map_or(Cell::Null, Cell::Value));
            continue;
        }
        cells.push(
            match (program.want(number), column.sealed, column.logical) {
                // Whether it is NULL, only its content says.
                (Want::Raw, Some(id), _) if plan.loaded.schema.is_member(id) => {
                    let value = plan.loaded.sealer.open(id, bytes);
                    let unopened = |_| StatementError::unopened(plan.loaded.schema.column(id));
                    value
                        .map_err(unopened)?
                        .map_or(Cell::Null, |_| Cell::Raw(bytes))
                }
                (Want::Raw, ..) | (_, None, None) => Cell::Raw(bytes),
                (Want::Value, Some(id), _) => {
                    let value = plan.loaded.sealer.open(id, bytes);
                    let unopened = |_| StatementError::unopened(plan.loaded.schema.column(id));
                    value.map_err(unopened)?.map_or(Cell::Null, Cell::Value)
                }
                (Want::Value, None, Some(logical)) => {
                    Cell::Value(column.format.read(bytes, logical, context)?)
                }
            },
        );
    }
    Ok((cells, gathered))
}

/// Aggregates an array of sealed values, and counts them.
fn total<F: ValueFormat>(
    plan: &TextPlan,
    id: ColumnId,
    mut aggregate: Accumulator,
    array: &[u8],
    gathered: &mut usize,
) -> Result<Option<Value>, StatementError> {
    let unopened = || StatementError::unopened(plan.loaded.schema.column(id));
    for element in F::gathered(array).ok_or_else(unopened)? {
        let Some(sealed) = element.map_err(|_| unopened())? else {
            continue;
        };
        let value = plan.loaded.sealer.open(id, sealed);
        let value = value.map_err(|_| unopened())?;
        aggregate.add(value.as_ref())?;
        *gathered += 1;
    }
    Ok(aggregate.finish()?)
}
