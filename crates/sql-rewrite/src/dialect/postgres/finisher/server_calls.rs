//! Calls and casts that only the server can make. A query may have them where it never evaluates
//! them, as in a branch of `CASE` that no row takes. In the finisher's query each of them becomes a
//! call of the same type that fails when it is evaluated.
//!
//! The planner drops a branch under a constant condition before it evaluates anything in it, or
//! looks whether a function may be called (`eval_const_expressions` of PostgreSQL). So the call in
//! that branch gives the expression its type and is never made.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    Query, Select, SelectItem, Value, VisitorMut,
};

use super::super::names::builtin;
use super::super::{output_names, parse};
use super::is_of_catalogue;
use crate::walk;
use crate::{Refusal, Schema};
use sql_plan::unsupported;

/// Functions of PostgreSQL that return one value, that everybody may call, and that depend on more
/// than their arguments in each of their variants. The server looks whether a function may be
/// called also where it is not evaluated, and evaluates one that is immutable before its time:
/// others than these are refused wherever they are.
pub(super) const FUNCTIONS: &str = include_str!("../server_functions.txt");

/// What creates the function that fails. It is volatile, so that nothing is evaluated before its
/// time; it has the cost that functions of the server have at least, so that no other condition is
/// evaluated before it that the server would evaluate later; and it has a setting of its own, so
/// that it stays a call.
pub const FAILING_FUNCTION: &str = "\
    CREATE SCHEMA strongroom_calls; \
    CREATE FUNCTION strongroom_calls.failing(anyelement, text) RETURNS anyelement LANGUAGE sql \
    VOLATILE COST 1 SET search_path = pg_catalog AS $call$SELECT CASE WHEN \
    pg_catalog.concat('strongroom call of ', $2)::pg_catalog.int4 IS NULL THEN $1 END$call$";

/// The schema of [`FAILING_FUNCTION`]. No search path has it.
pub const FAILING_SCHEMA: &str = "strongroom_calls";

/// What the error of [`FAILING_FUNCTION`] has before the name of what was called.
const MARK: &str = "\"strongroom call of ";

/// What a call or a cast is for which [`FAILING_FUNCTION`] stands in the finisher's query: the name
/// of a function or type.
pub(super) fn of_server(expression: &Expr, schema: &Schema) -> Option<String> {
    match expression {
        Expr::Function(function) if has_plain_arguments(function) => {
            let name = builtin(&function.name).filter(|name| is_listed(name))?;
            let shadows = &schema.catalogue.finisher.shadows;
            (super::called(expression).is_none() && !shadows.contains(&name)).then_some(name)
        }
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type,
            ..
        } if !is_constant(expr) => type_of_catalogue(data_type),
        _ => None,
    }
}

/// The name of the function, if a field of what it returns is asked for: its type is not known.
pub(super) fn field_of(expression: &Expr, schema: &Schema) -> Option<String> {
    let mut root = match expression {
        Expr::CompoundFieldAccess { root, .. } => root,
        _ => return None,
    };
    while let Expr::Nested(inner) = &**root {
        root = inner;
    }
    of_server(root, schema)
}

/// Whether it is NULL of such a type, which is the same everywhere.
pub(super) fn is_null_of_catalogue(expression: &Expr) -> bool {
    match expression {
        Expr::Cast {
            expr, data_type, ..
        } => {
            matches!(&**expr, Expr::Value(value) if value.value == Value::Null)
                && type_of_catalogue(data_type).is_some()
        }
        _ => false,
    }
}

/// Whether it is read as the type before anything is evaluated.
fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::Nested(inner) => is_constant(inner),
        Expr::Value(_) | Expr::TypedString(_) => true,
        _ => false,
    }
}

fn is_listed(name: &str) -> bool {
    static ALL: LazyLock<HashSet<&str>> = LazyLock::new(|| FUNCTIONS.split_whitespace().collect());
    ALL.contains(name)
}

fn type_of_catalogue(data_type: &DataType) -> Option<String> {
    let name = match data_type {
        DataType::Regclass => Some("regclass".to_owned()),
        DataType::Custom(name, modifiers) if modifiers.is_empty() => builtin(name),
        _ => None,
    };
    name.filter(|name| is_of_catalogue(name))
}

fn has_plain_arguments(function: &Function) -> bool {
    let arguments = match &function.args {
        FunctionArguments::List(list) => {
            list.duplicate_treatment.is_none() && list.clauses.is_empty()
        }
        FunctionArguments::None | FunctionArguments::Subquery(_) => false,
    };
    arguments
        && matches!(function.parameters, FunctionArguments::None)
        && !function.uses_odbc_syntax
        && function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
}

/// Whether an expression has such a call or cast anywhere.
pub(crate) fn has_server_calls(expression: &Expr, schema: &Schema) -> bool {
    let found = walk::expressions(expression, |part| match of_server(part, schema) {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Has such calls and casts fail where they are evaluated. Columns of the query keep their names.
pub(crate) fn replace_failing_calls(query: &mut Query, schema: &Schema) {
    let _: ControlFlow<()> = walk::visit_mut(query, &mut Calls { schema });
}

struct Calls<'s> {
    schema: &'s Schema,
}

impl VisitorMut for Calls<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expression) = item
                && has_server_calls(expression, self.schema)
            {
                output_names::name_item(item);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let Some(name) = of_server(expression, self.schema) else {
            return ControlFlow::Continue(());
        };
        if let Expr::Function(function) = expression {
            // What the client's search path has, the finisher's has not.
            let parts = [Ident::new("pg_catalog"), Ident::with_quote('"', &name)];
            function.name = ObjectName(parts.map(ObjectNamePart::Identifier).to_vec());
        }
        let text =
            format!("{FAILING_SCHEMA}.failing(CASE WHEN false THEN {expression} END, '{name}')");
        if let Some(failing) = parse::expression(&text) {
            *expression = failing;
        }
        ControlFlow::Continue(())
    }
}

/// The refusal of a query that came to such a call, or has one that the finisher cannot even read:
/// of a relation of the server, or of a function of another version.
pub(super) fn failed(message: &str) -> Option<Refusal> {
    if let Some((_, name)) = message.split_once(MARK) {
        return Some(refused(name.trim_end_matches('"')));
    }
    if !message.ends_with(" does not exist") {
        return None;
    }
    if message.starts_with("relation ") {
        return Some(unsupported(&format!(
            "a call over protected columns that only the server can make ({message} elsewhere)"
        )));
    }
    let name = message.strip_prefix("function pg_catalog.")?;
    let (name, _) = name.split_once('(')?;
    is_listed(name).then(|| refused(name))
}

/// The refusal of a call.
pub(super) fn refused(name: &str) -> Refusal {
    unsupported(&format!(
        "function {name} over protected columns that the server cannot compare"
    ))
    .with_hint(
        "Only functions of PostgreSQL itself and of some of its extensions that depend on their \
         arguments alone are evaluated outside of the server.",
    )
}
