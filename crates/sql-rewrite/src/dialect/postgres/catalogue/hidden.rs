//! Subqueries that hide guards in catalogues. The proxy adds guards that clients have not asked
//! for, and a dump that has them could not be restored through the proxy.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Word;
use super::shown::{constant, quoted, separate};
use crate::Schema;
use crate::schema::Guard;

/// Columns that every catalogue has, and `*` does not name.
const OF_THE_SYSTEM: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// Views of `information_schema` that have the names of checks.
const WITH_CHECKS: [&str; 4] = [
    "check_constraints",
    "check_constraint_routine_usage",
    "constraint_column_usage",
    "table_constraints",
];

/// Guards in the server.
fn guards(schema: &Schema) -> impl Iterator<Item = &Guard> {
    schema.guards.iter().filter(|guard| guard.oid != 0)
}

/// Columns of the system that a text may ask for, before a list of others.
fn of_the_system(words: &[Word]) -> String {
    let named = |column: &&&str| {
        let mut names = words.iter().filter_map(Word::name);
        names.any(|name| name == **column)
    };
    let columns = OF_THE_SYSTEM.iter().filter(named);
    columns.map(|column| format!("c.{column}, ")).collect()
}

/// `pg_constraint` without guards; None where the server has none.
pub(super) fn constraints(words: &[Word], schema: &Schema) -> Option<String> {
    let mut numbers: Vec<u32> = guards(schema).map(|guard| guard.oid).collect();
    // Equal schemas shall give equal texts.
    numbers.sort_unstable();
    if numbers.is_empty() {
        return None;
    }
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    Some(format!(
        "SELECT {}c.* FROM pg_catalog.pg_constraint AS c \
         WHERE c.oid <> ALL ('{{{}}}'::pg_catalog.oid[])",
        of_the_system(words),
        numbers.join(",")
    ))
}

/// `pg_class` where guards are not counted; None where the server has none, or the text does not
/// ask for the count.
pub(super) fn classes(text: &str, words: &[Word], schema: &Schema) -> Option<String> {
    let is_star = |word: &Word| text.get(word.span.clone()) == Some("*");
    let asks = |word: &Word| word.name() == Some("relchecks") || is_star(word);
    if schema.catalogue.class_columns.is_empty() || !words.iter().any(asks) {
        return None;
    }
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for guard in guards(schema) {
        *counts.entry(guard.relation).or_default() += 1;
    }
    let mut rows = String::new();
    for (relation, count) in counts {
        separate(&mut rows);
        write!(rows, "({relation}::pg_catalog.oid, {count})").expect("a String takes all");
    }
    if rows.is_empty() {
        return None;
    }
    let mut columns = String::new();
    for name in &schema.catalogue.class_columns {
        separate(&mut columns);
        match name.as_str() {
            "relchecks" => columns
                .push_str("(c.relchecks - COALESCE(m.guards, 0))::pg_catalog.int2 AS relchecks"),
            name => write!(columns, "c.{}", quoted(name)).expect("a String takes all"),
        }
    }
    Some(format!(
        "SELECT {}{columns} FROM pg_catalog.pg_class AS c \
         LEFT JOIN (VALUES {rows}) AS m (relid, guards) ON m.relid = c.oid",
        of_the_system(words)
    ))
}

/// A view of `information_schema` without guards; None where the server has none, or the view does
/// not name checks.
pub(super) fn information(view: &str, schema: &Schema) -> Option<String> {
    if !WITH_CHECKS.contains(&view) {
        return None;
    }
    let mut names: Vec<(&str, &str)> = guards(schema)
        .map(|guard| (guard.schema.as_str(), guard.name.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut rows = String::new();
    for (schema, name) in names {
        separate(&mut rows);
        write!(rows, "({}, {})", constant(schema), constant(name)).expect("a String takes all");
    }
    (!rows.is_empty()).then(|| {
        format!(
            "SELECT c.* FROM information_schema.{view} AS c \
             WHERE NOT EXISTS (SELECT 1 FROM (VALUES {rows}) AS m (sch, own) \
             WHERE m.sch = c.constraint_schema AND m.own = c.constraint_name)"
        )
    })
}
