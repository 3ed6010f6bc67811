//! A query to finish, with constants put in and types known.

use column_types::{Accumulator, Aggregation, LogicalType, ValueError};
use sql_rewrite::{AggregateFunction, ColumnId, Expression, Finish, OutputKind};
use sqlstate::SqlState;
use wire_postgres::backend::{self, Field};
use wire_postgres::values;

use super::equal::comparable;
use super::expression::{Constants, Names, Node, Ready, error, known, without_limits};

/// A column that the server gives.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// The table that it is of, or 0.
    pub table: u32,
    /// Its number in the table, or 0.
    pub column: i16,
    /// Number, size and limits of its type, as the client knows it.
    pub type_oid: u32,
    pub type_size: i16,
    pub type_modifier: i32,
    /// The type; None: one that the proxy does not know.
    pub logical: Option<LogicalType>,
    /// The protected column; None: it is plain.
    pub sealed: Option<ColumnId>,
    /// It comes as an array of sealed values, and is this aggregate of them.
    pub gathered: Option<Accumulator>,
    /// 0 or 1: how a plain one comes.
    pub format: i16,
}

impl Given {
    /// A plain column, as the server describes it.
    pub(crate) fn plain(field: &Field<'_>, format: i16) -> Self {
        Self {
            table: field.table,
            column: field.column,
            type_oid: field.type_oid,
            type_size: field.type_size,
            type_modifier: field.type_modifier,
            logical: values::logical(field.type_oid, field.type_modifier),
            sealed: None,
            gathered: None,
            format,
        }
    }

    /// A sealed column of this type.
    pub(crate) fn sealed(field: &Field<'_>, id: ColumnId, logical: LogicalType) -> Self {
        Self {
            table: field.table,
            column: field.column,
            type_oid: values::oid(logical),
            type_size: values::size(logical),
            type_modifier: values::modifier(logical),
            logical: Some(logical),
            sealed: Some(id),
            gathered: None,
            format: 1,
        }
    }

    /// An aggregate of sealed values of a column.
    ///
    /// # Errors
    /// As [`Accumulator::new`].
    pub(crate) fn gathered(
        id: ColumnId,
        logical: LogicalType,
        function: AggregateFunction,
    ) -> Result<Self, ValueError> {
        let gathered = Accumulator::new(aggregation(function), logical)?;
        let logical = gathered.result_type();
        Ok(Self {
            table: 0,
            column: 0,
            type_oid: values::oid(logical),
            type_size: values::size(logical),
            type_modifier: -1,
            logical: Some(logical),
            sealed: Some(id),
            gathered: Some(gathered),
            format: 1,
        })
    }
}

fn aggregation(function: AggregateFunction) -> Aggregation {
    match function {
        AggregateFunction::Count => Aggregation::Count,
        AggregateFunction::Sum => Aggregation::Sum,
        AggregateFunction::Average => Aggregation::Average,
        AggregateFunction::Minimum => Aggregation::Minimum,
        AggregateFunction::Maximum => Aggregation::Maximum,
    }
}

/// The formats in which plain columns are asked for, so that those that only pass need not be
/// read; sealed ones come in binary. `wanted`: of the answer's columns.
pub(crate) fn fetch_formats(finish: &Finish, wanted: impl Fn(usize) -> i16) -> Vec<i16> {
    let mut formats = vec![1; finish.fetch.outputs.len()];
    for (place, (_, value, _)) in finish.project.iter().enumerate().rev() {
        if let Expression::Column(column) = value
            && let Some(output) = finish.fetch.outputs.get(*column)
            && output.kind == OutputKind::Plain
        {
            formats[*column] = wanted(place);
        }
    }
    formats
}

/// What is needed of a column's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The value.
    Value,
    /// Its bytes as they came; or nothing but whether it is NULL.
    Raw,
}

impl Want {
    /// Whether an aggregate is NULL is known when it is computed.
    fn least(given: &Given) -> Self {
        match given.gathered {
            Some(_) => Self::Value,
            None => Self::Raw,
        }
    }
}

/// A query to finish.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) filter: Option<Ready>,
    pub(super) is_grouped: bool,
    pub(super) keys: Vec<(Ready, LogicalType)>,
    pub(super) totals: Vec<Total>,
    pub(super) having: Option<Ready>,
    pub(super) project: Vec<Projected>,
    pub(super) is_distinct: bool,
    pub(super) sorts: Vec<SortKey>,
    pub(super) limit: Option<Ready>,
    pub(super) offset: Option<Ready>,
    wants: Vec<Want>,
}

/// An aggregate.
#[derive(Debug)]
pub(super) struct Total {
    /// Without a value yet.
    pub begin: Accumulator,
    /// What is given to it.
    pub argument: Argument,
    pub filter: Option<Ready>,
}

