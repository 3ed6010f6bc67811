//! Whether protected columns take part in values that the finisher before MariaDB computes for
//! plain columns.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, Ident, Query, Select, SelectItem, SetExpr, Visitor, WindowType,
};

use super::super::rows::tables_of;
use crate::walk;
use crate::{Schema, Table};

/// Functions of several rows: their value tells of rows that conditions on protected columns have
/// chosen.
const OF_ROWS: [&str; 32] = [
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "count",
    "cume_dist",
    "dense_rank",
    "first_value",
    "group_concat",
    "json_arrayagg",
    "json_objectagg",
    "lag",
    "last_value",
    "lead",
    "max",
    "median",
    "min",
    "nth_value",
    "ntile",
    "percent_rank",
    "percentile_cont",
    "percentile_disc",
    "rank",
    "row_number",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "var_pop",
    "var_samp",
    "variance",
];

/// For each column of a query's answer, whether it is made of plain columns of its row and of
/// constants only. None: that is not known.
pub(crate) fn outputs(query: &Query, schema: &Schema) -> Option<Vec<bool>> {
    match query.with {
        None => of_body(&query.body, schema),
        Some(_) => None,
    }
}

fn of_body(body: &SetExpr, schema: &Schema) -> Option<Vec<bool>> {
    match body {
        SetExpr::Select(select) => of_select(select, schema),
        SetExpr::Query(inner) => outputs(inner, schema),
        SetExpr::Values(values) => {
            let rows = values.rows.iter();
            let rows = rows.map(|row| {
                let cells = row.content.iter();
                Some(cells.map(|cell| is_public(cell, &[], schema)).collect())
            });
            rows.reduce(both).flatten()
        }
        SetExpr::SetOperation { left, right, .. } => {
            both(of_body(left, schema), of_body(right, schema))
        }
        _ => None,
    }
}

fn both(one: Option<Vec<bool>>, other: Option<Vec<bool>>) -> Option<Vec<bool>> {
    let (one, other) = (one?, other?);
    let is_alike = one.len() == other.len();
    is_alike.then(|| one.iter().zip(&other).map(|(a, b)| *a && *b).collect())
}

fn of_select(select: &Select, schema: &Schema) -> Option<Vec<bool>> {
    let tables = tables_of(select, schema);
    let known = tables.as_deref().unwrap_or_default();
    let all = |table: &Table| -> Vec<bool> {
        let columns = table.columns.iter();
        columns.map(|column| column.protected.is_none()).collect()
    };
    let mut found = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(own) | SelectItem::ExprWithAlias { expr: own, .. } => {
                found.push(is_public(own, known, schema));
            }
            SelectItem::Wildcard(_) => {
                let tables = tables.as_ref()?.iter();
                tables.for_each(|(_, table)| found.extend(all(table)));
            }
            SelectItem::QualifiedWildcard(kind, _) => {
                let name = kind.to_string();
                let name = name.strip_suffix(".*").unwrap_or(&name);
                let name = name.trim_matches('`');
                let mut meant = tables.as_ref()?.iter();
                let (_, table) = meant.find(|(own, _)| own.value == name)?;
                found.extend(all(table));
            }
            _ => return None,
        }
    }
    Some(found)
}

/// Whether a value is made of constants and parameters only.
pub(crate) fn is_of_no_row(value: &Expr, schema: &Schema) -> bool {
    is_public(value, &[], schema)
}

/// Whether a value is made of plain columns of these tables only.
fn is_public(value: &Expr, tables: &[(Ident, &Table)], schema: &Schema) -> bool {
    walk::visit(value, &mut Names { tables, schema }).is_continue()
}

/// Stops at what may be made of a protected column.
struct Names<'t, 's> {
    tables: &'t [(Ident, &'s Table)],
    schema: &'s Schema,
}

impl Names<'_, '_> {
    /// Whether a name means a plain column of the tables, whichever of them has it.
    fn is_plain(&self, qualifier: Option<&Ident>, column: &Ident) -> bool {
        let column = self.schema.dialect.fold(column);
        let meant = self.tables.iter();
        let meant = meant.filter(|(own, _)| qualifier.is_none_or(|one| one.value == own.value));
        let mut found = meant
            .filter_map(|(_, table)| Some(table.columns[table.position(&column)?].protected))
            .peekable();
        found.peek().is_some() && found.all(|protected| protected.is_none())
    }
}

fn is_of_a_row(function: &Function) -> bool {
    let name = function.name.to_string().to_ascii_lowercase();
    let is_over = matches!(
        function.over,
        Some(WindowType::NamedWindow(_) | WindowType::WindowSpec(_))
    );
    !is_over && !OF_ROWS.contains(&name.as_str())
}

impl Visitor for Names<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let is_public = match expression {
            Expr::Identifier(name) => self.is_plain(None, name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., relation, column] => self.is_plain(Some(relation), column),
                _ => false,
            },
            Expr::Function(function) => is_of_a_row(function),
            Expr::Subquery(_)
            | Expr::Exists { .. }
            | Expr::InSubquery { .. }
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..) => false,
            _ => true,
        };
        match is_public {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}
