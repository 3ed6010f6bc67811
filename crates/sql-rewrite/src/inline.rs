//! Replaces derived tables that have one row of constants by the constants: `FROM t, (SELECT
//! $1::text AS x) v WHERE t.c = v.x` becomes `FROM t WHERE t.c = $1::text`.
//!
//! The constant then stands beside a protected column, and can be sealed for it. Only what clearly
//! means the same is changed: inner joins, and names that mean one thing in the whole statement. A
//! constant is not put where it would mean something else, as a key of `ORDER BY` does.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Distinct, Expr, GroupByExpr, Join, JoinConstraint,
    JoinOperator, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, TableAlias,
    TableFactor, TableWithJoins, Visitor, VisitorMut,
};

use crate::analysis::{Constant, check_dialect};
use crate::walk;
use crate::{Dialect, Literal, Schema, Source};

/// Columns of a row of constants, by name.
type Row = BTreeMap<String, Expr>;

/// The query without such derived tables. None: it has none, or the meaning might change.
pub(crate) fn constants(query: &Query, schema: &Schema) -> Option<Query> {
    let mut query = query.clone();
    let dialect = schema.dialect;
    let ctes = constant_ctes(&mut query, dialect);
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    take_rows(select, &ctes, &mut rows, dialect)?;
    if rows.is_empty() || select.from.is_empty() {
        return None;
    }
    let is_shown = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    };
    if select.projection.iter().any(is_shown) {
        return None;
    }
    for item in &mut select.projection {
        name_item(item, &rows, dialect);
    }
    check_names(&query, &rows, schema)?;
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    check_keys(select, query.order_by.as_ref(), &rows, dialect)?;
    let mut written = Written {
        rows: &rows,
        dialect,
    };
    let _: ControlFlow<()> = walk::visit_mut(&mut query, &mut written);
    // All references are gone, or the statement has lost a relation that it names.
    let mut left = ctes
        .keys()
        .filter(|cte| names_relation(&query, cte, dialect));
    left.next().is_none().then_some(query)
}

/// Removes common table expressions that are one row of constants.
fn constant_ctes(query: &mut Query, dialect: Dialect) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    let Some(with) = query.with.as_mut().filter(|with| !with.recursive) else {
        return rows;
    };
    with.cte_tables.retain(|cte| {
        let row = row_of(&cte.query, Some(&cte.alias), dialect);
        let name = dialect.fold(&cte.alias.name);
        row.map(|row| rows.insert(name, row)).is_none()
    });
    if with.cte_tables.is_empty() {
        query.with = None;
    }
    rows
}

/// The columns of a query that returns one row of constants.
fn row_of(query: &Query, alias: Option<&TableAlias>, dialect: Dialect) -> Option<Row> {
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty();
    if !is_bare {
        return None;
    }
    let given: Vec<(Option<String>, &Expr)> = match &*query.body {
        SetExpr::Select(select) if is_only_a_list(select) => {
            let items = select.projection.iter();
            items
                .map(|item| item_of(item, dialect))
                .collect::<Option<_>>()?
        }
        SetExpr::Values(values) => match values.rows.as_slice() {
            [row] => (1..)
                .zip(&row.content)
                .map(|(index, value)| (Some(format!("column{index}")), value))
                .collect(),
            _ => return None,
        },
        _ => return None,
    };
    let names = alias.map_or(&[][..], |alias| &alias.columns);
    let mut row = Row::new();
    for (index, (name, value)) in given.into_iter().enumerate() {
        let name = match names.get(index) {
            Some(name) => dialect.fold(&name.name),
            None => name?,
        };
        row.insert(name, typed(value)?);
    }
    Some(row)
}

fn item_of(item: &SelectItem, dialect: Dialect) -> Option<(Option<String>, &Expr)> {
    match item {
        SelectItem::UnnamedExpr(value) => Some((None, value)),
        SelectItem::ExprWithAlias { expr, alias } => Some((Some(dialect.fold(alias)), expr)),
        _ => None,
    }
}

fn is_only_a_list(select: &Select) -> bool {
    check_dialect(select).is_ok()
        && select.optimizer_hints.is_empty()
        && select.distinct.is_none()
        && select.from.is_empty()
        && select.selection.is_none()
        && select.having.is_none()
        && select.named_window.is_empty()
        && matches!(&select.group_by, GroupByExpr::Expressions(keys, modifiers)
            if keys.is_empty() && modifiers.is_empty())
}

