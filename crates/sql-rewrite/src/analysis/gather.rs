//! Aggregates of protected columns within a query that the proxy finishes. The server cannot
//! compute them. It gathers the sealed values of each group into an array, and the proxy aggregates
//! them when it opens them. So the server still joins, groups and correlates.
//!
//! Invariant: an array is fetched, or passed by name to the query around. Any other use of it is
//! refused.

use column_value::LogicalType;
use semantics_postgres::{Accumulator, Aggregation};
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident};

use super::{Analysis, Gathered, OutColumn, Scope};
use crate::analysis::query_context::QueryContext;
use crate::analysis::scope::{misused, refuse_gathered};
use crate::type_limits::without_limits;
use crate::{AggregateFunction, ColumnId, Mode, Refusal};
use sql_plan::refuse;

impl Analysis<'_> {
    /// The protected column that a name means, if any. The server may not use a gathered array.
    pub fn column_value(
        &self,
        parts: &[Ident],
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        let resolved = scope.resolve(parts)?;
        match resolved.gathered {
            None => Ok(resolved.sealed),
            Some((column, _)) => Err(misused(column, self.schema)),
        }
    }

    /// As [`Self::value`], but gathers aggregates that the server cannot compute, if that is
    /// allowed.
    pub fn value_or_gathered(
        &mut self,
        expression: &mut Expr,
        scope: &Scope,
    ) -> Result<(Option<ColumnId>, Option<Gathered>), Refusal> {
        if let Some(member) = self.take_member(expression, scope)? {
            return Ok((Some(member), None));
        }
        match expression {
            _ if !self.gathers => {}
            Expr::Nested(inner) => return self.value_or_gathered(inner, scope),
            Expr::Identifier(name) => return self.handed_on(std::slice::from_ref(name), scope),
            Expr::CompoundIdentifier(parts) => return self.handed_on(parts, scope),
            Expr::Subquery(query) => {
                let outputs = self.query_gathering(query, QueryContext::within(Some(scope)))?;
                return match outputs.as_deref() {
                    Some([one]) if one.gathered.is_some() => Ok((None, one.gathered)),
                    _ => Ok((self.single(outputs.as_deref())?, None)),
                };
            }
            Expr::Function(function) => {
                if let Some(gathered) = self.gather(function, scope)? {
                    return Ok((None, Some(gathered)));
                }
            }
            _ => {}
        }
        Ok((self.value(expression, scope)?, None))
    }

    fn handed_on(
        &self,
        parts: &[Ident],
        scope: &Scope,
    ) -> Result<(Option<ColumnId>, Option<Gathered>), Refusal> {
        let resolved = scope.resolve(parts)?;
        Ok((resolved.sealed, resolved.gathered))
    }

    /// The protected column of a subquery that returns a single value.
    pub fn single(&self, outputs: Option<&[OutColumn]>) -> Result<Option<ColumnId>, Refusal> {
        let columns = outputs.unwrap_or_default();
        refuse_gathered(columns, self.schema)?;
        let sealed = columns.iter().find_map(|output| output.sealed);
        match (columns, sealed) {
            ([_, _, ..], Some(column)) => Err(refuse(format!(
                "a row of a subquery with protected column {} in a comparison",
                self.title(column)
            ))
            .with_hint("Compare each column by itself, or use IN.")),
            _ => Ok(sealed),
        }
    }

    /// Turns `SUM(column)` into `array_agg(column)`. The argument has to be a column name, so
    /// nothing is analysed twice in nested queries.
    fn gather(
        &mut self,
        function: &mut Function,
        scope: &Scope,
    ) -> Result<Option<Gathered>, Refusal> {
        let Some(gathered) = self.to_be_gathered(function, scope)? else {
            return Ok(None);
        };
        self.gathered_type(gathered)?;
        if let Some(filter) = &mut function.filter {
            self.plain(filter, scope)?;
        }
        function.name = self.dialect().gathering_function();
        Ok(Some(gathered))
    }

    /// An aggregate of a protected column that the server cannot compute.
    fn to_be_gathered(
        &self,
        function: &Function,
        scope: &Scope,
    ) -> Result<Option<Gathered>, Refusal> {
        let Function {
            name,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args: FunctionArguments::List(list),
            within_group,
            filter: _,
            null_treatment: None,
            over: None,
        } = function
        else {
            return Ok(None);
        };
        let is_plain = within_group.is_empty()
            && list.clauses.is_empty()
            && list.duplicate_treatment.is_none();
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_slice() else {
            return Ok(None);
        };
        let (Some(called), true) = (self.dialect().builtin(name), is_plain) else {
            return Ok(None);
        };
        // An aggregate over columns of a query around it is that query's.
        let own = Scope::of(scope.relations.clone(), None, self.dialect());
        let resolved = match argument {
            Expr::Identifier(name) => own.resolve(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(parts) => own.resolve(parts),
            _ => return Ok(None),
        };
        let Some(column) = resolved.ok().and_then(|resolved| resolved.sealed) else {
            return Ok(None);
        };
        self.refuse_member(Some(column))?;
        let own = self.column(column);
        // The proxy would compare texts by their bytes.
        let by_finisher = own.logical.is_text() && self.schema.leaves_text_order();
        let by_proxy = own.mode != Mode::Order && !by_finisher;
        Ok(match aggregate(&called) {
            Some(Aggregation::Sum) => Some((column, AggregateFunction::Sum)),
            Some(Aggregation::Average) => Some((column, AggregateFunction::Average)),
            Some(Aggregation::Minimum) if by_proxy => Some((column, AggregateFunction::Minimum)),
            Some(Aggregation::Maximum) if by_proxy => Some((column, AggregateFunction::Maximum)),
            _ => None,
        })
    }

    /// The type of an aggregate, as the server has it.
    pub fn gathered_type(&self, (column, which): Gathered) -> Result<LogicalType, Refusal> {
        let aggregation = match which {
            AggregateFunction::Count => Aggregation::Count,
            AggregateFunction::Sum => Aggregation::Sum,
            AggregateFunction::Average => Aggregation::Average,
            AggregateFunction::Minimum => Aggregation::Minimum,
            AggregateFunction::Maximum => Aggregation::Maximum,
        };
        let accumulator = Accumulator::new(aggregation, self.column(column).logical)
            .map_err(|error| refuse(error.message).with_state(error.sqlstate))?;
        Ok(without_limits(accumulator.result_type()))
    }
}

/// The aggregates that the proxy knows.
pub(crate) fn aggregate(name: &str) -> Option<Aggregation> {
    match name {
        "count" => Some(Aggregation::Count),
        "sum" => Some(Aggregation::Sum),
        "avg" => Some(Aggregation::Average),
        "min" => Some(Aggregation::Minimum),
        "max" => Some(Aggregation::Maximum),
        _ => None,
    }
}
