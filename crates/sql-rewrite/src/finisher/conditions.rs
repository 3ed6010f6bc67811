//! Conditions of a query over one of its tables, which the server may evaluate while it fetches the
//! rows of that table.
//!
//! A row that fails such a condition adds nothing to the query, so it need not be fetched. That
//! holds for conditions of `WHERE` on tables whose columns no outer join fills with NULL, and for
//! conditions of an outer join on the table that it fills.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query,
    Select, TableFactor, TableWithJoins, Visitor,
};

use crate::dialect::postgres::finisher;
use crate::walk;
use crate::{Schema, Table};

/// The tables of the `FROM` of a query, with the conditions on each.
pub(super) struct Scope<'a> {
    pub sources: Vec<Source<'a>>,
    /// Whether these are all relations of the `FROM`.
    pub is_whole: bool,
    /// Conditions that compare a column of a table, by its index, with another column for equality.
    pub joins: Vec<(usize, EqualColumns)>,
}

/// A table of the `FROM` of a query.
pub(super) struct Source<'a> {
    /// The address of its factor in the tree.
    pub at: usize,
    /// The name by which its columns are qualified.
    pub name: String,
    /// This name, and that of the table, as they are written.
    pub alias: Ident,
    pub written: ObjectName,
    pub table: &'a Table,
    /// Whether conditions of `WHERE` hold for all of its rows that matter.
    is_kept: bool,
    /// Conditions that all of its rows meet that matter.
    pub conditions: Vec<Expr>,
}

/// `own = other`, of two columns.
#[derive(Clone)]
pub(super) struct EqualColumns {
    pub own: Ident,
    pub other: Other,
    pub other_column: Ident,
}

/// Whose column another one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// Of a table of the same `FROM`, by its index.
    Here(usize),
    /// Of a relation of a query around, by its name.
    Around(String),
}

impl<'a> Scope<'a> {
    /// The tables of a query and what its rows have to meet.
    pub fn of(
        select: &Select,
        schema: &Schema,
        find: impl Fn(&ObjectName) -> Option<&'a Table>,
    ) -> Self {
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
        let may_restrict = |source: &Source, only: Option<usize>| match only {
            Some(at) => at == source.at,
            None => source.is_kept,
        };
        let mut joins = Vec::new();
        let mut own = vec![Vec::new(); sources.len()];
        let certain = |(condition, _): &(&Expr, Option<usize>)| {
            !finisher::is_of_chance(condition)
                && !finisher::has_server_calls(condition, schema)
                && !chooses(condition, &find)
        };
        for (condition, only) in conditions.into_iter().filter(certain) {
            for (index, source) in sources.iter().enumerate() {
                if !may_restrict(source, only) {
                    continue;
                }
                if is_of(condition, source, (&sources, is_whole), schema) {
                    own[index].push(condition.clone());
                }
                let equal = equal_columns(condition, index, (&sources, is_whole), schema);
                joins.extend(equal.map(|equal| (index, equal)));
            }
        }
        for (source, conditions) in sources.iter_mut().zip(own) {
            source.conditions = conditions;
        }
        Self {
            sources,
            is_whole,
            joins,
        }
    }

    /// The index of the table that an expression names a column of, and that of the column.
    pub fn column(&self, expression: &Expr, schema: &Schema) -> Option<(usize, usize)> {
        let (column, qualifier) = named_column(expression)?;
        let sources = (self.sources.as_slice(), self.is_whole);
        let index = owner((column, qualifier), sources, schema)?;
        let position = self.sources[index]
            .table
            .position(&schema.dialect.fold(column))?;
        Some((index, position))
    }
}

