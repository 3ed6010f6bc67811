//! `SELECT` that the proxy finishes: the server gives the rows that pass every condition it can
//! evaluate; the proxy filters, groups, sorts and computes the rest.

mod groups;

use column_value::LogicalType;
use sqlparser::ast::{
    BinaryOperator as B, Distinct, Expr, Fetch, GroupByExpr, JoinConstraint, JoinOperator,
    LimitClause, LockClause, NonBlock, OrderByExpr, Query, Select, SelectItem, SetExpr, Statement,
    Value,
};

use crate::analysis::fetched::Fetched;
use crate::analysis::function::{check_sort_options, sort_keys};
use crate::analysis::lower::{Lowering, Typed, balanced, has_aggregate, window_function};
use crate::analysis::meeting::Meetings;
use crate::analysis::template;
use crate::analysis::{
    Analysis, Constant, OutColumn, Scope, check_key, expand_relation, key_of, output_of,
};
use crate::dialect::postgres::calls;
use crate::{
    Aggregate, BinaryOperator, Effects, Expression, Finish, GroupKey, Output, OutputKind, Plan,
    Refusal, ScalarFunction as Scalar, Schema, Sort, Translated, guard,
};
use groups::{depends_on_keys, is_coalesce};
use sql_plan::{refuse, unsupported};

/// The plan of a query that the server cannot execute alone.
pub(crate) fn of_query(query: &Query, schema: &Schema) -> Result<Plan, Refusal> {
    let (_, finish) = Analysis::run(schema, |analysis| Shape::finish(query, analysis))?;
    guard::check_depth(finish.expressions())?;
    Ok(Plan::Finish(Box::new(finish)))
}

/// The answer while it is planned.
struct Shape {
    grouped: bool,
    group_by: Vec<Key>,
    aggregates: Vec<(Aggregate, LogicalType)>,
    project: Vec<(String, Expression, Option<LogicalType>)>,
    /// Names and expressions as the client wrote them, for `ORDER BY`.
    items: Vec<(OutColumn, Expr)>,
}

impl Shape {
    fn finish(query: &Query, analysis: &mut Analysis) -> Result<Finish, Refusal> {
        let mut query = query.clone();
        analysis.gathers = true;
        if let Some(with) = &mut query.with {
            analysis.with(with, None)?;
        }
        if analysis.writes.is_some() {
            return Err(unsupported(
                "a WITH that writes, in a query that the proxy has to finish",
            ));
        }
        let order_by = match query.order_by.as_mut() {
            Some(order_by) => std::mem::take(sort_keys(order_by)?),
            None => Vec::new(),
        };
        query.order_by = None;
        let SetExpr::Select(select) = &mut *query.body else {
            return Err(unsupported(
                "a set operation that the proxy would have to finish",
            ));
        };
        crate::analysis::check_dialect(select)?;
        check_parts(select, &order_by)?;
        let mut scope = Scope::of(Vec::new(), None, analysis.dialect());
        conditions_of_joins(select);
        analysis.relations(&mut select.from, None, &mut scope)?;
        let mut lowering = Lowering {
            analysis,
            scope: &scope,
            fetched: Vec::new(),
            before: 0,
            plain: true,
        };
        let filter = part_condition(&mut select.selection, &mut lowering)?;
        let mut shape = Self::of_select(select, &order_by, &mut lowering)?;
        let is_limited = query.limit_clause.is_some() || query.fetch.is_some();
        check_locks(&query.locks, is_limited, shape.grouped)?;
        let having = select.having.as_ref();
        let having = having.map(|having| shape.value(having, &mut lowering));
        let having = having.transpose()?.map(|(having, _)| having);
        let sorts = order_by.iter().map(|key| shape.sort(key, &mut lowering));
        let sorts = sorts.collect::<Result<Vec<_>, _>>()?;
        let distinct = matches!(select.distinct, Some(Distinct::Distinct));
        let fetched = std::mem::take(&mut lowering.fetched);
        let left_out = (filter.is_some(), is_limited || distinct);
        shape.check_calls(left_out, (&fetched, select), &lowering)?;
        check_known(distinct || shape.grouped, &fetched, &lowering)?;
        let meetings = Meetings::new(lowering.analysis, &fetched, lowering.before);
        let others = filter.iter().chain(&having);
        shape.check_meetings(meetings, others.chain(sorts.iter().map(|sort| &sort.value)))?;
        let (limit, offset) = limits(&mut query, &mut lowering)?;
        let fetch = fetch(query, fetched, lowering.analysis)?;
        Ok(Finish {
            fetch,
            filter,
            group_by: shape.group_by.into_iter().map(|(_, key, _)| key).collect(),
            aggregates: shape.aggregates.into_iter().map(|(one, _)| one).collect(),
            grouped: shape.grouped,
            having,
            project: shape.project,
            distinct,
            order_by: sorts,
            limit,
            offset,
            effects: Effects {
                uses: lowering.analysis.uses.clone(),
                ..Effects::default()
            },
        })
    }

