//! `VALUES(column)` in `ON DUPLICATE KEY UPDATE`: the value that a row would have had.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, VisitorMut,
};

use super::names;
use crate::walk;

/// The column of a call `VALUES(column)`.
pub(super) fn proposed(value: &Expr) -> Option<&Ident> {
    let Expr::Function(Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args:
            FunctionArguments::List(FunctionArgumentList {
                duplicate_treatment: None,
                args,
                clauses,
            }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group,
    }) = value
    else {
        return None;
    };
    if !names::is_word(name, "values") || !clauses.is_empty() || !within_group.is_empty() {
        return None;
    }
    match &args[..] {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column)))] => Some(column),
        _ => None,
    }
}

/// Gives each expression of some assignments another form.
struct Each<F>(F);

impl<F: FnMut(&mut Expr)> VisitorMut for Each<F> {
    type Break = ();

    fn pre_visit_expr(&mut self, value: &mut Expr) -> ControlFlow<()> {
        (self.0)(value);
        ControlFlow::Continue(())
    }
}

pub(super) fn each(assignments: &mut [Assignment], change: impl FnMut(&mut Expr)) {
    let mut change = Each(change);
    for assignment in assignments {
        let _: ControlFlow<()> = walk::visit_mut(&mut assignment.value, &mut change);
    }
}

/// Writes MariaDB's `VALUE(column)` as `VALUES(column)`, which is the same and both servers have.
pub(super) fn in_the_shared_word(assignments: &mut [Assignment]) {
    each(assignments, |value| {
        if let Expr::Function(function) = value
            && names::is_word(&function.name, "value")
        {
            function.name = ObjectName::from(vec![Ident::new("VALUES")]);
        }
    });
}

/// The assignments with columns in the place of `VALUES(column)`.
pub(super) fn as_columns(assignments: &[Assignment]) -> Vec<Assignment> {
    let mut changed = assignments.to_vec();
    each(&mut changed, |value| {
        if let Some(column) = proposed(value) {
            *value = Expr::Identifier(column.clone());
        }
    });
    changed
}
