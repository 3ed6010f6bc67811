//! Whether a protected column took part in a value of a query.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SetExpr, TableFactor, Visitor,
};

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
        public: None,
        schema,
    };
    walk::visit(item, &mut names).is_continue()
}

/// What values of a `MERGE` are made of.
pub(super) struct Origin<'s> {
    tables: Vec<(Ident, &'s Table)>,
    /// The name of a source that is no table, and reads no protected column.
    public: Option<Ident>,
}

impl<'s> Origin<'s> {
    /// That of a source and a target. None: the source may have values of protected columns.
    pub fn of(
        source: &TableFactor,
        (name, table): (&Ident, &'s Table),
        schema: &'s Schema,
    ) -> Option<Self> {
        let mut tables = vec![(name.clone(), table)];
        let public = match source {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let (own, relation) = schema.dialect.split(name)?;
                let known = match alias {
                    Some(alias) if !alias.columns.is_empty() => return None,
                    Some(alias) => &alias.name,
                    None => name.0.last()?.as_ident()?,
                };
                tables.push((known.clone(), schema.find(own.as_deref(), &relation)?));
                None
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::Function { alias, .. } => {
                let mut reads = Reads { schema };
                if walk::visit(source, &mut reads).is_break() {
                    return None;
                }
                Some(alias.as_ref()?.name.clone())
            }
            _ => return None,
        };
        Some(Self { tables, public })
    }
}

/// Whether a value of a `MERGE` is made of plain columns and constants only. When unsure: no.
pub(super) fn is_public_of(value: &Expr, origin: Option<&Origin>, schema: &Schema) -> bool {
    let none = Vec::new();
    let mut names = Names {
        tables: origin.map_or(&none, |origin| &origin.tables),
        public: origin.and_then(|origin| origin.public.as_ref()),
        schema,
    };
    walk::visit(value, &mut names).is_continue()
}

/// Stops at a table with protected columns.
struct Reads<'s> {
    schema: &'s Schema,
}

impl Visitor for Reads<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let split = self.schema.dialect.split(name);
        let table = split.map(|(own, relation)| self.schema.find(own.as_deref(), &relation));
        match table {
            // Another name is that of a query of the source, which is looked at, too.
            Some(None) => ControlFlow::Continue(()),
            Some(Some(table)) if !table.is_protected() && !table.opaque => {
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    }
}

/// Stops at what may be made of a protected column.
struct Names<'t, 's> {
    tables: &'t [(Ident, &'s Table)],
    /// A relation of which all columns are plain, and not known.
    public: Option<&'t Ident>,
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
        let public = self.public.map(|own| dialect.fold(own));
        let is_of_public = match (&qualifier, &public) {
            (Some(wanted), Some(own)) => wanted == own,
            // The name of a table alone means its whole row.
            (None, Some(_)) => self
                .tables
                .iter()
                .all(|(name, _)| dialect.fold(name) != column),
            (_, None) => false,
        };
        match found.as_slice() {
            [] if is_of_public => true,
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
