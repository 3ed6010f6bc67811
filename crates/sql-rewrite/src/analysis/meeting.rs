//! Which values must not meet in the proxy: a protected column, and a value that was sent in clear
//! because the server does not compare it with one.
//!
//! On the server such a value never meets a sealed one: the comparison is refused. In the proxy it
//! could, as in `WITH p AS (SELECT $1 AS x) SELECT … FROM customer, p WHERE name || '!' = p.x`: the
//! answer would be right, but the search term would have been sent in clear. So each column of a
//! query is marked as *free* if it is made of constants or parameters. Values of plain columns are
//! public, by the rules.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Value, Visit};

use super::{Analysis, Scope};
use crate::analysis::fetched::Fetched;
use crate::walk;
use crate::{Aggregate, BinaryOperator, ColumnId, Expression, Refusal, UnaryOperator};
use sql_plan::refuse;

/// Whether a constant or parameter stands anywhere in a part of a statement, but for truths.
pub(crate) fn has_constant<V: Visit>(part: &V) -> bool {
    let found = walk::expressions(part, |inner| match inner {
        Expr::Value(value) if !matches!(value.value, Value::Null | Value::Boolean(_)) => {
            ControlFlow::Break(())
        }
        Expr::TypedString(_) | Expr::Prefixed { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

impl Analysis<'_> {
    /// Whether constants or parameters are in what a plain value is made of, as far as can be told.
    pub fn is_free(&self, expression: &Expr, scope: &Scope) -> bool {
        let is_named = |parts: &[_]| scope.resolve(parts).is_ok_and(|found| found.is_free);
        let found = walk::expressions(expression, |inner| {
            let is_free = match inner {
                Expr::Value(value) => value.value != Value::Null,
                Expr::TypedString(_) | Expr::Prefixed { .. } => true,
                Expr::Identifier(name) => is_named(std::slice::from_ref(name)),
                Expr::CompoundIdentifier(parts) => is_named(parts),
                Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => {
                    self.has_free_ctes()
                }
                _ => false,
            };
            match is_free {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        found.is_break()
    }

    /// Whether a query of `WITH` that is in sight gives something free.
    pub fn has_free_ctes(&self) -> bool {
        let mut columns = self.ctes.iter().flat_map(|(_, columns)| columns);
        columns.any(|column| column.is_free)
    }
}

/// What a value that the proxy computes is made of.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    sealed: Option<ColumnId>,
    is_free: bool,
}

/// What the expressions of a plan are computed over.
pub(crate) struct Meetings<'a, 's> {
    analysis: &'a Analysis<'s>,
    fetched: &'a [Fetched],
    /// Outputs before those.
    before: usize,
    groups: Vec<Flow>,
    aggregates: Vec<Flow>,
}

impl<'a, 's> Meetings<'a, 's> {
    pub fn new(analysis: &'a Analysis<'s>, fetched: &'a [Fetched], before: usize) -> Self {
        Self {
            analysis,
            fetched,
            before,
            groups: Vec::new(),
            aggregates: Vec::new(),
        }
    }

    /// Adds what rows are grouped by, and what is aggregated of each group.
    pub fn with_groups<'e>(
        mut self,
        keys: impl IntoIterator<Item = &'e Expression>,
        aggregates: impl IntoIterator<Item = &'e Aggregate>,
    ) -> Result<Self, Refusal> {
        for key in keys {
            let flow = self.flow(key)?;
            self.groups.push(flow);
        }
        for aggregate in aggregates {
            self.check(aggregate.filter.as_ref())?;
            let argument = aggregate.argument.as_ref();
            let flow = argument.map_or(Ok(Flow::default()), |argument| self.flow(argument))?;
            self.aggregates.push(flow);
        }
        Ok(self)
    }

    /// Refuses expressions in which something meets that must not.
    pub fn check<'e>(
        &self,
        expressions: impl IntoIterator<Item = &'e Expression>,
    ) -> Result<(), Refusal> {
        expressions
            .into_iter()
            .try_for_each(|expression| self.flow(expression).map(drop))
    }

    /// The same of a value that is stored in a protected column.
    pub fn check_stored(&self, column: ColumnId, value: &Expression) -> Result<(), Refusal> {
        let stored = Flow {
            sealed: Some(column),
            is_free: false,
        };
        self.meet(stored, self.flow(value)?).map(drop)
    }

    fn flow(&self, expression: &Expression) -> Result<Flow, Refusal> {
        match expression {
            Expression::Column(index) => Ok(self.column(*index)),
            // The proxy has it, and sends it nowhere.
            Expression::Value(_, _) => Ok(Flow::default()),
            Expression::Aggregate(index) => Ok(self.aggregates[*index]),
            Expression::Group(index) => Ok(self.groups[*index]),
            Expression::Unary(operator, inner) => {
                let flow = self.flow(inner)?;
                Ok(match operator {
                    UnaryOperator::Negate => flow,
                    UnaryOperator::Not | UnaryOperator::IsNull | UnaryOperator::IsNotNull => {
                        Flow::default()
                    }
                })
            }
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.flow(left)?, self.flow(right)?);
                self.binary(*operator, left, right)
            }
            Expression::Like {
                operand,
                pattern,
                escape: _,
                case_sensitive: _,
            } => {
                self.meet(self.flow(operand)?, self.flow(pattern)?)?;
                Ok(Flow::default())
            }
            Expression::In(operand, values) => {
                let operand = self.flow(operand)?;
                for value in values {
                    self.meet(operand, self.flow(value)?)?;
                }
                Ok(Flow::default())
            }
            Expression::InArray(operand, _, _) => {
                self.flow(operand)?;
                Ok(Flow::default())
            }
            Expression::Coalesce(values) => self.alike(values),
            Expression::Case(whens, otherwise) => {
                self.check(whens.iter().map(|(when, _)| when))?;
                self.alike(
                    whens
                        .iter()
                        .map(|(_, then)| then)
                        .chain(otherwise.as_deref()),
                )
            }
            Expression::Cast(inner, _) | Expression::Call(_, inner) => self.flow(inner),
        }
    }

    fn column(&self, index: usize) -> Flow {
        let fetched = index.checked_sub(self.before);
        let Some(fetched) = fetched.and_then(|index| self.fetched.get(index)) else {
            return Flow::default();
        };
        Flow {
            sealed: fetched
                .sealed
                .or(fetched.gathered.map(|(column, _)| column)),
            is_free: fetched.is_free,
        }
    }

    fn binary(&self, operator: BinaryOperator, left: Flow, right: Flow) -> Result<Flow, Refusal> {
        match operator {
            BinaryOperator::And | BinaryOperator::Or => Ok(Flow::default()),
            BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual => {
                self.meet(left, right)?;
                Ok(Flow::default())
            }
            BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Power
            | BinaryOperator::Concatenate => self.meet(left, right),
        }
    }

    /// Values of which one becomes the result.
    fn alike<'e>(&self, values: impl IntoIterator<Item = &'e Expression>) -> Result<Flow, Refusal> {
        let mut all = Flow::default();
        for value in values {
            all = self.meet(all, self.flow(value)?)?;
        }
        Ok(all)
    }

    fn meet(&self, left: Flow, right: Flow) -> Result<Flow, Refusal> {
        let sealed = left.sealed.or(right.sealed);
        let is_free = left.is_free || right.is_free;
        match sealed {
            Some(column) if is_free => Err(refuse(format!(
                "protected column {} meets a value that is made of constants or parameters \
                 elsewhere in the statement, and would go to the server in clear",
                self.analysis.title(column)
            ))
            .with_hint("Write the constant or parameter beside the column itself.")),
            _ => Ok(Flow { sealed, is_free }),
        }
    }
}
