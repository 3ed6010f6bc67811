//! Casts that users have defined between PostgreSQL's own types. Neither the proxy nor the finisher
//! has their functions.

use crate::{Refusal, Schema};
use sql_plan::unsupported;

/// What stands for the functions by which users cast values of PostgreSQL's own types, among
/// the names of functions and operators that may be meant.
const USER_CAST: &str = "::";

/// Refuses a cast where users have defined casts between PostgreSQL's own types, which come before
/// those by texts of the values.
///
/// # Errors
/// There are such.
pub(crate) fn check(schema: &Schema) -> Result<(), Refusal> {
    let mut shadows = schema.catalogue.finisher.shadows.iter();
    match shadows.any(|shadow| shadow == USER_CAST) {
        false => Ok(()),
        true => Err(unsupported(
            "a cast over protected columns, in a database where users have defined a cast between \
             PostgreSQL's own types by a function (CREATE CAST),",
        )
        .with_hint("Cast the value in the program, or drop that cast.")),
    }
}
