//! Calls that may do more than return a value (`nextval`, functions of users): the server makes
//! them for the rows for which it would make them without the proxy, and as often.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName};

use super::finisher::{is_of_chance, is_of_moment, is_own_function};
use super::names::{builtin, split};
use crate::walk;
use crate::{Dialect, Expression, Refusal, Schema};
use sql_plan::unsupported;

/// Functions of PostgreSQL that read what a session or the catalogues say, and change nothing.
const READING: &str = "\
    col_description current_schemas current_setting currval format_type has_column_privilege \
    has_schema_privilege has_sequence_privilege has_table_privilege lastval obj_description \
    pg_column_size pg_get_constraintdef pg_get_expr pg_get_indexdef pg_get_serial_sequence \
    pg_get_userbyid pg_get_viewdef pg_relation_size pg_table_is_visible pg_table_size \
    pg_total_relation_size shobj_description to_regclass to_regtype";

/// Words that the parser takes for names of functions.
const SYNTAX: [&str; 3] = ["array", "row", "exists"];

/// The name of a function in an expression that may do more than return a value. A function of
/// users may, unless the schema says that none of its name is volatile.
pub(crate) fn acting(expression: &Expr, schema: Option<&Schema>) -> Option<String> {
    let found = walk::expressions(expression, |part| match part {
        Expr::Function(function) if !is_of_moment(part) && !is_of_chance(part) => {
            let is_known = is_own_function(&function.name)
                || builtin(&function.name).is_some_and(|name| {
                    SYNTAX.contains(&name.as_str())
                        || READING.split_whitespace().any(|own| own == name)
                })
                || is_steady(&function.name, schema);
            match is_known {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(function.name.to_string()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    found.break_value()
}

fn is_steady(name: &ObjectName, schema: Option<&Schema>) -> bool {
    let steady = schema.map(|schema| &schema.catalogue.finisher.steady_functions);
    let own = split(name).map(|(_, name)| name);
    own.is_some_and(|own| steady.is_some_and(|steady| steady.contains(&own)))
}

/// Whether a call in an expression may give another value each time, or do something.
pub(crate) fn varies(expression: &Expr, schema: Option<&Schema>) -> bool {
    is_of_chance(expression) || acting(expression, schema).is_some()
}

/// Refuses calls among what the proxy fetches, if they would be made for other rows than the server
/// would make them for, or more often. `values` are what each row is given, in the proxy's own
/// expressions: a call that is a whole value is made once for each row that is fetched, and so it
/// should be if no row is left out.
///
/// # Errors
/// It names the function.
pub(crate) fn check(
    (fetched, before): (&[&Expr], usize),
    values: &[&Expression],
    leaves_out: bool,
    schema: &Schema,
) -> Result<(), Refusal> {
    let is_postgres = schema.dialect == Dialect::Postgres;
    let postgres = fetched.iter().filter(|_| is_postgres);
    for (index, one) in postgres.enumerate() {
        let Some(name) = acting(one, Some(schema)) else {
            continue;
        };
        let own = Expression::Column(before + index);
        let is_whole = values.iter().filter(|value| ***value == own).count() == 1;
        if leaves_out || !is_whole {
            return Err(of_other_rows(&name));
        }
    }
    Ok(())
}

/// Refuses a call in what the server decides, beside conditions that the proxy decides.
///
/// # Errors
/// It names the function.
pub(crate) fn check_condition(condition: Option<&Expr>, schema: &Schema) -> Result<(), Refusal> {
    let own = condition.filter(|_| schema.dialect == Dialect::Postgres);
    match own.and_then(|own| acting(own, Some(schema))) {
        None => Ok(()),
        Some(name) => Err(of_other_rows(&name)),
    }
}

/// The refusal of a call.
pub(crate) fn of_other_rows(name: &str) -> Refusal {
    unsupported(&format!(
        "function {name}, which may do more than return a value and would be called for other rows \
         than the server would call it for,"
    ))
    .with_hint("Call it in a statement of its own, and pass its result as a parameter.")
}
