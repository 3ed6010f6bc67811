//! Text search configurations that the finisher has as the client's server has them.
//!
//! A configuration and its dictionaries can be altered, even those of PostgreSQL itself. A digest
//! of what `initdb` makes of each tells whether that was done ("Text Search Configuration" in
//! PostgreSQL's documentation).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    ObjectName, Value, ValueWithSpan,
};

use super::names::builtin;
use crate::Refusal;
use crate::schema::cells::text;
use crate::schema::{Answer, TextSearch};
use sql_plan::unsupported;

/// Functions whose first argument may be a configuration; without one they take the session's.
const FUNCTIONS: [&str; 6] = [
    "phraseto_tsquery",
    "plainto_tsquery",
    "to_tsquery",
    "to_tsvector",
    "ts_headline",
    "websearch_to_tsquery",
];

/// Reads the catalogue's answer: names and digests.
pub(crate) fn read(answer: &Answer) -> TextSearch {
    let all: Vec<(String, String)> = answer
        .iter()
        .map(|row| (text(row, 0), text(row, 1)))
        .collect();
    let is_known =
        |(name, digest): &&(String, String)| DIGESTS.get(name.as_str()) == Some(&digest.as_str());
    let of_users: Vec<&String> = all
        .iter()
        .filter(|(_, digest)| digest.is_empty())
        .map(|(name, _)| name)
        .collect();
    let known = all.iter().filter(is_known).map(|(name, _)| name);
    TextSearch {
        // The search path decides which of two the name means.
        known: known
            .filter(|name| !of_users.contains(name))
            .cloned()
            .collect(),
        is_all: !all.is_empty() && all.iter().all(|row| is_known(&row)),
    }
}

/// Whether a cast gives a configuration, and the finisher has the one that is meant.
pub(super) fn is_known_cast(expression: &Expr, known: &TextSearch) -> bool {
    match expression {
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            ..
        } => is_regconfig(expression) && (known.is_all || is_known(expr, known)),
        _ => false,
    }
}

fn is_regconfig(expression: &Expr) -> bool {
    let Expr::Cast {
        data_type: DataType::Custom(name, modifiers),
        ..
    } = expression
    else {
        return false;
    };
    modifiers.is_empty() && builtin(name).is_some_and(|name| name == "regconfig")
}

/// Whether an expression is the name of a configuration that the finisher has.
fn is_known(expression: &Expr, known: &TextSearch) -> bool {
    let Expr::Value(ValueWithSpan {
        value: Value::SingleQuotedString(name),
        ..
    }) = expression
    else {
        return false;
    };
    known
        .known
        .contains(name.strip_prefix("pg_catalog.").unwrap_or(name))
}

/// Refuses a function of text search whose configuration the finisher may not have.
///
/// # Errors
/// It says so.
pub(super) fn check(function: &Function, known: &TextSearch) -> Result<(), Refusal> {
    let is_own = builtin(&function.name).is_some_and(|name| FUNCTIONS.contains(&name.as_str()));
    if !is_own || known.is_all {
        return Ok(());
    }
    let first = first_argument(function);
    let is_given = first.is_some_and(|first| match first {
        Expr::Cast { expr, .. } if is_regconfig(first) => is_known(expr, known),
        // Of several arguments, a constant of an unknown type is the configuration, but those of
        // `ts_headline`, which may be a document.
        _ => count(function) > 1 && is_known(first, known) && !may_be_document(&function.name),
    });
    if is_given {
        return Ok(());
    }
    Err(foreign(&format!("function {}", function.name)))
}

/// The refusal of a query in which the finisher does not know a configuration, if the server may
/// know it: by the message of the error.
pub(super) fn unknown(message: &str, known: &TextSearch) -> Option<Refusal> {
    let is_so = message.starts_with("text search configuration ")
        || message.starts_with("invalid value for parameter \"default_text_search_config\"");
    (is_so && !known.is_all).then(|| foreign("this statement"))
}

fn foreign(what: &str) -> Refusal {
    unsupported(&format!(
        "{what} with a text search configuration of users, or one that was altered, over protected \
         columns"
    ))
    .with_hint(
        "Name a configuration as PostgreSQL itself has it: to_tsvector('english'::regconfig, ...).",
    )
}

fn may_be_document(name: &ObjectName) -> bool {
    builtin(name).is_some_and(|name| name == "ts_headline")
}

fn first_argument(function: &Function) -> Option<&Expr> {
    match &function.args {
        FunctionArguments::List(list) => match list.args.first()? {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(first)) => Some(first),
            _ => None,
        },
        _ => None,
    }
}

/// The number of arguments of a call.
pub(super) fn count(function: &Function) -> usize {
    match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        _ => 0,
    }
}

/// What `initdb` makes, by name.
static DIGESTS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("text_search_configurations.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).collect()
});
