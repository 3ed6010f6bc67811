//! Sealed numbers in the detail of an error. Nothing in a number tells that it is sealed, so the
//! column says it: the server writes the names of a key before its values, and a row in the order
//! of its columns.

use semantics_postgres::TextContext;
use session_core::{Loaded, ValueFormat};
use sql_rewrite::{ProtectedColumn, ServerType, Table};

use super::ServerError;
use crate::session::format::FormatCode;

/// What stands between the names of a key and its values (`BuildIndexValueDescription`).
const BETWEEN: &[u8] = b")=(";
const SEPARATOR: &[u8] = b", ";

/// What a detail may show.
pub(super) enum Detail {
    /// No sealed number.
    Without,
    /// This, with the client's values.
    Opened(Vec<u8>),
    /// Which of its values are sealed cannot be told, or one does not open.
    Unknown,
}

/// Whether an error may show a sealed number.
pub(super) fn may_show(error: &ServerError<'_>, loaded: &Loaded) -> bool {
    let table = error.table_of(loaded);
    match error.is_of_foreign_key() {
        true => loaded.schema.protected.iter().any(is_number),
        false => table.is_some_and(|table| numbers(table, loaded).any(|column| column.is_some())),
    }
}

/// A detail with the client's numbers in place of sealed ones.
pub(super) fn opened(
    text: &[u8],
    error: &ServerError<'_>,
    loaded: &Loaded,
    context: &TextContext,
) -> Detail {
    let key = text
        .windows(BETWEEN.len())
        .position(|window| window == BETWEEN);
    let (start, columns) = match key {
        Some(at) => {
            let Some(names) = text[..at].iter().rposition(|byte| *byte == b'(') else {
                return Detail::Unknown;
            };
            let names = split(&text[names + 1..at]);
            let columns: Vec<_> = names
                .into_iter()
                .map(|name| column_of(name, error, loaded))
                .collect();
            (at + BETWEEN.len(), columns)
        }
        None => {
            let row = text.iter().position(|byte| *byte == b'(');
            let (Some(row), Some(table)) = (row, error.table_of(loaded)) else {
                return Detail::Without;
            };
            (row + 1, numbers(table, loaded).collect())
        }
    };
    if columns.iter().all(Option::is_none) {
        return Detail::Without;
    }
    let end = text.iter().rposition(|byte| *byte == b')');
    let Some((values, behind)) = end.and_then(|end| Some((text.get(start..end)?, &text[end..])))
    else {
        return Detail::Unknown;
    };
    let values = split(values);
    // A text may have the separator in it.
    if values.len() != columns.len() {
        return Detail::Unknown;
    }
    let mut shown = text[..start].to_vec();
    for (index, (value, column)) in values.iter().zip(columns).enumerate() {
        if index > 0 {
            shown.extend_from_slice(SEPARATOR);
        }
        match column.filter(|_| *value != b"null") {
            None => shown.extend_from_slice(value),
            Some(column) if open(value, column, loaded, context, &mut shown).is_some() => {}
            Some(_) => return Detail::Unknown,
        }
    }
    shown.extend_from_slice(behind);
    Detail::Opened(shown)
}

fn open(
    text: &[u8],
    column: &ProtectedColumn,
    loaded: &Loaded,
    context: &TextContext,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut memory = Vec::new();
    let format = FormatCode::TEXT;
    let sealed = format.sealed(ServerType::Number, text, &mut memory)?;
    let value = loaded.sealer.open(column.id, sealed).ok()??;
    format.write(&value, column.logical, context, out).ok()
}

/// The column of a key with this name, if it is a sealed number.
fn column_of<'l>(
    name: &[u8],
    error: &ServerError<'_>,
    loaded: &'l Loaded,
) -> Option<&'l ProtectedColumn> {
    let name = std::str::from_utf8(name).ok()?;
    let name = match name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'))
    {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => name.to_owned(),
    };
    let mut numbers = loaded.schema.protected.iter().filter(|own| is_number(own));
    if error.is_of_foreign_key() {
        // An error about a foreign key shows values of either of its tables. Both share a key.
        return numbers.find(|own| own.column == name);
    }
    let table = error.table_of(loaded)?;
    let own = table.columns.iter().find(|own| own.name == name)?;
    numbers.find(|column| Some(column.id) == own.protected)
}

/// The columns of a table that are sealed numbers, in its order.
fn numbers<'l>(
    table: &'l Table,
    loaded: &'l Loaded,
) -> impl Iterator<Item = Option<&'l ProtectedColumn>> {
    table.columns.iter().map(|own| {
        let column = own.protected.map(|id| loaded.schema.column(id));
        column.filter(|column| is_number(column))
    })
}

fn is_number(column: &ProtectedColumn) -> bool {
    column.server_type() == ServerType::Number
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest
        .windows(SEPARATOR.len())
        .position(|window| window == SEPARATOR)
    {
        parts.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    parts.push(rest);
    parts
}