/// The columns of `own = other`, where the first is one of a table of the `FROM`.
fn equal_columns(
    condition: &Expr,
    index: usize,
    (sources, is_whole): (&[Source], bool),
    schema: &Schema,
) -> Option<EqualColumns> {
    let Expr::BinaryOp {
        left,
        op: BinaryOperator::Eq,
        right,
    } = condition
    else {
        return None;
    };
    [(left, right), (right, left)]
        .into_iter()
        .find_map(|(own, other)| {
            let own = named_column(own)?;
            let (other_column, qualifier) = named_column(other)?;
            if owner(own, (sources, is_whole), schema) != Some(index) {
                return None;
            }
            let other = match (
                owner((other_column, qualifier), (sources, is_whole), schema),
                qualifier,
            ) {
                (Some(other), _) if other == index => return None,
                (Some(other), _) => Other::Here(other),
                (None, Some(qualifier)) => {
                    let name = schema.dialect.fold(qualifier);
                    let is_here = sources.iter().any(|source| source.name == name);
                    // A relation of unknown columns may have this name.
                    if is_here || !is_whole {
                        return None;
                    }
                    Other::Around(name)
                }
                (None, None) => return None,
            };
            Some(EqualColumns {
                own: own.0.clone(),
                other,
                other_column: other_column.clone(),
            })
        })
}

/// A column, and the name that qualifies it.
fn named_column(expression: &Expr) -> Option<(&Ident, Option<&Ident>)> {
    match expression {
        Expr::Nested(inner) => named_column(inner),
        Expr::Identifier(column) => Some((column, None)),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, column] => Some((column, Some(relation))),
            _ => None,
        },
        _ => None,
    }
}

/// The index of the table that has this column; None: it is not known, or more than one.
fn owner(
    (column, qualifier): (&Ident, Option<&Ident>),
    (sources, is_whole): (&[Source], bool),
    schema: &Schema,
) -> Option<usize> {
    let column = schema.dialect.fold(column);
    let has = |source: &Source| source.table.position(&column).is_some();
    let mut having = sources
        .iter()
        .enumerate()
        .filter(|(_, source)| match qualifier {
            Some(qualifier) => source.name == schema.dialect.fold(qualifier),
            None => has(source),
        });
    // A relation of unknown columns may have one of this name.
    let is_known = qualifier.is_some() || is_whole;
    match (having.next(), having.next()) {
        (Some((index, source)), None) if is_known && has(source) => Some(index),
        _ => None,
    }
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
    let alias = match alias {
        Some(alias) if !alias.columns.is_empty() => return false,
        Some(alias) => Some(&alias.name),
        None => name.0.last().and_then(|part| part.as_ident()),
    };
    let Some(alias) = alias else {
        return false;
    };
    sources.push(Source {
        at: std::ptr::from_ref(factor).addr(),
        name: schema.dialect.fold(alias),
        alias: alias.clone(),
        written: name.clone(),
        table,
        is_kept,
        conditions: Vec::new(),
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

/// Whether a query within a condition may give other rows the next time (the finisher evaluates the
/// condition again), or reads what the server does not have, such as a `WITH` query.
fn chooses<'a>(condition: &Expr, find: &impl Fn(&ObjectName) -> Option<&'a Table>) -> bool {
    struct Choices<F>(F);

    impl<'a, F: Fn(&ObjectName) -> Option<&'a Table>> Visitor for Choices<F> {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            match query.limit_clause.is_some() || query.fetch.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            match select.distinct {
                Some(Distinct::On(_)) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            match factor {
                TableFactor::Table {
                    name,
                    args: None,
                    sample: None,
                    ..
                } if self.0(name).is_some() => ControlFlow::Continue(()),
                TableFactor::Table { args: Some(_), .. } => ControlFlow::Continue(()),
                TableFactor::Table { .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            match expression {
                Expr::Function(function) if function.over.is_some() => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    walk::visit(condition, &mut Choices(find)).is_break()
}

/// Whether a condition uses columns of this table and of nothing else, at least one of them. Names
/// within queries of the condition need not be known here: the server has only this table for them,
/// so it does not understand the condition if they mean another.
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
        /// How many queries of the condition are around.
        depth: usize,
        has_own: bool,
    }

    impl Visitor for Names<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            let named = match expression {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => named_column(expression),
                _ => return ControlFlow::Continue(()),
            };
            let owner = named
                .and_then(|named| owner(named, (self.sources, self.is_whole), self.schema))
                .map(|index| self.sources[index].at);
            match owner == Some(self.source.at) {
                true => self.has_own = true,
                false if self.depth == 0 => return ControlFlow::Break(()),
                false => {}
            }
            ControlFlow::Continue(())
        }
    }

    let mut names = Names {
        schema,
        source,
        sources,
        is_whole,
        depth: 0,
        has_own: false,
    };
    walk::visit(condition, &mut names).is_continue() && names.has_own
}