#[derive(Debug)]
pub(super) enum Argument {
    /// `COUNT(*)`
    Rows,
    /// `COUNT(x)`: a condition, whether `x` is there.
    Present(Ready),
    Value(Ready),
    /// `DISTINCT`
    Distinct(Ready, LogicalType),
}

/// A column of the answer.
#[derive(Debug)]
pub(super) struct Projected {
    name: String,
    pub value: Ready,
    /// 0 or 1.
    pub format: i16,
    /// The column whose bytes go on as they are.
    pub passed: Option<usize>,
    field: Given,
}

/// A key of the order.
#[derive(Debug)]
pub(super) struct SortKey {
    pub value: Ready,
    pub is_char: bool,
    pub descending: bool,
    pub nulls_first: bool,
}

impl Program {
    /// Puts constants in. `wanted` are the formats of the answer's columns.
    ///
    /// # Errors
    /// A constant that is no value of its type, or types that do not fit.
    pub(crate) fn new(
        finish: &Finish,
        given: &[Given],
        constants: &dyn Constants,
        wanted: impl Fn(usize) -> i16,
    ) -> Result<Self, ValueError> {
        let columns: Vec<_> = given.iter().map(|given| given.logical).collect();
        let mut names = Names {
            columns: &columns,
            groups: &[],
            aggregates: &[],
            constants,
        };
        let filter = condition(finish.filter.as_ref(), &names)?;
        let mut keys = Vec::with_capacity(finish.group_by.len());
        for key in &finish.group_by {
            let key = Ready::new(&key.value, &names)?;
            let logical = comparable(key.logical)?;
            keys.push((key, logical));
        }
        let totals = finish.aggregates.iter();
        let totals = totals.map(|aggregate| Total::new(aggregate, &names));
        let totals = totals.collect::<Result<Vec<_>, _>>()?;
        let limit = bound(finish.limit.as_ref(), &names)?;
        let offset = bound(finish.offset.as_ref(), &names)?;

        let group_types: Vec<_> = keys.iter().map(|(_, logical)| Some(*logical)).collect();
        let total_types: Vec<_> = totals
            .iter()
            .map(|total| total.begin.result_type())
            .collect();
        names.groups = &group_types;
        names.aggregates = &total_types;
        let having = condition(finish.having.as_ref(), &names)?;
        let mut project = Vec::with_capacity(finish.project.len());
        for (place, (name, value, logical)) in finish.project.iter().enumerate() {
            let value = as_planned(Ready::new(value, &names)?, *logical)?;
            project.push(Projected {
                name: name.clone(),
                passed: None,
                format: wanted(place),
                field: field(&value, &keys, given)?,
                value,
            });
        }
        let sorts = finish.order_by.iter();
        let sorts = sorts.map(|sort| SortKey::new(sort, &names));
        let mut program = Self {
            filter,
            is_grouped: finish.grouped,
            keys,
            totals,
            having,
            project,
            is_distinct: finish.distinct,
            sorts: sorts.collect::<Result<_, _>>()?,
            limit,
            offset,
            wants: given.iter().map(Want::least).collect(),
        };
        program.find_wants(given)?;
        Ok(program)
    }

    /// What is needed of the value of a fetched column.
    pub(crate) fn want(&self, column: usize) -> Want {
        self.wants.get(column).copied().unwrap_or(Want::Raw)
    }

    /// Writes the RowDescription of the answer.
    pub(crate) fn write_description(&self, out: &mut Vec<u8>) {
        let fields = self.project.iter().map(|projected| Field {
            name: projected.name.as_bytes(),
            table: projected.field.table,
            column: projected.field.column,
            type_oid: projected.field.type_oid,
            type_size: projected.field.type_size,
            type_modifier: projected.field.type_modifier,
            format: projected.format,
        });
        backend::write_row_description(&fields.collect::<Vec<_>>(), out);
    }

    fn find_wants(&mut self, given: &[Given]) -> Result<(), ValueError> {
        let wants = &mut self.wants;
        let mut see = |column: usize| {
            if let Some(want) = wants.get_mut(column) {
                *want = Want::Value;
            }
        };
        let keys = self.keys.iter().map(|(key, _)| key);
        let conditions = [&self.filter, &self.having].into_iter().flatten();
        let sorts = self.sorts.iter().map(|sort| &sort.value);
        for computed in keys.chain(conditions).chain(sorts) {
            computed.columns(&mut see);
        }
        for total in &self.totals {
            match &total.argument {
                Argument::Rows => {}
                Argument::Present(value)
                | Argument::Value(value)
                | Argument::Distinct(value, _) => value.columns(&mut see),
            }
            if let Some(filter) = &total.filter {
                filter.columns(&mut see);
            }
        }
        let is_distinct = self.is_distinct;
        for projected in &mut self.project {
            if is_distinct {
                comparable(projected.value.logical)?;
            }
            let passed = projected.value.column().filter(|column| {
                let given = given.get(*column);
                let comes_so = given.is_some_and(|given| {
                    given.sealed.is_none() && given.format == projected.format
                });
                comes_so && !is_distinct
            });
            match passed {
                Some(_) => projected.passed = passed,
                None => {
                    if projected.value.column().is_some() {
                        known(projected.value.logical)?;
                    }
                    projected.value.columns(&mut see);
                }
            }
        }
        // What is computed with as well is written anew: its bytes are not kept beside.
        for projected in &mut self.project {
            if let Some(column) = projected.passed
                && self.wants.get(column) == Some(&Want::Value)
            {
                projected.passed = None;
            }
        }
        Ok(())
    }
}

