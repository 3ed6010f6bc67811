//! Which columns of a view show a protected column unchanged.
//!
//! The server executes a view over ciphertext, and the proxy cannot rewrite its text each time it
//! is read. So a view may pass a protected column on, and use it where ciphertext serves as well as
//! plaintext. A view that does anything else with it cannot be read through the proxy.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, FunctionArguments, GroupByExpr, JoinConstraint, JoinOperator, LimitClause,
    OrderByKind, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Value,
};

use super::{Schema, Table};
use crate::analysis::{Constant, key_of};
use crate::walk;
use crate::{ColumnId, Dialect, Mode};

/// For each column of the view that `definition` selects the protected column that it is. None:
/// nothing can be said for sure.
pub(super) fn shown_columns(definition: &str, schema: &Schema) -> Option<Vec<Option<ColumnId>>> {
    let mut statements = schema.dialect.statements(definition)?;
    match (statements.pop()?, statements.is_empty()) {
        (Statement::Query(query), true) => shown_by_query(&query, schema),
        _ => None,
    }
}

/// The same for a parsed query.
pub(crate) fn shown_by_query(query: &Query, schema: &Schema) -> Option<Vec<Option<ColumnId>>> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let plain = query.with.is_none()
        && query.limit_clause.as_ref().is_none_or(is_constant_limit)
        && query.fetch.is_none()
        && query.locks.is_empty()
        && query.for_clause.is_none()
        && query.pipe_operators.is_empty();
    let mut view = View {
        schema,
        sources: Vec::new(),
    };
    view.add_sources(&select.from)?;
    if !plain || !view.select_is_plain(select)? {
        return None;
    }
    if let Some(order) = &query.order_by {
        let OrderByKind::Expressions(expressions) = &order.kind else {
            return None;
        };
        for key in expressions {
            let meant = sorted_by(&key.expr, select, schema.dialect);
            if !view.usable(meant, |mode| mode == Mode::Order) {
                return None;
            }
        }
    }
    view.projection(select)
}

/// Whether the server may write rows through the view that `definition` selects.
pub(super) fn may_take_rows(definition: &str, dialect: Dialect) -> bool {
    match dialect.statements(definition).as_deref() {
        Some([Statement::Query(query)]) => takes_rows(query),
        _ => true,
    }
}

/// The same of a parsed query. Through joins, groups and cuts no row is written (PostgreSQL, CREATE
/// VIEW, "Updatable Views").
pub(crate) fn takes_rows(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    let is_of_one = match select.from.as_slice() {
        [from] => from.joins.is_empty() && matches!(from.relation, TableFactor::Table { .. }),
        _ => false,
    };
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, _) => !keys.is_empty() || select.having.is_some(),
    };
    let is_cut = query.limit_clause.is_some() || query.fetch.is_some();
    let is_distinct = !matches!(select.distinct, None | Some(Distinct::All));
    is_of_one && !is_grouped && !is_cut && !is_distinct && query.with.is_none()
}

/// Whether `LIMIT` and `OFFSET` are constants: a query could stand there.
fn is_constant_limit(clause: &LimitClause) -> bool {
    let LimitClause::LimitOffset {
        limit,
        offset,
        limit_by,
    } = clause
    else {
        return false;
    };
    let mut counts = limit
        .iter()
        .chain(offset.iter().map(|offset| &offset.value));
    limit_by.is_empty() && counts.all(|count| matches!(Constant::of(count), Ok(Some(_))))
}

/// The item of the select list that a key means by its place there; else the key.
fn grouped_by<'e>(key: &'e Expr, select: &'e Select) -> &'e Expr {
    let Expr::Value(value) = key_of(key) else {
        return key;
    };
    let index = match &value.value {
        Value::Number(digits, false) => digits.parse::<usize>().ok(),
        _ => None,
    };
    let item = index.and_then(|number| select.projection.get(number.checked_sub(1)?));
    match item {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr,
        _ => key,
    }
}

/// The same of a key of `ORDER BY`, which means the name of an item before that of a column.
fn sorted_by<'e>(key: &'e Expr, select: &'e Select, dialect: Dialect) -> &'e Expr {
    let Expr::Identifier(name) = key_of(key) else {
        return grouped_by(key, select);
    };
    let named = select.projection.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if dialect.fold(alias) == dialect.fold(name) => {
            Some(expr)
        }
        _ => None,
    });
    named.unwrap_or(key)
}

/// A relation in `FROM`, under the name by which columns are qualified.
struct Source<'a> {
    name: String,
    table: &'a Table,
}

