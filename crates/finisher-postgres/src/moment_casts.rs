//! Casts of texts to dates and times in a database of the finisher. PostgreSQL reads `'now'` and
//! `'today'` in any such text, also in one that a query computes (`('n' || 'ow')::timestamptz`), by
//! the moment of its own transaction, and the client's is another one. So each of these casts has a
//! function here that fails for a text with such a word, and reads all others as PostgreSQL does.
//!
//! A cast by input and output functions, which these are in the server, is explicit. So are these,
//! and no query means anything else by them.

use crate::connection::{Connection, Failure};
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

/// A type, its number, its input function, and what that is told.
type Target = [String; 4];

/// Creates them, on a connection of the superuser to the database.
pub(crate) async fn create(owner: &mut Connection) -> Result<(), FinisherError> {
    let mut sql = format!("CREATE SCHEMA {SCHEMA}; GRANT USAGE ON SCHEMA {SCHEMA} TO {QUERIES};");
    for target in targets(owner).await.map_err(refused)? {
        sql += &reader(&target);
        for (text, output) in TEXTS {
            sql += &cast_of(text, &format!("pg_catalog.{output}"), &target);
        }
        let (number, name) = (&target[0], &target[1]);
        sql +=
            &format!("CREATE CAST (varchar AS {name}) WITH FUNCTION {SCHEMA}.to_{number}(text);");
    }
    owner.simple(&sql).await.map_err(refused)?;
    Ok(())
}

/// Creates those of a further type of texts, which has this output function.
pub(crate) async fn create_of(
    owner: &mut Connection,
    text: &str,
    output: &str,
) -> Result<(), Failure> {
    let targets = targets(owner).await?;
    let casts: Vec<String> = targets
        .iter()
        .map(|target| cast_of(text, output, target))
        .collect();
    owner.simple(&casts.concat()).await?;
    Ok(())
}

async fn targets(owner: &mut Connection) -> Result<Vec<Target>, Failure> {
    let numbers: Vec<String> = TYPES.iter().map(u32::to_string).collect();
    // An input function is told the type of elements, or the type itself ("getTypeIOParam").
    let sql = format!(
        "SELECT t.oid::text, format_type(t.oid, NULL), p.prosrc, \
         CASE WHEN t.typelem <> 0 THEN t.typelem ELSE t.oid END::text \
         FROM pg_type t JOIN pg_proc p ON p.oid = t.typinput WHERE t.oid IN ({}) ORDER BY t.oid",
        numbers.join(", ")
    );
    let rows = owner.simple(&sql).await?;
    let rows = rows.into_iter();
    let targets = rows.filter_map(|row| {
        let row: Vec<String> = row.into_iter().flatten().collect();
        row.try_into().ok()
    });
    Ok(targets.collect())
}

/// The statement that creates the function by which a type is read. The input functions of arrays
/// and ranges have no type of their own.
fn reader([number, name, input, _]: &Target) -> String {
    format!(
        "CREATE FUNCTION {SCHEMA}.read_{number}(cstring, oid, integer) RETURNS {name} LANGUAGE \
         internal STABLE STRICT AS '{input}';"
    )
}

/// The statements that create the cast of a type of texts to a type.
fn cast_of(text: &str, output: &str, [number, name, _, parameter]: &Target) -> String {
    let words = WORDS.join("|");
    let read = format!("{SCHEMA}.read_{number}");
    let function = format!("{SCHEMA}.to_{number}({text})");
    format!(
        "CREATE FUNCTION {function} RETURNS {name} LANGUAGE sql STABLE AS $cast$SELECT CASE \
         WHEN pg_catalog.translate($1::pg_catalog.text, '\\\"', '') COLLATE \"C\" \
         OPERATOR(pg_catalog.~*) '(^|[^a-z])({words})([^a-z]|$)' THEN {read}(\
         pg_catalog.textout(pg_catalog.concat('{MARK}', $1)), {parameter}, -1) \
         ELSE {read}({output}($1), {parameter}, -1) END$cast$; \
         CREATE CAST ({text} AS {name}) WITH FUNCTION {function};"
    )
}