    fn of_select(
        select: &Select,
        order_by: &[OrderByExpr],
        lowering: &mut Lowering,
    ) -> Result<Self, Refusal> {
        let items = expand(&select.projection, lowering.scope)?;
        let keys = match &select.group_by {
            GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys,
            _ => return Err(unsupported("GROUP BY ALL or with a modifier")),
        };
        let grouped = !keys.is_empty()
            || select.having.is_some()
            || items
                .iter()
                .any(|(_, item)| has_aggregate(item, lowering.scope.dialect))
            || order_by
                .iter()
                .any(|key| has_aggregate(&key.expr, lowering.scope.dialect));
        let mut shape = Self {
            grouped,
            group_by: Vec::new(),
            aggregates: Vec::new(),
            project: Vec::new(),
            items,
        };
        let names: Vec<OutColumn> = shape.items.iter().map(|(name, _)| name.clone()).collect();
        for key in keys {
            check_key(key)?;
            let index = output_of(key, Some(&names), lowering.scope.dialect)
                .and_then(|found| names.iter().position(|name| std::ptr::eq(name, found)));
            let key = match (key_of(key), index) {
                (Expr::Value(_), Some(index)) => shape.items[index].1.clone(),
                (Expr::Identifier(name), Some(index))
                    if lowering.scope.resolve(std::slice::from_ref(name)).is_err() =>
                {
                    shape.items[index].1.clone()
                }
                _ => key.clone(),
            };
            let (value, logical) = lowering.lower(&key, None)?;
            shape.group_by.push((key, GroupKey { value }, logical));
        }
        for (name, item) in shape.items.clone() {
            let (value, logical) = shape.value(&item, lowering)?;
            let logical = match &value {
                Expression::Column(_) => None,
                _ => logical,
            };
            let unnamed = lowering.scope.dialect.unnamed_output();
            let name = name.name.unwrap_or_else(|| unnamed.to_owned());
            shape.project.push((name, value, logical));
        }
        Ok(shape)
    }

    /// Refuses calls that would be made for other rows than the server would make them for, given
    /// whether conditions of the proxy, or other clauses, leave rows out.
    fn check_calls(
        &self,
        (is_filtered, is_cut): (bool, bool),
        (fetched, select): (&[Fetched], &Select),
        lowering: &Lowering,
    ) -> Result<(), Refusal> {
        let values: Vec<&Expression> = self.project.iter().map(|(_, value, _)| value).collect();
        let leaves_out = is_filtered || is_cut || self.grouped;
        let schema = lowering.analysis.schema;
        let fetched: Vec<&Expr> = fetched.iter().map(|own| &own.expression).collect();
        calls::check((&fetched, lowering.before), &values, leaves_out, schema)?;
        match is_filtered {
            true => calls::check_condition(select.selection.as_ref(), schema),
            false => Ok(()),
        }
    }

