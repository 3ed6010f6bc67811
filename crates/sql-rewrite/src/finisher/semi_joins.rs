//! Tables that a fetched table is joined with, by columns that the server can compare.
//!
//! Only rows of a table matter that have a partner in the tables it is joined with. So a condition
//! on a customer's name limits which of the orders are fetched: the server gets `EXISTS (SELECT 1
//! FROM customer AS c WHERE o.customer = c.id AND …)` beside the other conditions on the orders.
//! The tables may be of the same `FROM`, or of a query around. All of it is one statement, of one
//! snapshot.

use sqlparser::ast::{BinaryOperator, Expr, Ident, ObjectName};

use super::conditions::{EqualColumns, Other, Scope, Source};

/// Of how many tables in a row conditions reach a table.
const DEPTH_MAX: usize = 3;

/// A table that has to have a partner of each row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SemiJoin {
    /// The table, as the query names it.
    pub name: ObjectName,
    pub alias: Ident,
    /// The comparison of a column of the row with one of the partner.
    pub on: Expr,
    /// Conditions on the partner.
    pub conditions: Vec<Expr>,
    /// The partners that it has to have.
    pub partners: Vec<SemiJoin>,
}

/// The partners of a table of the innermost of these scopes. Partners without any condition are
/// left out.
pub(super) fn of_source(scopes: &[Scope], index: usize) -> Vec<SemiJoin> {
    let Some(level) = scopes.len().checked_sub(1) else {
        return Vec::new();
    };
    partners(scopes, (level, index), &mut vec![(level, index)])
}

/// A table, by the number of its scope and its index there.
type Place = (usize, usize);

fn partners(scopes: &[Scope], place: Place, around: &mut Vec<Place>) -> Vec<SemiJoin> {
    if around.len() > DEPTH_MAX {
        return Vec::new();
    }
    let scope = &scopes[place.0];
    let own = scope.joins.iter().filter(|(index, _)| *index == place.1);
    let mut found = Vec::new();
    for (_, equal) in own {
        let Some(other) = place_of(scopes, place.0, &equal.other) else {
            continue;
        };
        if around.contains(&other) {
            continue;
        }
        around.push(other);
        let partners = partners(scopes, other, around);
        around.pop();
        let (row, partner) = (source(scopes, place), source(scopes, other));
        if !partners.is_empty() || !partner.conditions.is_empty() {
            found.push(SemiJoin {
                name: partner.written.clone(),
                alias: partner.alias.clone(),
                on: comparison(row, partner, equal),
                conditions: partner.conditions.clone(),
                partners,
            });
        }
    }
    found
}

fn source<'s, 'a>(scopes: &'s [Scope<'a>], (level, index): Place) -> &'s Source<'a> {
    &scopes[level].sources[index]
}

/// Where another column's table is, as seen from a scope.
fn place_of(scopes: &[Scope], level: usize, other: &Other) -> Option<Place> {
    let name = match other {
        Other::Here(index) => return Some((level, *index)),
        Other::Around(name) => name,
    };
    for level in (0..level).rev() {
        let sources = &scopes[level].sources;
        let mut named = sources
            .iter()
            .enumerate()
            .filter(|(_, source)| source.name == *name);
        match (named.next(), named.next()) {
            (Some((index, _)), None) => return Some((level, index)),
            // A relation of this scope that is not known may have the name.
            (None, _) if scopes[level].is_whole => {}
            _ => return None,
        }
    }
    None
}

/// Both columns are qualified: a name alone could be that of another column within `EXISTS`.
fn comparison(row: &Source, partner: &Source, equal: &EqualColumns) -> Expr {
    let column = |source: &Source, column: &Ident| {
        Box::new(Expr::CompoundIdentifier(vec![
            source.alias.clone(),
            column.clone(),
        ]))
    };
    Expr::BinaryOp {
        left: column(row, &equal.own),
        op: BinaryOperator::Eq,
        right: column(partner, &equal.other_column),
    }
}