/// A constant with the type that it has as a column of a query: what has none is `text`
/// (PostgreSQL 10.6).
fn typed(value: &Expr) -> Option<Expr> {
    let constant = Constant::of(value).ok()??;
    let is_text = match &constant.source {
        Source::Literal(Literal::Text(_)) | Source::Parameter(_) => constant.cast.is_none(),
        _ => false,
    };
    Some(match is_text {
        false => value.clone(),
        true => Expr::Cast {
            kind: CastKind::DoubleColon,
            expr: Box::new(value.clone()),
            data_type: DataType::Text,
            format: None,
        },
    })
}

/// Removes rows of constants from FROM. The condition of an inner join moves to WHERE.
fn take_rows(
    select: &mut Select,
    ctes: &BTreeMap<String, Row>,
    rows: &mut BTreeMap<String, Row>,
    dialect: Dialect,
) -> Option<()> {
    let mut conditions: Vec<Expr> = Vec::new();
    let mut kept: Vec<TableWithJoins> = Vec::new();
    for mut joined in std::mem::take(&mut select.from) {
        if joined.joins.iter().all(|join| on(join).is_some()) {
            let mut joins = Vec::new();
            for join in std::mem::take(&mut joined.joins) {
                match constant_row(&join.relation, ctes, dialect) {
                    None => joins.push(join),
                    Some((name, row)) => {
                        conditions.extend(on(&join)?.cloned());
                        rows.insert(name, row).is_none().then_some(())?;
                    }
                }
            }
            joined.joins = joins;
        }
        match constant_row(&joined.relation, ctes, dialect) {
            Some((name, row)) if joined.joins.is_empty() => {
                rows.insert(name, row).is_none().then_some(())?;
            }
            _ => kept.push(joined),
        }
    }
    select.from = kept;
    for condition in conditions {
        let condition = Expr::Nested(Box::new(condition));
        select.selection = Some(match select.selection.take() {
            None => condition,
            Some(other) => Expr::BinaryOp {
                left: Box::new(Expr::Nested(Box::new(other))),
                op: BinaryOperator::And,
                right: Box::new(condition),
            },
        });
    }
    Some(())
}

/// The condition of an inner join, if it has one; None: not an inner join.
fn on(join: &Join) -> Option<Option<&Expr>> {
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition)) => Some(Some(condition)),
        JoinOperator::CrossJoin(JoinConstraint::None) => Some(None),
        _ => None,
    }
}

fn constant_row(
    factor: &TableFactor,
    ctes: &BTreeMap<String, Row>,
    dialect: Dialect,
) -> Option<(String, Row)> {
    match factor {
        TableFactor::Derived {
            subquery,
            alias: Some(alias),
            sample: None,
            lateral: _,
        } => Some((
            dialect.fold(&alias.name),
            row_of(subquery, Some(alias), dialect)?,
        )),
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } => {
            let (None, name) = dialect.split(name)? else {
                return None;
            };
            let row = ctes.get(&name)?.clone();
            match alias {
                None => Some((name, row)),
                Some(alias) if alias.columns.is_empty() => Some((dialect.fold(&alias.name), row)),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

/// Gives an item that becomes a constant the name of its column.
fn name_item(item: &mut SelectItem, rows: &BTreeMap<String, Row>, dialect: Dialect) {
    let SelectItem::UnnamedExpr(expression) = &*item else {
        return;
    };
    let name = match expression {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    if let (Some(name), Some(_)) = (name, constant_of(expression, rows, dialect)) {
        *item = SelectItem::ExprWithAlias {
            alias: name.clone(),
            expr: expression.clone(),
        };
    }
}

/// The constant that a name means.
fn constant_of<'r>(
    expression: &Expr,
    rows: &'r BTreeMap<String, Row>,
    dialect: Dialect,
) -> Option<&'r Expr> {
    match expression {
        Expr::Identifier(name) => {
            let name = dialect.fold(name);
            rows.values().find_map(|row| row.get(&name))
        }
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, column] => rows
                .get(&dialect.fold(relation))?
                .get(&dialect.fold(column)),
            _ => None,
        },
        _ => None,
    }
}

