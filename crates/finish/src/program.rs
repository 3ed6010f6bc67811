//! A query to finish, with constants substituted and types resolved.

use column_value::{LogicalType, ValueError};
use semantics_postgres::{Accumulator, Aggregation};
use sql_plan::{AggregateFunction, Expression, Finish};
use sqlstate::SqlState;

use crate::equal::comparable;
use crate::expression::{Constants, Names, Node, Ready, error, known, without_limits};

/// A column of the fetched rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its type; `None` if nothing can be computed with it.
    pub logical: Option<LogicalType>,
    /// Whether it is an aggregate of values that are fetched together; whether it is NULL is then
    /// known only after computing it.
    pub is_aggregate: bool,
}

/// A column of the answer, for RowDescription.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type; `None`: the type of the fetched column that it passes on.
    pub logical: Option<LogicalType>,
    /// The fetched column that it equals; `None` if it is computed.
    pub origin: Option<usize>,
    /// Whether it is an aggregate, whose type has no limits.
    pub is_aggregate: bool,
}

/// An aggregate for values of a type, still empty.
///
/// # Errors
///
/// As for [`Accumulator::new`].
pub fn accumulator(
    function: AggregateFunction,
    logical: LogicalType,
) -> Result<Accumulator, ValueError> {
    Accumulator::new(aggregation(function), logical)
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

/// What is needed of a column's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The value.
    Value,
    /// Its bytes as they came, or only whether it is NULL.
    Raw,
}

impl Want {
    fn least(input: &Input) -> Self {
        match input.is_aggregate {
            true => Self::Value,
            false => Self::Raw,
        }
    }
}

/// A query to finish.
#[derive(Debug)]
pub struct Program {
    pub(crate) filter: Option<Ready>,
    pub(crate) is_grouped: bool,
    pub(crate) keys: Vec<(Ready, LogicalType)>,
    pub(crate) totals: Vec<Total>,
    pub(crate) having: Option<Ready>,
    pub(crate) project: Vec<Projected>,
    pub(crate) is_distinct: bool,
    pub(crate) sorts: Vec<SortKey>,
    pub(crate) limit: Option<Ready>,
    pub(crate) offset: Option<Ready>,
    wants: Vec<Want>,
}

/// An aggregate.
#[derive(Debug)]
pub(crate) struct Total {
    /// The initial, empty accumulator.
    pub begin: Accumulator,
    /// Its input.
    pub argument: Argument,
    pub filter: Option<Ready>,
}

#[derive(Debug)]
pub(crate) enum Argument {
    /// `COUNT(*)`
    Rows,
    /// `COUNT(x)`: a condition that says whether `x` is not NULL.
    Present(Ready),
    Value(Ready),
    /// `DISTINCT`
    Distinct(Ready, LogicalType),
}

/// A column of the answer.
#[derive(Debug)]
pub(crate) struct Projected {
    name: String,
    pub value: Ready,
    /// The column whose bytes are passed on unchanged.
    pub passed: Option<usize>,
    /// The fetched column that it equals.
    origin: Option<usize>,
}

/// A sort key.
#[derive(Debug)]
pub(crate) struct SortKey {
    pub value: Ready,
    pub is_char: bool,
    pub descending: bool,
    pub nulls_first: bool,
}

impl Program {
    /// Substitutes constants. `may_pass` decides whether the bytes of a fetched column (first
    /// number) may be used unchanged as a column of the answer (second number).
    ///
    /// # Errors
    ///
    /// If a constant is not a value of its type, or types do not match.
    pub fn new(
        finish: &Finish,
        inputs: &[Input],
        constants: &dyn Constants,
        may_pass: impl Fn(usize, usize) -> bool,
    ) -> Result<Self, ValueError> {
        let columns: Vec<_> = inputs.iter().map(|input| input.logical).collect();
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
        for (name, value, logical) in &finish.project {
            let value = as_planned(Ready::new(value, &names)?, *logical);
            let origin = origin(&value, &keys).filter(|column| *column < inputs.len());
            if origin.is_none() {
                known(value.logical)?;
            }
            project.push(Projected {
                name: name.clone(),
                passed: None,
                origin,
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
            wants: inputs.iter().map(Want::least).collect(),
        };
        program.find_wants(may_pass)?;
        Ok(program)
    }

    /// What is needed of the value of a fetched column.
    pub fn want(&self, column: usize) -> Want {
        self.wants.get(column).copied().unwrap_or(Want::Raw)
    }

    /// The columns of the answer.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = Output<'_>> {
        self.project.iter().map(|projected| Output {
            name: &projected.name,
            logical: projected.value.logical,
            origin: projected.origin,
            is_aggregate: matches!(projected.value.node, Node::Aggregate(_)),
        })
    }

    fn find_wants(&mut self, may_pass: impl Fn(usize, usize) -> bool) -> Result<(), ValueError> {
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
        for (number, projected) in self.project.iter_mut().enumerate() {
            if is_distinct {
                comparable(projected.value.logical)?;
            }
            let passed = projected.value.column();
            let passed = passed.filter(|column| !is_distinct && may_pass(*column, number));
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
        // A column that is also computed with is written anew, so its bytes are not kept.
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
    fn new(aggregate: &sql_plan::Aggregate, names: &Names<'_>) -> Result<Self, ValueError> {
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
    fn new(sort: &sql_plan::Sort, names: &Names<'_>) -> Result<Self, ValueError> {
        let value = Ready::new(&sort.value, names)?;
        let logical = known(value.logical)?;
        if logical == LogicalType::Json {
            let message = "could not identify an ordering operator for type json";
            return Err(error(SqlState::UNDEFINED_FUNCTION, message));
        }
        if let LogicalType::Opaque(opaque) = logical {
            let message = format!("the proxy does not sort values of type {opaque}");
            return Err(error(SqlState::FEATURE_NOT_SUPPORTED, message));
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

/// Gives a value the limits of the planned type. A value of another type keeps its own: the client
/// has declared a parameter otherwise than planned, and is told the actual type.
fn as_planned(value: Ready, planned: Option<LogicalType>) -> Ready {
    match (planned, value.logical) {
        (Some(planned), Some(logical)) if without_limits(planned) == without_limits(logical) => {
            Ready {
                logical: Some(planned),
                ..value
            }
        }
        _ => value,
    }
}

/// The fetched column that a column of the answer equals, either directly or as a group key.
fn origin(value: &Ready, keys: &[(Ready, LogicalType)]) -> Option<usize> {
    value.column().or_else(|| {
        let (key, _) = keys.get(value.group()?)?;
        key.column()
    })
}
