//! `INSERT INTO t SELECT p0, … FROM (VALUES (…), …) AS v (p0, …, n) ORDER BY n`: mappers insert
//! rows like this to get the keys that the server generates in the order of the rows. A value that
//! goes into a protected column unchanged is sealed in `VALUES`, as in a plain `INSERT … VALUES`.

use std::collections::HashMap;
use std::mem::discriminant;
use std::ops::ControlFlow;

use column_value::{LogicalType, OpaqueType};
use sqlparser::ast::{
    CastKind, DataType, Distinct, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr,
    TableFactor, TableWithJoins, Value, Values,
};

use super::super::constant::logical_type;
use super::super::query::is_default;
use super::super::{Analysis, Constant};
use crate::walk;
use crate::{ColumnId, Dialect, Refusal, Source};

/// A select list over nothing but VALUES.
struct Parts<'q> {
    items: &'q mut [SelectItem],
    /// Names of the columns of VALUES.
    names: Vec<String>,
    values: &'q mut Values,
    dialect: Dialect,
}

impl Analysis<'_> {
    /// The protected columns that the columns of VALUES go to as they are; None: the source has
    /// another form, or does more with them. Casts move from the select list to the values.
    pub(super) fn hand_over(
        &self,
        source: &mut Query,
        targets: &[Option<ColumnId>],
    ) -> Result<Option<Vec<Option<ColumnId>>>, Refusal> {
        let uses = uses(source, self.dialect());
        let Some(mut parts) = parts(source, self.dialect()) else {
            return Ok(None);
        };
        let Some(stored) = parts.stored(&uses) else {
            return Ok(None);
        };
        let mut insert_targets = vec![None; parts.names.len()];
        for (index, column) in stored {
            let Some(target) = targets.get(index).copied().flatten() else {
                continue;
            };
            parts.move_casts(index, column, self.column(target).logical);
            if !is_uniform(parts.values, column)? {
                return Ok(None);
            }
            insert_targets[column] = Some(target);
        }
        Ok(insert_targets
            .iter()
            .any(Option::is_some)
            .then_some(insert_targets))
    }
}

impl Parts<'_> {
    /// Items of the select list that are columns of VALUES, with those columns. None: a value is
    /// also used elsewhere.
    fn stored(&self, uses: &HashMap<String, usize>) -> Option<Vec<(usize, usize)>> {
        let mut stored = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            let name = column_name(expression(item)?, self.dialect);
            let column = name.and_then(|name| self.names.iter().position(|own| *own == name));
            if let Some(column) = column {
                if uses.get(&self.names[column]) != Some(&1) {
                    return None;
                }
                stored.push((index, column));
            }
        }
        let is_stored = |column: usize| stored.iter().any(|(_, own)| *own == column);
        let fits = self.values.rows.iter().all(|row| {
            let mut cells = row.content.iter().enumerate();
            cells.all(|(column, cell)| match is_stored(column) {
                true => !is_default(cell),
                // What numbers the rows.
                false => is_number(cell),
            })
        });
        fits.then_some(stored)
    }

    /// Moves the casts of an item to the values of its column. A cast to the type of the target
    /// column is dropped, if storing does the same.
    fn move_casts(&mut self, index: usize, column: usize, logical: LogicalType) {
        let (SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }) =
            &mut self.items[index]
        else {
            return;
        };
        let cuts = matches!(
            logical,
            LogicalType::Varchar(Some(_)) | LogicalType::Char(_)
        ) || logical.opaque().is_some_and(OpaqueType::is_cut_by_cast);
        let mut casts = take_casts(item);
        casts.retain(|cast| cuts || logical_type(cast) != Some(logical));
        for row in &mut self.values.rows {
            let cell = &mut row.content[column];
            for data_type in &casts {
                let inner = std::mem::replace(cell, Expr::Tuple(Vec::new()));
                *cell = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(inner),
                    data_type: data_type.clone(),
                    format: None,
                };
            }
        }
    }
}

/// The parts of a query that selects from VALUES, names all columns, and only sorts.
fn parts(source: &mut Query, dialect: Dialect) -> Option<Parts<'_>> {
    let Query {
        with: None, body, ..
    } = source
    else {
        return None;
    };
    let SetExpr::Select(select) = &mut **body else {
        return None;
    };
    let is_plain = matches!(select.distinct, None | Some(Distinct::All))
        && select.selection.is_none()
        && select.having.is_none()
        && select.named_window.is_empty()
        && matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let Select {
        projection, from, ..
    } = &mut **select;
    let [TableWithJoins { relation, joins }] = from.as_mut_slice() else {
        return None;
    };
    let TableFactor::Derived {
        lateral: false,
        subquery,
        alias: Some(alias),
        sample: None,
    } = relation
    else {
        return None;
    };
    let Query {
        with: None,
        body,
        order_by: None,
        limit_clause: None,
        fetch: None,
        ..
    } = &mut **subquery
    else {
        return None;
    };
    let SetExpr::Values(values) = &mut **body else {
        return None;
    };
    let names: Vec<String> = alias
        .columns
        .iter()
        .map(|own| dialect.fold(&own.name))
        .collect();
    let mut rows = values.rows.iter();
    let is_named = rows.all(|row| row.content.len() == names.len());
    (is_plain && joins.is_empty() && is_named).then_some(Parts {
        items: projection,
        names,
        values,
        dialect,
    })
}

/// How often each name of a column stands in a query.
fn uses(query: &Query, dialect: Dialect) -> HashMap<String, usize> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    let _: ControlFlow<()> = walk::expressions(query, |part| {
        let name = match part {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        if let Some(name) = name {
            *uses.entry(dialect.fold(name)).or_default() += 1;
        }
        ControlFlow::Continue(())
    });
    uses
}

fn expression(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// The name of the column that an expression is, casts left out.
fn column_name(expression: &Expr, dialect: Dialect) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(dialect.fold(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|own| dialect.fold(own)),
        Expr::Nested(inner)
        | Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr: inner,
            data_type: _,
            format: None,
        } => column_name(inner, dialect),
        _ => None,
    }
}

/// Takes the casts off a column; the first that is done comes first.
fn take_casts(expression: &mut Expr) -> Vec<DataType> {
    let mut casts = Vec::new();
    loop {
        let inner = match &mut *expression {
            Expr::Nested(inner) => inner,
            Expr::Cast {
                expr, data_type, ..
            } => {
                casts.push(data_type.clone());
                expr
            }
            _ => break,
        };
        let inner = std::mem::replace(&mut **inner, Expr::Tuple(Vec::new()));
        *expression = inner;
    }
    casts.reverse();
    casts
}

/// Whether the values of a column are written alike: the server would bring those of several kinds
/// to one type before it stores them.
fn is_uniform(values: &Values, column: usize) -> Result<bool, Refusal> {
    let mut first = None;
    for row in &values.rows {
        let constant = Constant::of(&row.content[column])?;
        if constant.as_ref().is_some_and(Constant::is_null) {
            continue;
        }
        let kind = constant.map(|constant| {
            let literal = match &constant.source {
                Source::Literal(literal) => Some(discriminant(literal)),
                _ => None,
            };
            (literal, constant.cast)
        });
        if *first.get_or_insert(kind) != kind {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_number(cell: &Expr) -> bool {
    matches!(cell, Expr::Value(value) if matches!(value.value, Value::Number(..)))
}
