//! Rows that the finisher computes and the server inserts: each array is sealed for its column, or
//! no protected column took part in its values.
//!
//! What took part is read from the finisher's text: its relations are common table expressions over
//! arrays, and the plan tells which of the arrays hold opened values.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Cte, Expr, Query, Select, SelectItem, SetExpr, Statement, TableFactor, Value, ValueWithSpan,
    Visitor,
};

use super::Doubt;
use crate::dialect::postgres::finisher::{PAIRS_RELATION, SERVER_RELATION, is_of_a_row};
use crate::walk;
use crate::{
    ColumnId, Dialect, FinisherQuery, FinisherWrite, Form, InsertedColumn, InsertedRows,
    OutputKind, Purpose, Source,
};

/// The columns of the finisher's relations, and which of them are protected.
pub(super) type Relations = HashMap<String, Vec<(String, bool)>>;

/// Some of them, by the names that qualify their columns.
pub(super) type InFrom<'r> = Vec<(String, &'r [(String, bool)])>;

/// Checks what is sent of the rows.
pub(super) fn check(
    plan: &FinisherWrite,
    inserted: &InsertedRows,
    dialect: Dialect,
) -> Result<(), Doubt> {
    let parsed = dialect.parse(&plan.query.text);
    let Ok(Statement::Query(text)) = parsed else {
        return Err(Doubt("the finisher's query cannot be read".to_owned()));
    };
    let relations = relations(&plan.query, &text, dialect)?;
    let is_all_plain = relations
        .values()
        .all(|columns| columns.iter().all(|(_, is_protected)| !is_protected));
    // The query over pairs of rows comes last, and no relation of the plan has its name.
    let ctes = text.with.iter().flat_map(|with| &with.cte_tables);
    let is_pairs = |cte: &Cte| dialect.fold(&cte.alias.name) == PAIRS_RELATION;
    let pairs = usize::from(plan.upsert.is_some() && ctes.clone().last().is_some_and(is_pairs));
    let has_others = ctes.count() > relations.len() + pairs;
    for hole in &plan.write.holes {
        let Source::Computed(index) = hole.source else {
            continue;
        };
        let is_own = |id: &ColumnId| hole.form == Form::SealedArray(*id, Purpose::Store);
        let is_right = match inserted.columns.get(index) {
            Some(InsertedColumn::Sealed(_, id) | InsertedColumn::Default(_, id)) => is_own(id),
            Some(InsertedColumn::Plain(answer)) => {
                hole.form == Form::Plain
                    && (is_all_plain
                        || (!has_others && is_public(&text.body, *answer, &relations, dialect)))
            }
            None => false,
        };
        if !is_right {
            return Err(Doubt(
                "a computed value is not sealed for its column, or may be made of protected ones"
                    .to_owned(),
            ));
        }
    }
    Ok(())
}

/// The relations of the text. Each of their arrays must be the one that the plan says.
pub(super) fn relations(
    query: &FinisherQuery,
    text: &Query,
    dialect: Dialect,
) -> Result<Relations, Doubt> {
    let unknown = || Doubt("the finisher's relations are not those of the plan".to_owned());
    let ctes = text.with.iter().flat_map(|with| &with.cte_tables);
    let mut relations = Relations::new();
    let mut number = query.parameters;
    let mut own = query.relations.iter();
    for Cte {
        alias, query: rows, ..
    } in ctes.take(query.relations.len())
    {
        let relation = own.next().ok_or_else(unknown)?;
        let wanted: Vec<String> = relation
            .columns
            .iter()
            .map(|_| {
                number += 1;
                format!("${number}")
            })
            .collect();
        if parameters(rows) != wanted || alias.columns.len() != wanted.len() {
            return Err(unknown());
        }
        let columns = alias.columns.iter().zip(&relation.columns);
        let columns = columns.map(|(name, column)| {
            let kind = query.fetch.outputs.get(column.output).map(|own| own.kind);
            let is_protected = kind != Some(OutputKind::Plain);
            (dialect.fold(&name.name), is_protected)
        });
        relations.insert(dialect.fold(&alias.name), columns.collect());
    }
    match relations.len() == query.relations.len() {
        true => Ok(relations),
        false => Err(unknown()),
    }
}

