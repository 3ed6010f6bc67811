//! The same queries for relations of a few names only: what a session asks after DDL that can have
//! changed no others, so that the cost does not grow with the number of tables.

use std::sync::LazyLock;

use super::{
    Answer, COLUMNS, CONSTRAINTS, DEPENDENCIES, INDEXES, INHERITANCE, PIN, QUERIES, RELATIONS,
    RESTORE, SESSION,
};

/// Event triggers that are not switched off: they may change anything whenever something is
/// defined.
const EVENT_TRIGGERS: &str = "\
SELECT e.evtname::pg_catalog.text
  FROM pg_catalog.pg_event_trigger e
 WHERE e.evtenabled OPERATOR(pg_catalog.<>) 'D'";

/// Relations of names, whatever their schemas are.
const OF_NAMES: &str = "ANY (ARRAY(SELECT own.oid
                                     FROM pg_catalog.pg_class own
                                    WHERE own.relname
                                          OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.name[])))";

/// What is sent to read relations of some names again. Queries with a parameter take the names, as
/// [`names_text`] writes them. Views, functions and the catalogues themselves are not asked about.
pub static ASKED_OF_CHANGED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of = |query: &str, columns: &[&str]| {
        let (before, order) = query.rsplit_once("\n ORDER BY").unwrap_or((query, ""));
        let of_names = |column: &&str| format!("{column} OPERATOR(pg_catalog.=) {OF_NAMES}");
        let conditions: Vec<String> = columns.iter().map(of_names).collect();
        format!(
            "{before}\n   AND ({})\n ORDER BY{order}",
            conditions.join(" OR ")
        )
    };
    vec![
        SESSION.to_owned(),
        EVENT_TRIGGERS.to_owned(),
        PIN.to_owned(),
        of(RELATIONS, &["c.oid"]),
        of(COLUMNS, &["a.attrelid"]),
        of(INDEXES, &["i.indrelid"]),
        of(INHERITANCE, &["i.inhrelid", "i.inhparent"]),
        of(CONSTRAINTS, &["k.conrelid"]),
        of(DEPENDENCIES, &["d.refobjid"]),
        RESTORE.to_owned(),
    ]
});

/// Of the answers to [`ASKED_OF_CHANGED`] those to [`QUERIES`]; those to the last ones are empty.
/// None: an event trigger may have changed more.
pub fn changed_of(asked: Vec<Answer>) -> Option<Vec<Answer>> {
    let mut asked = asked.into_iter();
    let session = asked.next()?;
    if asked.next().is_none_or(|triggers| !triggers.is_empty()) {
        return None;
    }
    let mut answers = vec![session];
    answers.extend(asked.skip(1).take(6));
    answers.resize(QUERIES.len(), Answer::new());
    Some(answers)
}

/// An array of names, as text.
pub fn names_text<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let quoted = |name: &str| {
        let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    };
    let quoted: Vec<String> = names.map(quoted).collect();
    format!("{{{}}}", quoted.join(","))
}
