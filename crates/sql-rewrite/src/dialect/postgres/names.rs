//! Names of SQL: folding, quoting, and their length in the catalogue.

use sqlparser::ast::{Ident, ObjectName};

use crate::dialect::marks;

/// Longer names are cut (PostgreSQL, `NAMEDATALEN` - 1).
pub const NAME_SIZE_MAX: usize = 63;

/// Columns that every table has (PostgreSQL 5.5); none of them is ever sealed.
pub(crate) const SYSTEM_COLUMNS: &[&str] = &["ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"];

/// Where a row lies; partitions of one table number their rows alike.
pub(crate) const ROW_LOCATOR: [&str; 2] = ["ctid", "tableoid"];

/// Words that are functions though they look like names (PostgreSQL 9.9.5, 9.27).
pub(crate) const FUNCTION_WORDS: &[&str] = &[
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
];

/// A name as the catalogue has it: A to Z are made small unless it was quoted. (Other letters stay
/// in an encoding of several bytes: PostgreSQL, `downcase_identifier`.)
pub(crate) fn folded(ident: &Ident) -> String {
    cut(match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    })
}

/// What the server leaves of a name, at a whole character (`truncate_identifier`).
pub(crate) fn cut(mut name: String) -> String {
    if name.len() > NAME_SIZE_MAX {
        let mut end = NAME_SIZE_MAX;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
    }
    name
}

/// Schema, if one is named, and name of an object; None for a name of more parts than two (a
/// database before it must be the own one, and is dropped), or one that is computed. A mark of
/// [`marks`] before it is left out.
pub(crate) fn split(name: &ObjectName) -> Option<(Option<String>, String)> {
    let is_marked = marks::is_marked(name);
    let parts: Option<Vec<String>> = name
        .0
        .iter()
        .skip(usize::from(is_marked))
        .map(|part| part.as_ident().map(folded))
        .collect();
    match parts?.as_slice() {
        [table] => Some((None, table.clone())),
        [schema, table] | [_, schema, table] => Some((Some(schema.clone()), table.clone())),
        _ => None,
    }
}

/// The name of a function that may be the server's own: it names no schema, or that of the server.
pub(crate) fn builtin(name: &ObjectName) -> Option<String> {
    let (schema, name) = split(name)?;
    schema
        .is_none_or(|schema| schema == "pg_catalog")
        .then_some(name)
}

/// A name in quotes, which means the same whatever word it is.
pub(crate) fn quoted(name: &str) -> Ident {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && name.bytes().all(plain) && !is_reserved(name) {
        Ident::new(name)
    } else {
        Ident::with_quote('"', name)
    }
}

fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    sqlparser::keywords::ALL_KEYWORDS
        .binary_search(&upper.as_str())
        .is_ok()
}
