//! Expressions over groups.

use column_value::LogicalType;
use semantics_postgres::{Accumulator, Aggregation};
use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident,
};

use super::{Key, Shape, check_collation};
use crate::analysis::Constant;
use crate::analysis::function::argument_expression;
use crate::analysis::lower::{Lowering, Typed, combine, plain_arguments};
use crate::type_limits::without_limits;
use crate::{Aggregate, AggregateFunction, Dialect, Expression, Refusal};
use sql_plan::{refuse, unsupported};

impl Shape {
    pub(super) fn over_groups(
        &mut self,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
        lowering: &mut Lowering,
    ) -> Result<Typed, Refusal> {
        let left_constant = Constant::of(left)?.is_some();
        let (left_typed, right_typed) = match (left_constant, Constant::of(right)?.is_some()) {
            (false, true) => {
                let left = self.value(left, lowering)?;
                let hint = left.1;
                (left, lowering.lower(right, hint)?)
            }
            (true, false) => {
                let right = self.value(right, lowering)?;
                (lowering.lower(left, right.1)?, right)
            }
            _ => (self.value(left, lowering)?, self.value(right, lowering)?),
        };
        lowering.check_order(operator, &left_typed)?;
        combine(left_typed, operator, right_typed)
    }

    /// `COALESCE(SUM(x), 0)`
    pub(super) fn coalesce(
        &mut self,
        function: &Function,
        lowering: &mut Lowering,
    ) -> Result<Typed, Refusal> {
        let mut values = Vec::new();
        let mut common: Option<LogicalType> = None;
        for argument in plain_arguments(function, lowering.scope.dialect)? {
            let (value, logical) = match Constant::of(&argument)? {
                Some(_) => lowering.lower(&argument, common)?,
                None => self.value(&argument, lowering)?,
            };
            let logical = logical.map(without_limits);
            common = match (common, logical) {
                (Some(one), Some(other)) if one != other => Some(
                    one.common_number(other)
                        .ok_or_else(|| unsupported("COALESCE of different types over groups"))?,
                ),
                (earlier, own) => own.or(earlier),
            };
            // Numbers become alike when the types of the parameters in them are known.
            values.push(value);
        }
        let common = common.ok_or_else(|| unsupported("COALESCE of values of unknown types"))?;
        Ok((Expression::Coalesce(values), Some(common)))
    }

    pub(super) fn aggregate(
        &mut self,
        function: &Function,
        lowering: &mut Lowering,
    ) -> Result<Typed, Refusal> {
        let which = known_aggregate(function, lowering.scope.dialect)?;
        let FunctionArguments::List(list) = &function.args else {
            return Err(unsupported("an aggregate of this form"));
        };
        if function.over.is_some() || !list.clauses.is_empty() || !function.within_group.is_empty()
        {
            return Err(unsupported("an aggregate of this form"));
        }
        let filter = match &function.filter {
            Some(filter) => Some(lowering.condition(filter)?),
            None => None,
        };
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let (argument, logical) = match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
                if which == AggregateFunction::Count =>
            {
                (None, LogicalType::BigInt)
            }
            [argument] => {
                let mut argument = argument.clone();
                let argument = argument_expression(&mut argument)?.clone();
                let (value, logical) = lowering.lower(&argument, None)?;
                let result = result_type(which, logical, &value, lowering)?;
                (Some(value), result)
            }
            _ => return Err(unsupported("an aggregate of several arguments")),
        };
        let aggregate = Aggregate {
            function: which,
            distinct,
            argument,
            filter,
        };
        let index = match self
            .aggregates
            .iter()
            .position(|(known, _)| *known == aggregate)
        {
            Some(index) => index,
            None => {
                self.aggregates.push((aggregate, logical));
                self.aggregates.len() - 1
            }
        };
        Ok((Expression::Aggregate(index), Some(logical)))
    }
}

/// The aggregate that a function is. A function of that name in another schema is not it.
fn known_aggregate(function: &Function, dialect: Dialect) -> Result<AggregateFunction, Refusal> {
    match dialect.builtin(&function.name).as_deref() {
        Some("count") => Ok(AggregateFunction::Count),
        Some("sum") => Ok(AggregateFunction::Sum),
        Some("avg") => Ok(AggregateFunction::Average),
        Some("min") => Ok(AggregateFunction::Minimum),
        Some("max") => Ok(AggregateFunction::Maximum),
        _ => Err(refuse(format!(
            "function {} over groups of protected columns is not supported",
            function.name
        ))),
    }
}

pub(super) fn is_coalesce(function: &Function, dialect: Dialect) -> bool {
    dialect
        .split(&function.name)
        .is_some_and(|(_, name)| name == "coalesce")
}

/// The relation that a name says, and the name.
fn relation(expression: &Expr, dialect: Dialect) -> Option<(Option<String>, &[Ident])> {
    match expression {
        Expr::CompoundIdentifier(parts) if parts.len() == 2 => {
            Some((Some(dialect.fold(&parts[0])), parts))
        }
        Expr::Identifier(name) => Some((None, std::slice::from_ref(name))),
        _ => None,
    }
}

/// Whether a column has one value in each group: the keys of the group include a whole unique key
/// of its table.
pub(super) fn depends_on_keys(column: &Expr, keys: &[Key], lowering: &Lowering) -> bool {
    // Two aliases of one table have the same columns.
    let is_single = lowering.scope.relations.len() == 1;
    let dialect = lowering.scope.dialect;
    let Some((alias, parts)) =
        relation(column, dialect).filter(|(alias, _)| alias.is_some() || is_single)
    else {
        return false;
    };
    let Some((name, _)) = lowering
        .scope
        .resolve(parts)
        .ok()
        .and_then(|found| found.column)
    else {
        return false;
    };
    let Some(table) = lowering.analysis.schema.find(Some(&name.0), &name.1) else {
        return false;
    };
    let grouped = |index: &usize| {
        keys.iter().any(|(key, ..)| {
            relation(key, dialect).is_some_and(|(own, parts)| {
                let found = lowering.scope.resolve(parts).ok();
                let found = found.and_then(|found| found.column);
                (own == alias || is_single)
                    && found.is_some_and(|(table_name, own)| {
                        table_name == name && own == table.columns[*index].name
                    })
            })
        })
    };
    let is_never_null = |index: &usize| table.columns[*index].not_null;
    let mut keys = table.unique_keys.iter();
    keys.any(|key| key.iter().all(is_never_null) && key.iter().all(grouped))
}

fn result_type(
    function: AggregateFunction,
    logical: Option<LogicalType>,
    value: &Expression,
    lowering: &Lowering,
) -> Result<LogicalType, Refusal> {
    let aggregation = match function {
        AggregateFunction::Count => return Ok(LogicalType::BigInt),
        AggregateFunction::Sum => Aggregation::Sum,
        AggregateFunction::Average => Aggregation::Average,
        AggregateFunction::Minimum => Aggregation::Minimum,
        AggregateFunction::Maximum => Aggregation::Maximum,
    };
    if matches!(aggregation, Aggregation::Minimum | Aggregation::Maximum) {
        check_collation(value, &[], lowering)?;
    }
    let logical = logical.ok_or_else(|| {
        unsupported("an aggregate over a value whose type is not known").with_hint("Cast it.")
    })?;
    let accumulator = Accumulator::new(aggregation, logical)
        .map_err(|error| refuse(error.message).with_state(error.sqlstate))?;
    Ok(without_limits(accumulator.result_type()))
}