/// All names of a query that could be ambiguous.
#[derive(Default)]
struct Names {
    dialect: Dialect,
    /// Relations by their names.
    relations: Vec<(Option<String>, String)>,
    /// Names and aliases of relations.
    called: Vec<String>,
    /// Whether a relation is no plain name.
    is_computed: bool,
    /// Names of columns without a relation.
    bare: Vec<String>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let Some((schema, name)) = self.dialect.split(name) else {
                    return ControlFlow::Break(());
                };
                let alias = alias.as_ref().map(|alias| self.dialect.fold(&alias.name));
                self.called.push(alias.unwrap_or_else(|| name.clone()));
                self.relations.push((schema, name));
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => {
                self.is_computed = true;
                self.called
                    .extend(alias.iter().map(|alias| self.dialect.fold(&alias.name)));
            }
            TableFactor::NestedJoin { alias: None, .. } => {}
            _ => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expression {
            self.bare.push(self.dialect.fold(name));
        }
        ControlFlow::Continue(())
    }
}

/// Checks that names of the rows and their columns mean nothing else in the query.
fn check_names(query: &Query, rows: &BTreeMap<String, Row>, schema: &Schema) -> Option<()> {
    let mut names = Names {
        dialect: schema.dialect,
        ..Names::default()
    };
    if walk::visit(query, &mut names).is_break() {
        return None;
    }
    if names.called.iter().any(|name| rows.contains_key(name)) {
        return None;
    }
    let owners = |name: &String| rows.values().filter(|row| row.contains_key(name)).count();
    let bare: Vec<&String> = names.bare.iter().filter(|name| owners(name) > 0).collect();
    if bare.is_empty() {
        return Some(());
    }
    let has_none = |(own, table): &(Option<String>, String)| {
        let found = schema.find(own.as_deref(), table);
        found.is_some_and(|table| bare.iter().all(|name| table.position(name).is_none()))
    };
    let is_clear = query.with.is_none()
        && !names.is_computed
        && names.relations.iter().all(has_none)
        && bare
            .iter()
            .all(|name| owners(name) == 1 && !names.called.contains(name));
    is_clear.then_some(())
}

/// Refuses a constant as a key of an order or of groups: it would be a column number, or an error.
fn check_keys(
    select: &Select,
    order_by: Option<&OrderBy>,
    rows: &BTreeMap<String, Row>,
    dialect: Dialect,
) -> Option<()> {
    let GroupByExpr::Expressions(groups, _) = &select.group_by else {
        return None;
    };
    let distinct = match &select.distinct {
        Some(Distinct::On(keys)) => keys.as_slice(),
        Some(Distinct::All | Distinct::Distinct) | None => &[],
    };
    let sorted = match order_by.map(|order_by| &order_by.kind) {
        None => &[][..],
        Some(OrderByKind::Expressions(keys)) => keys,
        Some(OrderByKind::All(_)) => return None,
    };
    let sorted = sorted.iter().map(|key| &key.expr);
    let mut keys = groups.iter().chain(distinct).chain(sorted);
    let shown: Vec<String> = select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                constant_of(expr, rows, dialect).map(|_| dialect.fold(alias))
            }
            _ => None,
        })
        .collect();
    let is_constant = |key: &Expr| match key {
        Expr::Nested(_) | Expr::Tuple(_) => true,
        Expr::Identifier(name) if shown.contains(&dialect.fold(name)) => true,
        // The number of a column, which may be one of them.
        Expr::Value(_) => !shown.is_empty(),
        key => constant_of(key, rows, dialect).is_some(),
    };
    (!keys.any(is_constant)).then_some(())
}

/// Replaces names by their constants.
struct Written<'r> {
    rows: &'r BTreeMap<String, Row>,
    dialect: Dialect,
}

impl VisitorMut for Written<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Some(constant) = constant_of(expression, self.rows, self.dialect) {
            *expression = Expr::Nested(Box::new(constant.clone()));
        }
        ControlFlow::Continue(())
    }
}

fn names_relation(query: &Query, cte: &str, dialect: Dialect) -> bool {
    let found = walk::relations(query, |name| match dialect.split(name) {
        Some((None, name)) if name == cte => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
