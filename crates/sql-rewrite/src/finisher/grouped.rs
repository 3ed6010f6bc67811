//! `GROUP BY` over the primary key of a table, which lets a query name the other columns of that
//! table. Relations of the finisher have no keys, so it gets those columns in `GROUP BY` as well:
//! the groups are the same.

use sqlparser::ast::{Expr, GroupByExpr, Select, SelectItem, Value};

use super::conditions::Scope;
use crate::analysis::key_of;
use crate::{Column, Schema, Table};

/// Types of the server that rows cannot be grouped by.
const WITHOUT_EQUALITY: &[&str] = &[
    "json", "jsonpath", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle",
];

/// Adds to `GROUP BY` what the primary keys in it determine. `used` has the columns of a table that
/// the query may name.
pub(super) fn complete(
    select: &mut Select,
    scope: &Scope,
    schema: &Schema,
    used: impl Fn(&Table) -> Vec<usize>,
) {
    let Select {
        group_by,
        projection,
        ..
    } = select;
    let GroupByExpr::Expressions(keys, modifiers) = group_by else {
        return;
    };
    let has_sets = |key: &Expr| {
        matches!(
            key,
            Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_) | Expr::Tuple(_)
        )
    };
    if !modifiers.is_empty() || keys.iter().any(has_sets) {
        return;
    }
    let grouped: Vec<(usize, usize)> = keys
        .iter()
        .filter_map(|key| scope.column(meant(key, projection)?, schema))
        .collect();
    for (number, source) in scope.sources.iter().enumerate() {
        let is_grouped = |index: &usize| grouped.contains(&(number, *index));
        let table = source.table;
        if !table
            .primary_key()
            .is_some_and(|key| key.iter().all(is_grouped))
        {
            continue;
        }
        for index in used(table) {
            let column = &table.columns[index];
            if !is_grouped(&index) && has_equality(column, table, schema) {
                let name = schema.dialect.quote(&column.name);
                keys.push(Expr::CompoundIdentifier(vec![source.alias.clone(), name]));
            }
        }
    }
}

/// What a key of `GROUP BY` means: a number is the place of an output column.
fn meant<'a>(key: &'a Expr, projection: &'a [SelectItem]) -> Option<&'a Expr> {
    let Expr::Value(value) = key_of(key) else {
        return Some(key);
    };
    let Value::Number(digits, false) = &value.value else {
        return None;
    };
    let place: usize = digits.parse().ok()?;
    let before = projection.get(..place)?;
    let is_one = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    // `*` stands for several.
    match before.last()? {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }
            if before.iter().all(is_one) =>
        {
            Some(expr)
        }
        _ => None,
    }
}

/// Whether rows can be grouped by a column.
fn has_equality(column: &Column, table: &Table, schema: &Schema) -> bool {
    if let Some(id) = column.protected {
        let name = schema.column(id).logical.to_string();
        return !WITHOUT_EQUALITY.contains(&name.trim_end_matches("[]"));
    }
    let types = &schema.catalogue.finisher.column_types;
    let known = types.get(&(table.oid, column.number));
    known.is_some_and(|known| {
        let element = known.name.trim_end_matches("[]");
        !WITHOUT_EQUALITY.contains(&element)
    })
}