/// What a join says of its columns; None: it is none of standard SQL.
pub(crate) fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint) => Some(constraint),
        _ => None,
    }
}

/// The relations that a text of the server's own may name: a view, a check, a predicate.
pub(crate) struct View<'a> {
    schema: &'a Schema,
    sources: Vec<Source<'a>>,
}

impl<'a> View<'a> {
    /// Texts over one table: checks, predicates of indexes, policies.
    pub(crate) fn of_table(schema: &'a Schema, table: &'a Table) -> Self {
        let name = table.name.clone();
        Self {
            schema,
            sources: vec![Source { name, table }],
        }
    }

    fn add_sources(&mut self, from: &[TableWithJoins]) -> Option<()> {
        for item in from {
            self.add_source(&item.relation)?;
            for join in &item.joins {
                self.add_source(&join.relation)?;
            }
        }
        Some(())
    }

    fn add_source(&mut self, factor: &TableFactor) -> Option<()> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                sample: None,
                ..
            } => {
                let (schema, table_name) = self.schema.dialect.split(name)?;
                let table = self.schema.find(schema.as_deref(), &table_name)?;
                if table.opaque
                    || alias
                        .as_ref()
                        .is_some_and(|alias| !alias.columns.is_empty())
                {
                    return None;
                }
                let name = alias
                    .as_ref()
                    .map_or(table_name, |alias| self.schema.dialect.fold(&alias.name));
                self.sources.push(Source { name, table });
                Some(())
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.add_sources(std::slice::from_ref(table_with_joins)),
            _ => None,
        }
    }

    /// The protected column that an expression is; `Some(None)`: a plain column; None: no column,
    /// or not a clear one.
    pub(crate) fn column(&self, expr: &Expr) -> Option<Option<ColumnId>> {
        let (source, column) = match expr {
            Expr::Nested(inner) => return self.column(inner),
            Expr::Identifier(column) => (None, self.schema.dialect.fold(column)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] => (
                    Some(self.schema.dialect.fold(table)),
                    self.schema.dialect.fold(column),
                ),
                [_, table, column] => (
                    Some(self.schema.dialect.fold(table)),
                    self.schema.dialect.fold(column),
                ),
                _ => return None,
            },
            _ => return None,
        };
        let found = self.found(source.as_deref(), &column);
        let first = *found.first()?;
        // Columns merged by USING have one name; they show the first, if all are alike.
        // Its values are not where its name says, or those of others are there, too.
        if first.is_some_and(|own| self.schema.is_member(own)) {
            return None;
        }
        let mut others = found.iter().skip(1);
        others
            .all(|other| self.merges(first, *other))
            .then_some(first)
    }

    /// The columns of a name, as they are protected.
    fn found(&self, source: Option<&str>, column: &str) -> Vec<Option<ColumnId>> {
        self.sources
            .iter()
            .filter(|own| source.is_none_or(|name| name == own.name))
            .filter_map(|own| Some(own.table.columns[own.table.position(column)?].protected))
            .collect()
    }

    /// Whether a column may have values of both: they are alike, and of one type.
    fn merges(&self, left: Option<ColumnId>, right: Option<ColumnId>) -> bool {
        let of_types = match (left, right) {
            (Some(left), Some(right)) => self.schema.have_one_type(left, right),
            _ => true,
        };
        of_types && self.alike(left, right)
    }

    fn alike(&self, left: Option<ColumnId>, right: Option<ColumnId>) -> bool {
        match (left, right) {
            (None, None) => true,
            (Some(left), Some(right)) => {
                let (left, right) = (self.schema.column(left), self.schema.column(right));
                left.domain == right.domain && left.mode != Mode::Random
            }
            _ => false,
        }
    }

    fn select_is_plain(&self, select: &Select) -> Option<bool> {
        let foreign = select.into.is_some()
            || select.top.is_some()
            || !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !select.connect_by.is_empty()
            || !select.named_window.is_empty()
            || select.qualify.is_some();
        let distinct = match &select.distinct {
            None | Some(Distinct::All) => true,
            Some(Distinct::Distinct) => self
                .projection(select)?
                .iter()
                .flatten()
                .all(|id| self.schema.column(*id).mode != Mode::Random),
            Some(Distinct::On(_)) => false,
        };
        let grouped = match &select.group_by {
            GroupByExpr::All(_) => false,
            GroupByExpr::Expressions(keys, modifiers) => {
                modifiers.is_empty()
                    && keys
                        .iter()
                        .map(|key| grouped_by(key, select))
                        .all(|key| self.usable(key, |mode| mode != Mode::Random))
            }
        };
        let conditions = select
            .selection
            .as_ref()
            .is_none_or(|expr| self.allowed(expr))
            && select.having.as_ref().is_none_or(|expr| self.is_free(expr));
        Some(!foreign && distinct && grouped && conditions && self.joins_are_plain(&select.from))
    }

    fn joins_are_plain(&self, from: &[TableWithJoins]) -> bool {
        from.iter().all(|item| {
            let nested = |factor: &TableFactor| match factor {
                TableFactor::NestedJoin {
                    table_with_joins, ..
                } => self.joins_are_plain(std::slice::from_ref(table_with_joins)),
                _ => true,
            };
            let joined = item.joins.iter().all(|join| {
                let constraint = constraint_of(&join.join_operator);
                nested(&join.relation)
                    && constraint.is_some_and(|own| self.constraint_is_plain(own))
            });
            nested(&item.relation) && joined
        })
    }

    fn constraint_is_plain(&self, constraint: &JoinConstraint) -> bool {
        match constraint {
            JoinConstraint::None => true,
            JoinConstraint::On(expr) => self.allowed(expr),
            JoinConstraint::Using(columns) => columns.iter().all(|column| {
                let name = column.0.last().and_then(|part| part.as_ident());
                let found = name.map(|name| self.found(None, &self.schema.dialect.fold(name)));
                let found = found.unwrap_or_default();
                let mut others = found.iter().skip(1);
                let first = found.first();
                first.is_some_and(|first| others.all(|other| self.alike(*first, *other)))
            }),
            // What it joins by changes with the tables.
            JoinConstraint::Natural => false,
        }
    }

    /// A condition that ciphertext fulfils exactly when plaintext does.
    pub(crate) fn allowed(&self, expr: &Expr) -> bool {
        use sqlparser::ast::BinaryOperator::{And, Eq};
        match expr {
            Expr::Nested(inner) => self.allowed(inner),
            Expr::BinaryOp {
                left,
                op: And,
                right,
            } => self.allowed(left) && self.allowed(right),
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => self.usable(inner, |_| true),
            Expr::BinaryOp {
                left,
                op: Eq,
                right,
            } => match (self.column(left), self.column(right)) {
                (Some(left), Some(right)) => self.alike(left, right),
                _ => self.is_free(expr),
            },
            _ => self.is_free(expr),
        }
    }

    /// A column whose mode fits, or an expression without protected columns.
    fn usable(&self, expr: &Expr, fits: impl Fn(Mode) -> bool) -> bool {
        match self.column(expr) {
            Some(Some(id)) => fits(self.schema.column(id).mode),
            Some(None) => true,
            None => self.is_free(expr),
        }
    }

    /// Whether no protected column, and no whole row of a protected table, stands in it.
    pub(crate) fn is_free(&self, expr: &Expr) -> bool {
        let found = walk::expressions(expr, |part| {
            let touches = match part {
                Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
                // `ARRAY(query)` is read as a function of a query.
                Expr::Function(function)
                    if matches!(function.args, FunctionArguments::Subquery(_)) =>
                {
                    true
                }
                Expr::Function(function) => {
                    let name = self
                        .schema
                        .dialect
                        .split(&function.name)
                        .map(|(_, name)| name);
                    name.is_none_or(|name| self.schema.suspect_functions.contains(&name))
                }
                Expr::Identifier(name) => {
                    let name = self.schema.dialect.fold(name);
                    self.whole_row(&name) || !matches!(self.column(part), Some(None))
                }
                Expr::CompoundIdentifier(_) => !matches!(self.column(part), Some(None)),
                Expr::Wildcard(_)
                | Expr::QualifiedWildcard(..)
                | Expr::CompoundFieldAccess { .. } => true,
                _ => false,
            };
            if touches {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        // `count(t.*)` holds no expression for the row.
        found.is_continue() && !expr.to_string().contains(".*")
    }

    fn whole_row(&self, name: &str) -> bool {
        let mut sources = self.sources.iter();
        sources.any(|source| source.name == name && source.table.is_protected())
    }

    fn projection(&self, select: &Select) -> Option<Vec<Option<ColumnId>>> {
        let shown = |item: &SelectItem| {
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item
            else {
                return None;
            };
            match self.column(expr) {
                Some(protected) => Some(protected),
                None => self.is_free(expr).then_some(None),
            }
        };
        select.projection.iter().map(shown).collect()
    }
}
