//! Names of SQL as the catalogue has them.

use sqlparser::ast::{Ident, ObjectName};

/// A name as the catalogue has it: A to Z are made small unless it was quoted. (Other letters stay
/// in an encoding of several bytes: PostgreSQL, `downcase_identifier`.)
pub(crate) fn folded(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// Schema, if one is named, and name of an object; None for a name of more parts than two (a
/// database before it must be the own one, and is dropped), or one that is computed.
pub(crate) fn split(name: &ObjectName) -> Option<(Option<String>, String)> {
    let parts: Option<Vec<String>> = name
        .0
        .iter()
        .map(|part| part.as_ident().map(folded))
        .collect();
    match parts?.as_slice() {
        [table] => Some((None, table.clone())),
        [schema, table] | [_, schema, table] => Some((Some(schema.clone()), table.clone())),
        _ => None,
    }
}
