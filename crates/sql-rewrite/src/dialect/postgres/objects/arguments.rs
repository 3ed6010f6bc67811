//! The arguments of `EXECUTE`.

use std::ops::ControlFlow;

use sqlparser::ast::{CastKind, DataType, Expr, Statement, Value, VisitorMut};
use sqlstate::SqlState;

use crate::analysis::Constant;
use crate::dialect::postgres::parse::parse;
use crate::walk;
use crate::{Literal, Refusal, Source};
use sql_plan::{refuse, unsupported};

/// A prepared statement with its arguments.
pub(super) fn meant(
    name: &str,
    own: &super::Prepared,
    parameters: Vec<Expr>,
) -> Result<Statement, Refusal> {
    let mut meant =
        parse(&own.text).map_err(|_| refuse("the prepared statement cannot be read again"))?;
    let count = parameters.len();
    let wanted = put(parameters, &own.types, &mut meant)?;
    if count != wanted {
        return Err(refuse(format!(
            "wrong number of parameters for prepared statement {name}: {count} instead of {wanted}"
        ))
        .with_state(SqlState::SYNTAX_ERROR));
    }
    Ok(meant)
}

/// Puts the arguments of `EXECUTE` into the statement that it means, with the types of their
/// parameters; gives how many it has.
fn put(given: Vec<Expr>, types: &[String], meant: &mut Statement) -> Result<usize, Refusal> {
    given.iter().try_for_each(check_argument)?;
    let mut arguments = Arguments {
        given: typed(given, types)?,
        wanted: types.len(),
    };
    let _: ControlFlow<()> = walk::visit_mut(meant, &mut arguments);
    Ok(arguments.wanted)
}

/// Refuses an argument that may be another one at each place where its parameter stands, or for
/// each row: the server would compute it once, and no column be in sight.
fn check_argument(argument: &Expr) -> Result<(), Refusal> {
    let mut inner = argument;
    while let Expr::Nested(next) | Expr::Cast { expr: next, .. } = inner {
        inner = next;
    }
    let is_fixed = match inner {
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::Interval(interval) => matches!(&*interval.value, Expr::Value(_)),
        Expr::Array(array) => {
            let mut elements = array.elem.iter();
            elements.all(|element| matches!(Constant::of(element), Ok(Some(_))))
        }
        Expr::Function(_) | Expr::Identifier(_) => is_stable(inner),
        other => Constant::of(other)?.is_some(),
    };
    match is_fixed {
        true => Ok(()),
        false => Err(unsupported("EXECUTE with an argument that is computed")
            .with_hint("Compute it first, or prepare the statement by messages of the protocol.")),
    }
}

/// Calls that give one value in all of a statement.
fn is_stable(call: &Expr) -> bool {
    matches!(
        call.to_string().to_ascii_lowercase().as_str(),
        "current_catalog"
            | "current_date"
            | "current_role"
            | "current_schema"
            | "current_time"
            | "current_timestamp"
            | "current_user"
            | "localtime"
            | "localtimestamp"
            | "now()"
            | "session_user"
            | "statement_timestamp()"
            | "transaction_timestamp()"
            | "user"
    )
}

/// Arguments with the types of their parameters.
fn typed(parameters: Vec<Expr>, types: &[String]) -> Result<Vec<Expr>, Refusal> {
    let types: Vec<DataType> = types
        .iter()
        .map(|own| type_of(own))
        .collect::<Option<_>>()
        .ok_or_else(|| unsupported("a type of this PREPARE"))?;
    let mut types = types.into_iter();
    let typed = parameters.into_iter().map(|parameter| match types.next() {
        None => Expr::Nested(Box::new(untyped(parameter))),
        Some(data_type) => Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(parameter),
            data_type,
            format: None,
        },
    });
    Ok(typed.collect())
}

/// A number as a text, whose type the context decides as it does that of a parameter. As a number
/// it would be a `numeric`, to which no `real` of a column may be equal.
fn untyped(parameter: Expr) -> Expr {
    match Constant::of(&parameter) {
        Ok(Some(Constant {
            source: Source::Literal(Literal::Number(digits)),
            cast: None,
            ..
        })) => Expr::Value(Value::SingleQuotedString(digits).into()),
        _ => parameter,
    }
}

fn type_of(text: &str) -> Option<DataType> {
    let parsed = parse(&format!("SELECT CAST(1 AS {text})")).ok()?;
    let Statement::Query(query) = parsed else {
        return None;
    };
    let item = query.body.as_select()?.projection.first()?;
    match item {
        sqlparser::ast::SelectItem::UnnamedExpr(Expr::Cast { data_type, .. }) => {
            Some(data_type.clone())
        }
        _ => None,
    }
}

/// Puts arguments in the places of parameters.
struct Arguments {
    given: Vec<Expr>,
    wanted: usize,
}

impl VisitorMut for Arguments {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expression
            && let Value::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$')
            && let Ok(number) = number.parse::<usize>()
            && let Some(index) = number.checked_sub(1)
        {
            self.wanted = self.wanted.max(number);
            if let Some(argument) = self.given.get(index) {
                *expression = argument.clone();
            }
        }
        ControlFlow::Continue(())
    }
}
