//! Conditions of a query over one of its tables, which the server may evaluate while it fetches the
//! rows of that table.
//!
//! A row that fails such a condition adds nothing to the query, so it need not be fetched. That
//! holds for conditions of `WHERE` on tables whose columns no outer join fills with NULL, and for
//! conditions of an outer join on the table that it fills.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Select,
    TableFactor, TableWithJoins, Visit, Visitor,
};

use crate::{Schema, Table};

/// A table of the `FROM` of a query.
struct Source<'a> {
    /// The address of its factor in the tree.
    at: usize,
    /// The name by which its columns are qualified.
    name: String,
    table: &'a Table,
    /// Whether conditions of `WHERE` hold for all of its rows that matter.
    is_kept: bool,
}

/// The conditions of each table of a query, by the address of its factor in the tree.
pub(super) fn of_select<'a>(
    select: &Select,
    schema: &Schema,
    find: impl Fn(&ObjectName) -> Option<&'a Table>,
) -> Vec<(usize, Vec<Expr>)> {
    let mut sources = Vec::new();
    let mut parts: Vec<(&Expr, Option<usize>)> = Vec::new();
    let mut is_whole = true;
    for from in &select.from {
        is_whole &= add_from(from, schema, &find, &mut sources, &mut parts);
    }
    if let Some(selection) = &select.selection {
        parts.push((selection, None));
    }
    let mut conditions = Vec::new();
    for (part, only) in parts {
        split(part, only, &mut conditions);
    }
    let of_source = |source: &Source| {
        let own = conditions.iter().filter(|(condition, only)| {
            let may = match only {
                Some(at) => *at == source.at,
                None => source.is_kept,
            };
            may && is_of(condition, source, (&sources, is_whole), schema)
        });
        let own: Vec<Expr> = own.map(|(condition, _)| (*condition).clone()).collect();
        (source.at, own)
    };
    sources.iter().map(of_source).collect()
}

/// Adds the tables of an item of `FROM`, and the conditions of its joins: those of outer joins with
/// the table that they are for. False: it has relations of which the columns are not known.
fn add_from<'a, 't>(
    from: &'t TableWithJoins,
    schema: &Schema,
    find: &impl Fn(&ObjectName) -> Option<&'a Table>,
    sources: &mut Vec<Source<'a>>,
    parts: &mut Vec<(&'t Expr, Option<usize>)>,
) -> bool {
    let is_simple = from
        .joins
        .iter()
        .all(|join| kind_of(join) != JoinKind::Other);
    let mut is_whole = add_source(&from.relation, is_simple, schema, find, sources);
    for join in &from.joins {
        let kind = kind_of(join);
        let is_kept = is_simple && kind == JoinKind::Inner;
        is_whole &= add_source(&join.relation, is_kept, schema, find, sources);
        let Some(condition) = condition_of(join) else {
            continue;
        };
        match kind {
            JoinKind::Inner if is_simple => parts.push((condition, None)),
            JoinKind::Left if is_simple => {
                let at = std::ptr::from_ref(&join.relation).addr();
                parts.push((condition, Some(at)));
            }
            _ => {}
        }
    }
    is_whole
}

fn add_source<'a>(
    factor: &TableFactor,
    is_kept: bool,
    schema: &Schema,
    find: &impl Fn(&ObjectName) -> Option<&'a Table>,
    sources: &mut Vec<Source<'a>>,
) -> bool {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = factor
    else {
        return false;
    };
    let Some(table) = find(name) else {
        return false;
    };
    let known = match alias {
        Some(alias) if !alias.columns.is_empty() => return false,
        Some(alias) => Some(schema.dialect.fold(&alias.name)),
        None => schema.dialect.split(name).map(|(_, name)| name),
    };
    let Some(name) = known else {
        return false;
    };
    sources.push(Source {
        at: std::ptr::from_ref(factor).addr(),
        name,
        table,
        is_kept,
    });
    true
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JoinKind {
    Inner,
    Left,
    /// It may fill columns of the tables before it with NULL, or is not known.
    Other,
}

fn kind_of(join: &Join) -> JoinKind {
    match &join.join_operator {
        JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => {
            JoinKind::Inner
        }
        JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => JoinKind::Left,
        _ => JoinKind::Other,
    }
}

fn condition_of(join: &Join) -> Option<&Expr> {
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}

/// The parts of a condition that are joined by `AND`.
fn split<'t>(condition: &'t Expr, only: Option<usize>, parts: &mut Vec<(&'t Expr, Option<usize>)>) {
    match condition {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            split(left, only, parts);
            split(right, only, parts);
        }
        Expr::Nested(inner) => split(inner, only, parts),
        part => parts.push((part, only)),
    }
}

/// Whether a condition uses columns of this table and of nothing else, at least one of them.
fn is_of(
    condition: &Expr,
    source: &Source,
    (sources, is_whole): (&[Source], bool),
    schema: &Schema,
) -> bool {
    struct Names<'n> {
        schema: &'n Schema,
        source: &'n Source<'n>,
        sources: &'n [Source<'n>],
        is_whole: bool,
        has_own: bool,
    }

    impl Names<'_> {
        fn is_own(&self, parts: &[Ident]) -> bool {
            let fold = |name: &Ident| self.schema.dialect.fold(name);
            match parts {
                [column] => {
                    let column = fold(column);
                    let has = |source: &Source| source.table.position(&column).is_some();
                    let mut having = self.sources.iter().filter(|source| has(source));
                    // A relation of unknown columns may have one of this name.
                    self.is_whole
                        && has(self.source)
                        && having.next().is_some()
                        && having.next().is_none()
                }
                [relation, column] => {
                    let name = fold(relation);
                    let mut named = self.sources.iter().filter(|source| source.name == name);
                    named.next().is_some_and(|found| found.at == self.source.at)
                        && named.next().is_none()
                        && self.source.table.position(&fold(column)).is_some()
                }
                _ => false,
            }
        }
    }

    impl Visitor for Names<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, _: &sqlparser::ast::Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            let parts = match expression {
                Expr::Identifier(name) => std::slice::from_ref(name),
                Expr::CompoundIdentifier(parts) => parts.as_slice(),
                _ => return ControlFlow::Continue(()),
            };
            if !self.is_own(parts) {
                return ControlFlow::Break(());
            }
            self.has_own = true;
            ControlFlow::Continue(())
        }
    }

    let mut names = Names {
        schema,
        source,
        sources,
        is_whole,
        has_own: false,
    };
    condition.visit(&mut names).is_continue() && names.has_own
}