    /// Refuses computed values in which values meet that must not.
    fn check_meetings<'e>(
        &self,
        meetings: Meetings,
        others: impl Iterator<Item = &'e Expression>,
    ) -> Result<(), Refusal> {
        let keys = self.group_by.iter().map(|(_, key, _)| &key.value);
        let aggregates = self.aggregates.iter().map(|(one, _)| one);
        let meetings = meetings.with_groups(keys, aggregates)?;
        meetings.check(others)?;
        meetings.check(self.project.iter().map(|(_, value, _)| value))
    }

    /// A value of the answer: over rows, or over groups.
    fn value(&mut self, expression: &Expr, lowering: &mut Lowering) -> Result<Typed, Refusal> {
        if !self.grouped {
            return lowering.lower(expression, None);
        }
        let known = self.group_by.iter().position(|(key, ..)| {
            key == expression || same_column(key, expression, lowering.scope)
        });
        if let Some(index) = known {
            return Ok((Expression::Group(index), self.group_by[index].2));
        }
        if Constant::of(expression)?.is_some() {
            return lowering.lower(expression, None);
        }
        match expression {
            Expr::Nested(inner) => self.value(inner, lowering),
            Expr::Function(function) if is_coalesce(function, lowering.scope.dialect) => {
                self.coalesce(function, lowering)
            }
            Expr::Function(function) => self.aggregate(function, lowering),
            Expr::Identifier(_) | Expr::CompoundIdentifier(_)
                if depends_on_keys(expression, &self.group_by, lowering) =>
            {
                let (value, logical) = lowering.lower(expression, None)?;
                self.group_by
                    .push((expression.clone(), GroupKey { value }, logical));
                Ok((Expression::Group(self.group_by.len() - 1), logical))
            }
            Expr::BinaryOp { left, op, right } => self.over_groups(left, op, right, lowering),
            _ => Err(
                refuse("this expression over groups of protected columns is not supported")
                    .with_hint("Use columns of GROUP BY, aggregates, and operators between them."),
            ),
        }
    }

    fn sort(&mut self, key: &OrderByExpr, lowering: &mut Lowering) -> Result<Sort, Refusal> {
        check_sort_options(&key.options)?;
        check_key(&key.expr)?;
        let names: Vec<OutColumn> = self.items.iter().map(|(name, _)| name.clone()).collect();
        let index = output_of(&key.expr, Some(&names), lowering.scope.dialect)
            .and_then(|found| names.iter().position(|name| std::ptr::eq(name, found)));
        let (value, _): Typed = match index {
            Some(index) => (self.project[index].1.clone(), None),
            None => self.value(&key.expr, lowering)?,
        };
        check_collation(&value, &self.group_by, lowering)?;
        let descending = matches!(key.options.sort, Some(sqlparser::ast::OrderBySort::Desc));
        Ok(Sort {
            value,
            descending,
            // PostgreSQL 7.5: NULL is greater than everything.
            nulls_first: key.options.nulls_first.unwrap_or(descending),
        })
    }
}

/// Leaves rows to the finisher, if there is one, that the proxy would have to compare by a column
/// of a type which it does not know. Without one it learns the type from the server, but not the
/// collation.
fn check_known(
    compares_rows: bool,
    fetched: &[Fetched],
    lowering: &Lowering,
) -> Result<(), Refusal> {
    let is_unknown =
        |one: &&Fetched| one.logical.is_none() && one.sealed.is_none() && one.gathered.is_none();
    let mut unknown = fetched.iter().filter(is_unknown);
    let analysis = &lowering.analysis;
    let is_left =
        |one: &Fetched| lowering.may_leave() || analysis.may_be_nondeterministic(&one.expression);
    match compares_rows && unknown.any(is_left) {
        true => Err(unsupported(
            "DISTINCT or GROUP BY in the proxy beside a column of a type or collation that it does \
             not know",
        )),
        false => Ok(()),
    }
}

type Key = (Expr, GroupKey, Option<LogicalType>);

/// The server sorts plain texts by their collation, which the proxy does not know.
fn check_collation(value: &Expression, keys: &[Key], lowering: &Lowering) -> Result<(), Refusal> {
    if !has_plain_text(value, keys, lowering) {
        return Ok(());
    }
    Err(
        refuse("an order by what is not protected, in a query that the proxy has to finish")
            .with_hint("Sort by protected columns or by numbers and dates only."),
    )
}

/// Whether a value is a text that is made of plain ones, as far as is known.
fn has_plain_text(value: &Expression, keys: &[Key], lowering: &Lowering) -> bool {
    let of = |inner: &Expression| has_plain_text(inner, keys, lowering);
    match value {
        Expression::Column(index) => {
            let fetched = &lowering.fetched[*index];
            let is_known = fetched.logical.is_some_and(|logical| !logical.is_text());
            let is_plain = fetched.sealed.is_none() && fetched.gathered.is_none();
            (is_plain || lowering.analysis.schema.leaves_text_order()) && !is_known
        }
        Expression::Group(index) => of(&keys[*index].1.value),
        Expression::Binary(BinaryOperator::Concatenate, left, right) => of(left) || of(right),
        Expression::Call(Scalar::Lower | Scalar::Upper | Scalar::Trim, inner) => of(inner),
        Expression::Cast(inner, logical) => logical.is_text() && of(inner),
        Expression::Coalesce(values) => values.iter().any(of),
        Expression::Case(whens, otherwise) => {
            let results = whens.iter().map(|(_, then)| then);
            results.chain(otherwise.as_deref()).any(of)
        }
        // Numbers, truths, and constants; what an aggregate is made of was looked at.
        Expression::Binary(..)
        | Expression::Call(Scalar::Length | Scalar::Absolute, _)
        | Expression::Value(..)
        | Expression::Aggregate(_)
        | Expression::Unary(..)
        | Expression::Like { .. }
        | Expression::In(..)
        | Expression::InArray(..) => false,
    }
}

