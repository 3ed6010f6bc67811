//! Whether a protected column took part in a value of a query.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, SetExpr, Visitor};

use super::rows::tables_of;
use crate::dialect::postgres::finisher;
use crate::walk;
use crate::{Schema, Table};

/// Whether a column of a query's answer, by its index, is made of plain columns of its row and of
/// constants only. When unsure: no.
pub(super) fn is_public(query: &Query, index: usize, schema: &Schema) -> bool {
    let SetExpr::Select(select) = &*query.body else {
        return match &*query.body {
            SetExpr::Query(inner) if query.with.is_none() => is_public(inner, index, schema),
            _ => false,
        };
    };
    query.with.is_none() && item_is_public(select, index, schema)
}

fn item_is_public(select: &Select, index: usize, schema: &Schema) -> bool {
    let has_star = select.projection.iter().any(|item| {
        !matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    });
    let (Some(tables), false) = (tables_of(select, schema), has_star) else {
        return false;
    };
    let (Some(SelectItem::UnnamedExpr(item)) | Some(SelectItem::ExprWithAlias { expr: item, .. })) =
        select.projection.get(index)
    else {
        return false;
    };
    let mut names = Names {
        tables: &tables,
        schema,
    };
    walk::visit(item, &mut names).is_continue()
}

/// Stops at what may be made of a protected column.
struct Names<'t, 's> {
    tables: &'t [(Ident, &'s Table)],
    schema: &'s Schema,
}

impl Names<'_, '_> {
    /// Whether a name means a plain column of the tables, whichever of them has it.
    fn is_plain(&self, qualifier: Option<&Ident>, column: &Ident) -> bool {
        let dialect = self.schema.dialect;
        let is_word = qualifier.is_none() && column.quote_style.is_none();
        let column = dialect.fold(column);
        let qualifier = qualifier.map(|own| dialect.fold(own));
        let meant = self.tables.iter().filter(|(name, _)| {
            let own = dialect.fold(name);
            qualifier.as_ref().is_none_or(|wanted| *wanted == own)
        });
        let found = meant.filter_map(|(_, table)| {
            let index = table.position(&column)?;
            Some(table.columns[index].protected.is_none())
        });
        let found: Vec<bool> = found.collect();
        match found.as_slice() {
            [] => is_word && dialect.is_function_word(&column),
            all => all.iter().all(|is_plain| *is_plain),
        }
    }
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
            Expr::Function(function) => finisher::is_of_a_row(function),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => false,
            _ => true,
        };
        match is_public {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}