impl Total {
    fn new(aggregate: &sql_rewrite::Aggregate, names: &Names<'_>) -> Result<Self, ValueError> {
        let function = aggregation(aggregate.function);
        let argument = aggregate.argument.as_ref();
        let argument = argument.map(|argument| Ready::new(argument, names));
        let (argument, logical) = match argument.transpose()? {
            None => (Argument::Rows, LogicalType::BigInt),
            Some(value) if aggregate.distinct => {
                let logical = comparable(value.logical)?;
                (Argument::Distinct(value, logical), logical)
            }
            Some(value) if function == Aggregation::Count => {
                let present = Ready {
                    node: Node::IsNull(Box::new(value.node), true),
                    logical: Some(LogicalType::Boolean),
                };
                (Argument::Present(present), LogicalType::Boolean)
            }
            Some(value) => {
                let logical = known(value.logical)?;
                (Argument::Value(value), logical)
            }
        };
        Ok(Self {
            begin: Accumulator::new(function, logical)?,
            argument,
            filter: condition(aggregate.filter.as_ref(), names)?,
        })
    }
}

impl SortKey {
    fn new(sort: &sql_rewrite::Sort, names: &Names<'_>) -> Result<Self, ValueError> {
        let value = Ready::new(&sort.value, names)?;
        let logical = known(value.logical)?;
        if logical == LogicalType::Json {
            let message = "could not identify an ordering operator for type json";
            return Err(error(SqlState::UNDEFINED_FUNCTION, message));
        }
        Ok(Self {
            value,
            is_char: matches!(logical, LogicalType::Char(_)),
            descending: sort.descending,
            nulls_first: sort.nulls_first,
        })
    }
}

fn condition(
    expression: Option<&Expression>,
    names: &Names<'_>,
) -> Result<Option<Ready>, ValueError> {
    expression
        .map(|expression| Ready::new(expression, names))
        .transpose()
}

/// `LIMIT` or `OFFSET`.
fn bound(expression: Option<&Expression>, names: &Names<'_>) -> Result<Option<Ready>, ValueError> {
    match condition(expression, names)? {
        Some(ready) if ready.logical != Some(LogicalType::BigInt) => {
            ready.cast(LogicalType::BigInt).map(Some)
        }
        ready => Ok(ready),
    }
}

/// As a value of the type that was planned. A number stays what it was computed as: the client may
/// have declared a parameter of another type than was planned, and is told the type that it is.
fn as_planned(value: Ready, planned: Option<LogicalType>) -> Result<Ready, ValueError> {
    match (planned, value.logical) {
        (Some(planned), Some(logical)) if planned != logical => {
            if without_limits(planned) == without_limits(logical) {
                return Ok(Ready {
                    logical: Some(planned),
                    ..value
                });
            }
            match planned.is_number() && logical.is_number() {
                true => Ok(value),
                false => value.cast(planned),
            }
        }
        _ => Ok(value),
    }
}

/// How a column of the answer is described.
fn field(
    value: &Ready,
    keys: &[(Ready, LogicalType)],
    given: &[Given],
) -> Result<Given, ValueError> {
    let origin = value.column().or_else(|| {
        let (key, _) = keys.get(value.group()?)?;
        key.column()
    });
    match origin.and_then(|column| given.get(column)) {
        Some(given) => Ok(given.clone()),
        None => computed(value),
    }
}

/// How a column is described that is no column of a table.
fn computed(value: &Ready) -> Result<Given, ValueError> {
    let logical = known(value.logical)?;
    // The server gives the limits of a cast, and none of an aggregate.
    let type_modifier = match value.node {
        Node::Aggregate(_) => -1,
        _ => values::modifier(logical),
    };
    Ok(Given {
        table: 0,
        column: 0,
        type_oid: values::oid(logical),
        type_size: values::size(logical),
        type_modifier,
        logical: Some(logical),
        sealed: None,
        gathered: None,
        format: 0,
    })
}
