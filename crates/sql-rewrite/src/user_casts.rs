//! Casts that users have defined between PostgreSQL's own types. Neither the proxy nor the finisher
//! has them.

use sqlparser::ast::ObjectName;

use crate::dialect::postgres::names::{builtin, is_type};
use crate::{Refusal, Schema};
use sql_plan::unsupported;

/// What stands for the casts of users among the names of functions and operators that may be
/// meant.
const USER_CAST: &str = "::";

/// The same for those that the server applies without being asked (`AS IMPLICIT`, `AS ASSIGNMENT`).
const UNASKED: &str = ":: unasked";

/// Functions that cast their argument to a text.
const TO_TEXT: [&str; 2] = ["quote_literal", "quote_nullable"];

fn has(schema: &Schema, cast: &str) -> bool {
    let mut shadows = schema.catalogue.finisher.shadows.iter();
    shadows.any(|shadow| shadow == cast)
}

/// Refuses a cast where users have defined casts between PostgreSQL's own types, which come before
/// those by texts of the values.
///
/// # Errors
/// There are such.
pub(crate) fn check(schema: &Schema) -> Result<(), Refusal> {
    match has(schema, USER_CAST) {
        false => Ok(()),
        true => Err(unsupported(
            "a cast over protected columns, in a database where users have defined a cast between \
             PostgreSQL's own types (CREATE CAST),",
        )
        .with_hint("Cast the value in the program, or drop that cast.")),
    }
}

/// Refuses everything where the server may apply a cast of users that nobody has written.
///
/// # Errors
/// There is such a cast.
pub(crate) fn check_unasked(schema: &Schema) -> Result<(), Refusal> {
    match has(schema, UNASKED) {
        false => Ok(()),
        true => Err(unsupported(
            "a query that the finisher evaluates, in a database where users have defined a cast \
             between PostgreSQL's own types AS IMPLICIT or AS ASSIGNMENT (CREATE CAST),",
        )
        .with_hint("Drop that cast, or define it without these words.")),
    }
}

/// Refuses a call that casts: `date(x)`.
///
/// # Errors
/// Users have defined casts.
pub(crate) fn check_call(name: &ObjectName, schema: &Schema) -> Result<(), Refusal> {
    let casts = |name: String| is_type(&name) || TO_TEXT.contains(&name.as_str());
    match builtin(name).is_some_and(casts) {
        true => check(schema),
        false => Ok(()),
    }
}
