//! Statements that no form makes possible over a protected table: why, and what does their work.

use super::MySql;
use super::lexer::{self, Kind};
use crate::Refusal;
use crate::dialect::lexeme::is_word;
use sql_plan::unsupported;

/// Words that say what `CREATE` and `ALTER` are about, behind `OR REPLACE`, `DEFINER = …` and
/// others.
const OBJECTS: &[&str] = &[
    "table",
    "index",
    "view",
    "trigger",
    "procedure",
    "function",
    "event",
    "package",
    "sequence",
    "database",
    "user",
];
/// How far behind the first word the object stands at most.
const OBJECT_WITHIN: usize = 16;

/// Lexemes that are read for that: names and marks stand between the words.
const LEXEMES_MAX: usize = 4 * OBJECT_WITHIN;

const IN_THE_SERVER: &str = "The server would run it on sealed values: do its work in the client.";

/// The refusal of a text that names a protected table. None: it depends on its form.
pub(super) fn refused(text: &str, own: MySql) -> Option<Refusal> {
    let mut words = first_words(text, own).into_iter();
    let first = words.next()?;
    let (what, hint) = match first.as_str() {
        "create" | "alter" => {
            let object = words
                .take(OBJECT_WITHIN)
                .find(|word| OBJECTS.contains(&word.as_str()));
            match object.as_deref() {
                Some("trigger") => ("a trigger", IN_THE_SERVER),
                Some("procedure" | "function" | "event" | "package") => {
                    ("a stored program", IN_THE_SERVER)
                }
                Some("view") => ("a view", "Query the table itself."),
                _ => return None,
            }
        }
        "handler" => (
            "HANDLER",
            "Read its rows by SELECT … FOR UPDATE, or by SELECT.",
        ),
        "rename" => (
            "RENAME",
            "Rules have the names of tables: create a table of the other name through the proxy, \
             with rules for it, and move the rows by a client.",
        ),
        "explain" | "analyze" | "describe" | "desc" => (
            "EXPLAIN or ANALYZE of a statement",
            "`strongroom columns explain` prints what the server gets: explain that.",
        ),
        "table" => (
            "TABLE as a query",
            "Write SELECT * FROM, which means the same.",
        ),
        "set" | "do" => (
            "SET or DO with a query",
            "Read the value by SELECT, and pass it as a parameter.",
        ),
        _ => return None,
    };
    Some(unsupported(what).with_hint(hint))
}

/// Words at the start of a text, without comments. Those of a comment count where it is not known
/// how the server reads the text: a comment may be a statement to it.
fn first_words(text: &str, own: MySql) -> Vec<String> {
    if let Ok(found) = lexer::first_lexemes(text, own, LEXEMES_MAX) {
        let words = found.into_iter().filter(|own| own.kind == Kind::Word);
        return words.map(|own| own.value.to_ascii_lowercase()).collect();
    }
    let words = text.as_bytes().split(|byte| !is_word(*byte));
    let words = words.filter(|word| !word.is_empty()).take(LEXEMES_MAX);
    words
        .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
        .collect()
}