/// Refuses locks where the server would lock more rows than the answer has.
fn check_locks(locks: &[LockClause], is_limited: bool, is_grouped: bool) -> Result<(), Refusal> {
    if is_grouped && !locks.is_empty() {
        return Err(refuse("FOR UPDATE is not allowed with aggregate functions"));
    }
    let skips = |lock: &LockClause| lock.nonblock == Some(NonBlock::SkipLocked);
    if is_limited && locks.iter().any(skips) {
        return Err(unsupported(
            "LIMIT with SKIP LOCKED in a query that the proxy has to finish, which would lock all \
             rows,",
        ));
    }
    Ok(())
}

/// Refuses clauses that the proxy does not finish.
fn check_parts(select: &Select, order_by: &[OrderByExpr]) -> Result<(), Refusal> {
    let in_keys = || order_by.iter().find_map(window_function);
    if let Some(name) = window_function(select).or_else(in_keys) {
        return Err(unsupported(&format!(
            "window function {name} in a query that the proxy has to finish"
        )));
    }
    if !select.named_window.is_empty() {
        return Err(unsupported(
            "WINDOW in a query that the proxy has to finish",
        ));
    }
    match &select.distinct {
        None | Some(Distinct::All | Distinct::Distinct) => Ok(()),
        Some(Distinct::On(_)) => Err(unsupported(
            "DISTINCT ON that the proxy would have to finish",
        )),
    }
}

/// The items of a select list, with `*` written out.
fn expand(items: &[SelectItem], scope: &Scope) -> Result<Vec<(OutColumn, Expr)>, Refusal> {
    let mut expanded = Vec::new();
    for item in items {
        match item {
            SelectItem::UnnamedExpr(expression) if scope.dialect.has_unknown_name(expression) => {
                return Err(unsupported("a subquery with * in what the proxy finishes"));
            }
            SelectItem::UnnamedExpr(expression) => {
                let name = scope.dialect.output_name(expression);
                expanded.push((named(name), expression.clone()));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let name = Some(scope.dialect.fold(alias));
                expanded.push((named(name), expr.clone()));
            }
            SelectItem::Wildcard(_) => {
                let columns = scope.expand(None)?.ok_or_else(|| unsupported("*"))?;
                expanded.extend(
                    columns
                        .into_iter()
                        .map(|(expression, out)| (out, expression)),
                );
            }
            SelectItem::QualifiedWildcard(kind, _) => {
                let columns =
                    expand_relation(kind, scope)?.ok_or_else(|| unsupported("table.*"))?;
                expanded.extend(
                    columns
                        .into_iter()
                        .map(|(expression, out)| (out, expression)),
                );
            }
            SelectItem::ExprWithAliases { .. } => {
                return Err(unsupported("several aliases of one expression"));
            }
        }
    }
    Ok(expanded)
}

fn named(name: Option<String>) -> OutColumn {
    OutColumn {
        name,
        ..OutColumn::default()
    }
}

/// Turns `a JOIN b ON condition` into `a JOIN b ON TRUE … WHERE condition` for inner joins, so that
/// the proxy may evaluate parts of the condition.
fn conditions_of_joins(select: &mut Select) {
    let joins = select.from.iter_mut().map(|from| &mut from.joins);
    let is_inner = |operator: &JoinOperator| {
        matches!(
            operator,
            JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_)
        )
    };
    for joins in joins {
        if !joins.iter().all(|join| is_inner(&join.join_operator)) {
            continue;
        }
        for join in joins {
            let (JoinOperator::Join(JoinConstraint::On(condition))
            | JoinOperator::Inner(JoinConstraint::On(condition))) = &mut join.join_operator
            else {
                continue;
            };
            let always = Expr::Value(Value::Boolean(true).into());
            let condition = in_parentheses(std::mem::replace(condition, always));
            select.selection = Some(and(select.selection.take().map(in_parentheses), condition));
        }
    }
}

fn in_parentheses(condition: Expr) -> Expr {
    Expr::Nested(Box::new(condition))
}

