//! Names in `RETURNING` and in values of plain columns, where a statement writes by other relations
//! (`UPDATE … FROM`, `DELETE … USING`). The server writes each row by itself, without these, so
//! only names that surely mean the table that is written are let through.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment as Set, Expr, Ident, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    TableWithJoins,
};

use crate::analysis::is_default;
use crate::walk;
use crate::{Dialect, Refusal, Schema};
use sql_plan::unsupported;

/// Refuses what may mean another relation than the one that is written, which is called `own`.
///
/// # Errors
/// It names what may.
pub(super) fn check(
    returning: Option<&[SelectItem]>,
    kept: &[Set],
    (own, others): (String, &[TableWithJoins]),
    schema: &Schema,
) -> Result<(), Refusal> {
    if others.is_empty() {
        return Ok(());
    }
    let names = Names {
        own,
        others: names_of(others, schema),
        dialect: schema.dialect,
    };
    for item in returning.unwrap_or_default() {
        match item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                match schema.dialect.split(name) {
                    Some((None, name)) if name == names.own => {}
                    _ => return Err(refused(&format!("{name}.*"))),
                }
            }
            SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. } => {
                names.check(value)?;
            }
            _ => return Err(refused("*")),
        }
    }
    // The key word DEFAULT reads like a name.
    let values = kept.iter().map(|set| &set.value);
    values
        .filter(|value| !is_default(value))
        .try_for_each(|value| names.check(value))
}

struct Names {
    own: String,
    /// What the other relations and their columns are called. None: that is not known.
    others: Option<Vec<String>>,
    dialect: Dialect,
}

impl Names {
    fn check(&self, value: &Expr) -> Result<(), Refusal> {
        let found = walk::expressions(value, |part| match part {
            Expr::Identifier(name) if self.may_be_other(name) => {
                ControlFlow::Break(name.to_string())
            }
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, _] if self.dialect.fold(table) == self.own => ControlFlow::Continue(()),
                _ => ControlFlow::Break(part.to_string()),
            },
            _ => ControlFlow::Continue(()),
        });
        match found {
            ControlFlow::Break(name) => Err(refused(&name)),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn may_be_other(&self, name: &Ident) -> bool {
        let name = self.dialect.fold(name);
        let is_other = |others: &Vec<String>| others.contains(&name);
        self.dialect.is_system_column(&name) || self.others.as_ref().is_none_or(is_other)
    }
}

fn refused(name: &str) -> Refusal {
    unsupported(&format!(
        "{name} in RETURNING, or for a plain column, beside other relations by which the finisher \
         finds rows,"
    ))
    .with_hint("Name columns of the table that is written, each as table.column.")
}

/// What relations and their columns are called, if all are tables.
fn names_of(others: &[TableWithJoins], schema: &Schema) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for from in others {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            let TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } = factor
            else {
                return None;
            };
            let (own, relation) = schema.dialect.split(name)?;
            let table = schema.find(own.as_deref(), &relation)?;
            match alias {
                Some(alias) if !alias.columns.is_empty() => return None,
                Some(alias) => names.push(schema.dialect.fold(&alias.name)),
                None => names.push(relation),
            }
            names.extend(table.columns.iter().map(|column| column.name.clone()));
        }
    }
    Some(names)
}