fn parameters(query: &Query) -> Vec<String> {
    struct Found(Vec<String>);
    impl Visitor for Found {
        type Break = ();

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            if let Value::Placeholder(name) = &value.value {
                self.0.push(name.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Found(Vec::new());
    let _: ControlFlow<()> = walk::visit(query, &mut found);
    found.0
}

/// Whether a column of an answer is made of single plain values of its row.
fn is_public(body: &SetExpr, answer: usize, relations: &Relations, dialect: Dialect) -> bool {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::Query(inner) if inner.with.is_none() => {
            return is_public(&inner.body, answer, relations, dialect);
        }
        _ => return false,
    };
    let Some(scope) = scope(select, relations, dialect) else {
        return false;
    };
    let mut items = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                items.push(expr);
            }
            _ => return false,
        }
    }
    items
        .get(answer)
        .is_some_and(|item| is_made_of_plain(item, &scope, None, dialect))
}

/// Whether a value is made of plain columns of these relations, and of columns of another one that
/// has no protected ones.
pub(super) fn is_made_of_plain(
    value: &Expr,
    scope: &InFrom,
    other: Option<&str>,
    dialect: Dialect,
) -> bool {
    let mut parts = Parts {
        scope,
        other,
        dialect,
        servers: HashSet::new(),
    };
    walk::visit(value, &mut parts).is_continue()
}

/// A relation of the finisher by the name that qualifies its columns. None: it is another one.
pub(super) fn named<'r>(
    factor: &TableFactor,
    relations: &'r Relations,
    dialect: Dialect,
) -> Option<(String, &'r [(String, bool)])> {
    let TableFactor::Table {
        name,
        alias: Some(alias),
        args: None,
        ..
    } = factor
    else {
        return None;
    };
    let (None, name) = dialect.split(name)? else {
        return None;
    };
    let columns = relations.get(&name)?.as_slice();
    alias
        .columns
        .is_empty()
        .then(|| (dialect.fold(&alias.name), columns))
}

/// The finisher's relations in FROM by the names that qualify their columns. None: there are
/// others.
fn scope<'r>(select: &Select, relations: &'r Relations, dialect: Dialect) -> Option<InFrom<'r>> {
    let mut scope = Vec::new();
    for from in &select.from {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            scope.push(named(factor, relations, dialect)?);
        }
    }
    Some(scope)
}

/// Stops at what a protected column may take part in.
struct Parts<'s, 'r> {
    scope: &'s InFrom<'r>,
    /// A relation without protected columns. Which columns it has is not known.
    other: Option<&'s str>,
    dialect: Dialect,
    /// Places of the queries, and of what is in them, for what the server said of its moment.
    servers: HashSet<usize>,
}

impl Parts<'_, '_> {
    fn is_plain(&self, relation: Option<&str>, column: &str) -> bool {
        let meant = self.scope.iter();
        let meant = meant.filter(|(name, _)| relation.is_none_or(|wanted| wanted == name));
        let columns = meant.flat_map(|(_, columns)| columns.iter());
        let mut named = columns.filter(|(name, _)| name == column).peekable();
        if named.peek().is_some() {
            return named.all(|(_, is_protected)| !is_protected);
        }
        match (self.other, relation) {
            (Some(other), Some(relation)) => other == relation,
            // The name of a relation alone is its whole row.
            (Some(_), None) => self.scope.iter().all(|(name, _)| name != column),
            (None, _) => false,
        }
    }
}

impl Visitor for Parts<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match self.servers.contains(&std::ptr::from_ref(query).addr()) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let place = std::ptr::from_ref(expression).addr();
        let is_public = self.servers.contains(&place)
            || match expression {
                Expr::Subquery(query) => match of_server(query, self.dialect) {
                    Some(column) => {
                        let places = [
                            std::ptr::from_ref(column).addr(),
                            std::ptr::from_ref::<Query>(query).addr(),
                        ];
                        self.servers.extend(places);
                        true
                    }
                    None => false,
                },
                Expr::Exists { .. } | Expr::InSubquery { .. } => false,
                Expr::Identifier(name) => self.is_plain(None, &self.dialect.fold(name)),
                Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [relation, column] => self.is_plain(
                        Some(&self.dialect.fold(relation)),
                        &self.dialect.fold(column),
                    ),
                    _ => false,
                },
                Expr::Function(function) => is_of_a_row(function),
                Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => false,
                _ => true,
            };
        match is_public {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// The column of `(SELECT "now" FROM strongroom_server)`.
fn of_server(query: &Query, dialect: Dialect) -> Option<&Expr> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let ([SelectItem::UnnamedExpr(column)], [from]) =
        (select.projection.as_slice(), select.from.as_slice())
    else {
        return None;
    };
    let TableFactor::Table { name, .. } = &from.relation else {
        return None;
    };
    let is_own = dialect.split(name) == Some((None, SERVER_RELATION.to_owned()));
    let is_bare = from.joins.is_empty()
        && select.selection.is_none()
        && query.with.is_none()
        && query.order_by.is_none()
        && matches!(column, Expr::Identifier(_));
    (is_own && is_bare).then_some(column)
}
