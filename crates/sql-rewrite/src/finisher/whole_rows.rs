//! Whole rows of a table whose rows are found again: to the finisher they have their locators, too.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query,
};

use super::legs::Leg;
use crate::walk;
use crate::{Dialect, Refusal, Schema};
use sql_plan::unsupported;

/// Refuses a query that means such a row as one value.
pub(super) fn check(query: &Query, leg: &Leg, schema: &Schema) -> Result<(), Refusal> {
    let dialect = schema.dialect;
    let alias = dialect.fold(&leg.alias);
    let table = schema.tables.get(&leg.table);
    let is_column = table.is_some_and(|table| table.position(&alias).is_some());
    let found = walk::expressions(query, |expression| {
        let is_row = match expression {
            Expr::Identifier(name) => !is_column && dialect.fold(name) == alias,
            Expr::QualifiedWildcard(name, _) => is_name(name, &alias, dialect),
            Expr::Function(function) => match &function.args {
                FunctionArguments::List(list) => list.args.iter().any(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => {
                        is_name(name, &alias, dialect)
                    }
                    _ => false,
                }),
                _ => false,
            },
            _ => false,
        };
        match is_row {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(unsupported(&format!(
            "{alias} as a whole row, where the finisher finds rows of that table,"
        ))
        .with_hint("Name the columns.")),
    }
}

fn is_name(name: &ObjectName, alias: &str, dialect: Dialect) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|last: &Ident| dialect.fold(last) == alias)
}
