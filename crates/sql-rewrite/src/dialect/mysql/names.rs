//! Names of MySQL. Columns and aliases never depend on how letters are written; databases and
//! tables do, unless the server folds them.

use sqlparser::ast::{Expr, Ident, ObjectName};

use super::MySql;

/// The name of a column or an alias as the schema has it.
pub(crate) fn fold(name: &Ident) -> String {
    name.value.to_ascii_lowercase()
}

/// A name of a database or table as the schema has it.
pub(crate) fn table(name: &str, dialect: MySql) -> String {
    match dialect.folds_tables {
        true => name.to_ascii_lowercase(),
        false => name.to_owned(),
    }
}

/// Database, if one is named, and table.
pub(crate) fn split(name: &ObjectName, dialect: MySql) -> Option<(Option<String>, String)> {
    let parts: Option<Vec<String>> = name
        .0
        .iter()
        .map(|part| part.as_ident().map(|own| table(&own.value, dialect)))
        .collect();
    match parts?.as_slice() {
        [table] => Some((None, table.clone())),
        [database, table] => Some((Some(database.clone()), table.clone())),
        _ => None,
    }
}

/// Whether a name is that of a user variable, in the plain form.
pub(crate) fn is_variable(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.starts_with('@')
}

/// A name that means the same whatever word it is.
pub(crate) fn quote(name: &str) -> Ident {
    Ident::with_quote('`', name)
}

/// The name of a function that may be the server's own: it names no database.
pub(crate) fn builtin(name: &ObjectName, dialect: MySql) -> Option<String> {
    match split(name, dialect)? {
        (None, name) => Some(name.to_ascii_lowercase()),
        (Some(_), _) => None,
    }
}

/// Whether a name is this word alone, without quotes.
pub(crate) fn is_word(name: &ObjectName, word: &str) -> bool {
    match &name.0[..] {
        [part] => part
            .as_ident()
            .is_some_and(|own| own.quote_style.is_none() && own.value.eq_ignore_ascii_case(word)),
        _ => false,
    }
}

/// The name of an output that has none of its own; None: its text.
pub(crate) fn output(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(fold(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        _ => None,
    }
}

/// The aggregate that would gather sealed values. No plan has it: what needs it is refused.
pub(crate) fn gathering_function() -> ObjectName {
    ObjectName::from(vec![Ident::new("group_concat")])
}
