//! Casts of texts to dates and times in a database of the finisher. PostgreSQL reads `'now'` and
//! `'today'` in any such text, also in one that a query computes (`('n' || 'ow')::timestamptz`), by
//! the moment of its own transaction, and the client's is another one. So each of these casts has a
//! function here that fails for a text with such a word, and reads all others as PostgreSQL does.
//!
//! A cast by input and output functions, which these are in the server, is explicit. So are these,
//! and no query means anything else by them.

use crate::connection::Connection;
use crate::error::FinisherError;
use crate::moments::{MARK, TYPES, WORDS};
use crate::walls::{QUERIES, refused};

/// The schema of the functions. No search path has it.
const SCHEMA: &str = "strongroom_casts";

/// Types of texts, and the output function of each. A `varchar` is cast as a `text`.
const TEXTS: [(&str, &str); 3] = [
    ("text", "textout"),
    ("bpchar", "bpcharout"),
    ("name", "nameout"),
];

/// Creates them, on a connection of the superuser to the database.
pub(crate) async fn create(owner: &mut Connection) -> Result<(), FinisherError> {
    let numbers: Vec<String> = TYPES.iter().map(u32::to_string).collect();
    // An input function is told the type of elements, or the type itself ("getTypeIOParam").
    let sql = format!(
        "SELECT t.oid::text, format_type(t.oid, NULL), p.prosrc, \
         CASE WHEN t.typelem <> 0 THEN t.typelem ELSE t.oid END::text \
         FROM pg_type t JOIN pg_proc p ON p.oid = t.typinput WHERE t.oid IN ({}) ORDER BY t.oid",
        numbers.join(", ")
    );
    let rows = owner.simple(&sql).await.map_err(refused)?;
    let mut sql = format!("CREATE SCHEMA {SCHEMA}; GRANT USAGE ON SCHEMA {SCHEMA} TO {QUERIES};");
    for row in rows {
        let row: Vec<String> = row.into_iter().flatten().collect();
        if let [number, name, input, parameter] = row.as_slice() {
            sql += &casts_to((number, name), (input, parameter));
        }
    }
    owner.simple(&sql).await.map_err(refused)?;
    Ok(())
}

/// The statements that create the casts to a type.
fn casts_to((number, name): (&str, &str), (input, parameter): (&str, &str)) -> String {
    // The input functions of arrays and ranges have no type of their own.
    let read = format!("{SCHEMA}.read_{number}");
    let mut sql = format!(
        "CREATE FUNCTION {read}(cstring, oid, integer) RETURNS {name} LANGUAGE internal STABLE \
         STRICT AS '{input}';"
    );
    let words = WORDS.join("|");
    for (text, output) in TEXTS {
        let function = format!("{SCHEMA}.to_{number}({text})");
        sql += &format!(
            "CREATE FUNCTION {function} RETURNS {name} LANGUAGE sql STABLE AS $cast$SELECT CASE \
             WHEN pg_catalog.translate($1::pg_catalog.text, '\\\"', '') COLLATE \"C\" \
             OPERATOR(pg_catalog.~*) '(^|[^a-z])({words})([^a-z]|$)' THEN {read}(\
             pg_catalog.textout(pg_catalog.concat('{MARK}', $1)), {parameter}, -1) \
             ELSE {read}(pg_catalog.{output}($1), {parameter}, -1) END$cast$; \
             CREATE CAST ({text} AS {name}) WITH FUNCTION {function};"
        );
        if text == "text" {
            sql += &format!("CREATE CAST (varchar AS {name}) WITH FUNCTION {function};");
        }
    }
    sql
}
