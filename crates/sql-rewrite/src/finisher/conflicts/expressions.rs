//! Expressions of `ON CONFLICT DO UPDATE`: what they name, and what stands for `EXCLUDED`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Assignment as Set, AssignmentTarget, Expr, Ident, Visitor, VisitorMut};

use crate::dialect::postgres::finisher;
use crate::walk;
use crate::{Refusal, Schema, Table};
use sql_plan::unsupported;

/// The name of the row that was to be inserted.
pub(super) const EXCLUDED: &str = "excluded";

/// `CAST(value AS type)`
pub(super) fn cast(value: Expr, type_name: &str) -> Result<Expr, Refusal> {
    let unknown = || unsupported(&format!("a column of type {type_name}"));
    let cast = finisher::expression(&format!("CAST(NULL AS {type_name})"));
    let mut cast = cast.ok_or_else(unknown)?;
    match &mut cast {
        Expr::Cast { expr, .. } => **expr = value,
        _ => return Err(unknown()),
    }
    Ok(cast)
}

/// The assignments of single columns: `(a, b) = (1, 2)` is two.
pub(super) fn singles(assignments: &[Set]) -> Result<Vec<Set>, Refusal> {
    let mut singles = Vec::new();
    for assignment in assignments {
        match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(_), _) => singles.push(assignment.clone()),
            (AssignmentTarget::Tuple(names), Expr::Tuple(values))
                if names.len() == values.len() =>
            {
                let pairs = names.iter().zip(values);
                singles.extend(pairs.map(|(name, value)| Set {
                    target: AssignmentTarget::ColumnName(name.clone()),
                    value: value.clone(),
                }));
            }
            _ => {
                return Err(unsupported(
                    "a row that is assigned in ON CONFLICT DO UPDATE",
                ));
            }
        }
    }
    Ok(singles)
}

/// The column of `EXCLUDED` that an expression is.
fn of_excluded(expression: &Expr, schema: &Schema) -> Option<String> {
    let Expr::CompoundIdentifier(parts) = expression else {
        return None;
    };
    match parts.as_slice() {
        [relation, column] if schema.dialect.fold(relation) == EXCLUDED => {
            Some(schema.dialect.fold(column))
        }
        _ => None,
    }
}

/// Whether an expression names a column of `EXCLUDED`.
pub(super) fn mentions_excluded(value: &Expr, schema: &Schema) -> bool {
    let mut mentioned = Mentioned::new(schema);
    let _: ControlFlow<()> = walk::visit(value, &mut mentioned);
    !mentioned.excluded.is_empty()
}

/// The names of a query.
pub(super) struct Mentioned<'s> {
    schema: &'s Schema,
    pub names: BTreeSet<String>,
    /// Those behind `EXCLUDED`.
    pub excluded: BTreeSet<String>,
}

impl<'s> Mentioned<'s> {
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            names: BTreeSet::new(),
            excluded: BTreeSet::new(),
        }
    }
}

impl Visitor for Mentioned<'_> {
    type Break = ();

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        self.names.insert(self.schema.dialect.fold(ident));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        self.excluded.extend(of_excluded(expression, self.schema));
        ControlFlow::Continue(())
    }
}

/// Names of columns without that of a schema: the finisher's relations are in none.
pub(super) struct Unqualified;

impl VisitorMut for Unqualified {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expression
            && parts.len() > 2
        {
            parts.drain(..parts.len() - 2);
        }
        ControlFlow::Continue(())
    }
}

/// Replaces plain columns of `EXCLUDED`.
pub(super) struct Replaced<'r> {
    pub table: &'r Table,
    pub schema: &'r Schema,
    pub of: &'r mut dyn FnMut(usize) -> Result<Expr, Refusal>,
}

impl VisitorMut for Replaced<'_> {
    type Break = Refusal;

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Refusal> {
        let column = of_excluded(expression, self.schema);
        let index = column.and_then(|column| self.table.position(&column));
        let index = index.filter(|index| self.table.columns[*index].protected.is_none());
        let Some(index) = index else {
            return ControlFlow::Continue(());
        };
        match (self.of)(index) {
            Ok(replaced) => {
                *expression = replaced;
                ControlFlow::Continue(())
            }
            Err(refusal) => ControlFlow::Break(refusal),
        }
    }
}
