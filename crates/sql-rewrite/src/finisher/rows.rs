//! The rows that a source of `INSERT` has: their cells where the text shows them, and their number
//! of columns.

use column_value::LogicalType;
use sqlparser::ast::{Expr, JoinConstraint, Query, Select, SelectItem, SetExpr, TableFactor};

use crate::analysis::Constant;
use crate::dialect::postgres::finisher;
use crate::schema::views::constraint_of;
use crate::{Column, Dialect, Refusal, Schema, Source, Table};
use sql_plan::unsupported;

/// The cells of rows that are written out, or of a select list.
pub(super) struct Cells<'q> {
    rows: Vec<Vec<&'q mut Expr>>,
}

impl<'q> Cells<'q> {
    /// Those of a source; None: it unites queries, or selects `*`.
    pub fn of(source: &'q mut Query) -> Option<Self> {
        let rows = match &mut *source.body {
            SetExpr::Values(values) => {
                let rows = values.rows.iter_mut();
                rows.map(|row| row.content.iter_mut().collect()).collect()
            }
            SetExpr::Select(select) => {
                let items = select.projection.iter_mut().map(|item| match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                        Some(expr)
                    }
                    _ => None,
                });
                vec![items.collect::<Option<Vec<_>>>()?]
            }
            SetExpr::Query(inner) => return Self::of(inner),
            _ => return None,
        };
        Some(Self { rows })
    }

    /// The cells of a column.
    pub fn column(&mut self, index: usize) -> Vec<&mut Expr> {
        let rows = self.rows.iter_mut();
        let cells = rows.filter_map(|row| row.get_mut(index));
        cells.map(|cell| &mut **cell).collect()
    }
}

/// How many columns the rows of a source have; None: the text does not show it.
pub(super) fn width_of(source: &Query) -> Option<usize> {
    width(&source.body)
}

fn width(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Query(inner) => width_of(inner),
        SetExpr::Values(values) => {
            let first = values.rows.first()?.content.len();
            let mut rows = values.rows.iter();
            rows.all(|row| row.content.len() == first).then_some(first)
        }
        SetExpr::SetOperation { left, .. } => width(left),
        SetExpr::Select(select) => {
            let items = select.projection.iter().map(|item| match item {
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => Some(1),
                SelectItem::Wildcard(_) => all_of(select),
                _ => None,
            });
            items.sum()
        }
        _ => None,
    }
}

/// How many columns `*` is.
fn all_of(select: &Select) -> Option<usize> {
    let widths = select.from.iter().map(|from| match &from.relation {
        TableFactor::UNNEST {
            array_exprs,
            with_ordinality,
            ..
        } if from.joins.is_empty() => Some(array_exprs.len() + usize::from(*with_ordinality)),
        TableFactor::Derived { subquery, .. } if from.joins.is_empty() => width_of(subquery),
        _ => None,
    });
    widths.sum()
}

/// The tables of a select without other relations: the names that qualify their columns. None: it
/// has others, or joins that bring columns together.
pub(super) fn tables_of<'s>(
    select: &Select,
    schema: &'s Schema,
) -> Option<Vec<(sqlparser::ast::Ident, &'s Table)>> {
    let mut tables = Vec::new();
    for from in &select.from {
        let joined = from.joins.iter().map(|join| {
            let is_simple = matches!(
                constraint_of(&join.join_operator),
                Some(JoinConstraint::On(_) | JoinConstraint::None)
            );
            is_simple.then_some(&join.relation)
        });
        for factor in std::iter::once(Some(&from.relation)).chain(joined) {
            let TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } = factor?
            else {
                return None;
            };
            let (own, relation) = schema.dialect.split(name)?;
            let table = schema.find(own.as_deref(), &relation)?;
            let last = name.0.last()?.as_ident()?;
            let known = match alias {
                Some(alias) if !alias.columns.is_empty() => return None,
                Some(alias) => &alias.name,
                None => last,
            };
            tables.push((known.clone(), table));
        }
    }
    Some(tables)
}

/// A list of columns of a table that is known by a name, with `*` written out.
pub(super) fn expanded(
    items: &[SelectItem],
    (name, table): (&sqlparser::ast::Ident, &Table),
    dialect: Dialect,
) -> Vec<SelectItem> {
    let columns = table.columns.iter().map(|column| {
        let parts = vec![name.clone(), dialect.quote(&column.name)];
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
    });
    let expand = |item: &SelectItem| match item {
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => columns.clone().collect(),
        item => vec![item.clone()],
    };
    items.iter().flat_map(expand).collect()
}

/// Writes the columns out that `*` means, where all relations are tables.
pub(super) fn expand_stars(source: &mut Query, schema: &Schema) {
    if source.with.is_some() {
        return;
    }
    let select = match &mut *source.body {
        SetExpr::Select(select) => select,
        SetExpr::Query(inner) => return expand_stars(inner, schema),
        _ => return,
    };
    let Some(tables) = tables_of(select, schema) else {
        return;
    };
    let mut items = Vec::new();
    for item in std::mem::take(&mut select.projection) {
        let SelectItem::Wildcard(_) = item else {
            items.push(item);
            continue;
        };
        for (name, table) in &tables {
            items.extend(table.columns.iter().map(|column| {
                let column = schema.dialect.quote(&column.name);
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![name.clone(), column]))
            }));
        }
    }
    select.projection = items;
}

/// The type that a constant for a column is read as, without its limits. None: the finisher does
/// not know it.
pub(super) fn cast_of(table: &Table, column: &Column, schema: &Schema) -> Option<String> {
    let logical = column.protected.map(|id| schema.column(id).logical);
    if let Some(logical) = logical.or(column.physical) {
        return Some(match logical {
            LogicalType::Varchar(_) => "varchar".to_owned(),
            LogicalType::Char(_) => "bpchar".to_owned(),
            LogicalType::Numeric(_) => "numeric".to_owned(),
            LogicalType::Opaque(opaque) => opaque.unlimited_name(),
            other => other.with_all_digits().to_string(),
        });
    }
    let types = &schema.catalogue.finisher.column_types;
    let known = types.get(&(table.oid, column.number))?;
    let has_limits = known.name.contains('(');
    (!has_limits).then(|| known.name.clone())
}

/// Gives a constant without a type that of its column.
pub(super) fn cast_constant(
    cell: &mut Expr,
    column: &Column,
    (table, schema): (&Table, &Schema),
) -> Result<(), Refusal> {
    let is_untyped = Constant::of(cell)?.is_some_and(|constant| {
        constant.cast.is_none()
            && matches!(
                constant.source,
                Source::Parameter(_)
                    | Source::Literal(crate::Literal::Text(_) | crate::Literal::Null)
            )
    });
    if !is_untyped {
        return Ok(());
    }
    let type_name = cast_of(table, column, schema).ok_or_else(|| {
        unsupported(&format!(
            "a constant for column {}.{} of a type that the finisher does not know",
            table.name, column.name
        ))
        .with_hint("Insert such rows one by one.")
    })?;
    let cast = finisher::expression(&format!("CAST(NULL AS {type_name})"));
    let Some(Expr::Cast {
        kind,
        data_type,
        format,
        ..
    }) = cast
    else {
        return Err(unsupported(&format!("a column of type {type_name}")));
    };
    let inner = Box::new(std::mem::replace(cell, Expr::Tuple(Vec::new())));
    *cell = Expr::Cast {
        kind,
        expr: inner,
        data_type,
        format,
    };
    Ok(())
}
