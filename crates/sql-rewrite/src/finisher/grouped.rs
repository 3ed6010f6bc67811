//! `GROUP BY` over the primary key of a table, which lets a query name the other columns of that
//! table. Relations of the finisher have no keys, so it gets those columns in `GROUP BY` as well:
//! the groups are the same.

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, ObjectName, Select, SelectItem, TableFactor, Value,
};

use crate::{Column, Schema, Table};

/// Types of the server that rows cannot be grouped by.
const WITHOUT_EQUALITY: &[&str] = &[
    "json", "jsonpath", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle",
];

/// A table of the `FROM` of a query.
struct Source<'s> {
    alias: Ident,
    table: &'s Table,
}

/// Adds to `GROUP BY` what the primary keys in it determine. `used` has the columns of a table that
/// the query may name.
pub(super) fn complete<'s>(
    select: &mut Select,
    schema: &Schema,
    find: impl Fn(&ObjectName) -> Option<&'s Table>,
    used: impl Fn(&Table) -> Vec<usize>,
) {
    let sources = sources(select, find);
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
        .filter_map(|key| column(meant(key, projection)?, &sources, schema))
        .collect();
    for (number, source) in sources.iter().enumerate() {
        let is_grouped = |index: &usize| grouped.contains(&(number, *index));
        let columns = &source.table.columns;
        let is_whole = |key: &Vec<usize>| {
            key.iter()
                .all(|index| columns[*index].not_null && is_grouped(index))
        };
        if !source.table.unique_keys.iter().any(is_whole) {
            continue;
        }
        for index in used(source.table) {
            if !is_grouped(&index) && has_equality(&columns[index], source.table, schema) {
                let name = Ident::with_quote('"', &columns[index].name);
                keys.push(Expr::CompoundIdentifier(vec![source.alias.clone(), name]));
            }
        }
    }
}

fn sources<'s>(
    select: &Select,
    find: impl Fn(&ObjectName) -> Option<&'s Table>,
) -> Vec<Source<'s>> {
    let factors = select.from.iter().flat_map(|from| {
        let joins = from.joins.iter().map(|join| &join.relation);
        std::iter::once(&from.relation).chain(joins)
    });
    let source = |factor: &TableFactor| {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return None;
        };
        let table = find(name)?;
        let alias = match alias {
            Some(alias) if alias.columns.is_empty() => alias.name.clone(),
            Some(_) => return None,
            None => name.0.last()?.as_ident()?.clone(),
        };
        Some(Source { alias, table })
    };
    factors.filter_map(source).collect()
}

/// What a key of `GROUP BY` means: a number is the place of an output column.
fn meant<'a>(key: &'a Expr, projection: &'a [SelectItem]) -> Option<&'a Expr> {
    let Expr::Value(value) = key else {
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

/// The source and the index of a column.
fn column(expression: &Expr, sources: &[Source], schema: &Schema) -> Option<(usize, usize)> {
    let fold = |ident: &Ident| schema.dialect.fold(ident);
    let (qualifier, name) = match expression {
        Expr::Nested(inner) => return column(inner, sources, schema),
        Expr::Identifier(name) => (None, fold(name)),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., qualifier, name] => (Some(fold(qualifier)), fold(name)),
            _ => return None,
        },
        _ => return None,
    };
    let mut found = sources.iter().enumerate().filter_map(|(number, source)| {
        let is_it = qualifier
            .as_ref()
            .is_none_or(|own| *own == fold(&source.alias));
        let index = source.table.position(&name)?;
        is_it.then_some((number, index))
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
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