/// Splits a condition: the server keeps what it can evaluate, the proxy takes the rest.
fn part_condition(
    selection: &mut Option<Expr>,
    lowering: &mut Lowering,
) -> Result<Option<Expression>, Refusal> {
    let Some(condition) = selection.take() else {
        return Ok(None);
    };
    let mut parts = Vec::new();
    let mut rest = vec![condition];
    while let Some(part) = rest.pop() {
        match part {
            Expr::BinaryOp {
                left,
                op: B::And,
                right,
            } => rest.extend([*right, *left]),
            Expr::Nested(inner) if matches!(&*inner, Expr::BinaryOp { op: B::And, .. }) => {
                rest.push(*inner);
            }
            part => parts.push(part),
        }
    }
    let mut filter = Vec::new();
    for part in parts {
        let mut attempt = lowering.analysis.clone();
        let mut changed = part.clone();
        if attempt.plain(&mut changed, lowering.scope).is_ok() {
            *lowering.analysis = attempt;
            // Printed without its parentheses, OR would take its neighbours in.
            let changed = match changed {
                Expr::BinaryOp { op: B::Or, .. } => Expr::Nested(Box::new(changed)),
                other => other,
            };
            *selection = Some(and(selection.take(), changed));
        } else {
            filter.push(lowering.condition(&part)?);
        }
    }
    Ok(balanced(BinaryOperator::And, filter))
}

fn and(earlier: Option<Expr>, part: Expr) -> Expr {
    match earlier {
        None => part,
        Some(earlier) => Expr::BinaryOp {
            left: Box::new(earlier),
            op: B::And,
            right: Box::new(part),
        },
    }
}

type Bounds = (Option<Expression>, Option<Expression>);

/// Takes `LIMIT` and `OFFSET` for the proxy, which filters and sorts first.
fn limits(query: &mut Query, lowering: &mut Lowering) -> Result<Bounds, Refusal> {
    let fetch_first = match query.fetch.take() {
        None => None,
        Some(Fetch {
            with_ties: false,
            percent: false,
            quantity: Some(quantity),
        }) => Some(quantity),
        Some(_) => {
            return Err(unsupported(
                "FETCH FIRST of this form in a query that the proxy has to finish",
            ));
        }
    };
    let mut bound = |expression: &Expr| match Constant::of(expression)? {
        Some(_) => lowering
            .lower(expression, Some(LogicalType::BigInt))
            .map(|(value, _)| value),
        None => Err(unsupported(
            "a computed LIMIT in a query that the proxy has to finish",
        )),
    };
    match query.limit_clause.take() {
        None => Ok((fetch_first.as_ref().map(&mut bound).transpose()?, None)),
        Some(LimitClause::LimitOffset {
            limit,
            offset,
            limit_by,
        }) if limit_by.is_empty() => {
            let limit = limit.or(fetch_first);
            let limit = limit.as_ref().map(&mut bound).transpose()?;
            let offset = offset
                .as_ref()
                .map(|offset| bound(&offset.value))
                .transpose()?;
            Ok((limit, offset))
        }
        Some(_) => Err(unsupported("a LIMIT of another dialect")),
    }
}

/// The query that fetches the rows, from parts that have been analysed.
fn fetch(
    mut query: Query,
    fetched: Vec<Fetched>,
    analysis: &mut Analysis,
) -> Result<Translated, Refusal> {
    let SetExpr::Select(select) = &mut *query.body else {
        return Err(unsupported(
            "a set operation that the proxy would have to finish",
        ));
    };
    select.distinct = None;
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    select.having = None;
    let outputs = fetched.iter();
    let outputs = outputs.map(|fetched| fetched.output(analysis.schema));
    let mut outputs: Vec<Output> = outputs.collect();
    select.projection = fetched
        .into_iter()
        .map(|fetched| SelectItem::UnnamedExpr(fetched.expression))
        .collect();
    if select.projection.is_empty() {
        // Rows are only counted.
        let one = Value::Number("1".to_owned(), false);
        select
            .projection
            .push(SelectItem::UnnamedExpr(Expr::Value(one.into())));
        outputs.push(Output::shown(OutputKind::Plain));
    }
    let template = template::of(&mut Statement::Query(Box::new(query)), analysis.dialect())?;
    let (template, holes, _) = template::compact(template, &analysis.holes, Vec::new());
    Ok(Translated {
        template,
        holes,
        outputs,
        parameter_types: analysis.parameters.types(),
        locks: None,
    })
}

/// Whether two names mean the same column.
fn same_column(one: &Expr, other: &Expr, scope: &Scope) -> bool {
    let column = |expression: &Expr| {
        let parts = match expression {
            Expr::Identifier(name) => std::slice::from_ref(name),
            Expr::CompoundIdentifier(parts) => parts,
            _ => return None,
        };
        scope.resolve(parts).ok()?.column
    };
    // Two aliases of one table have the same columns: only one may be unqualified.
    let is_qualified = |expression: &Expr| matches!(expression, Expr::CompoundIdentifier(_));
    let both_qualified = is_qualified(one) && is_qualified(other);
    !both_qualified && column(one).is_some() && column(one) == column(other)
}
