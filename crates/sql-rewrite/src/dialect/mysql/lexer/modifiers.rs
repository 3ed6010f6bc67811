//! Words right behind the first one of a statement or query, which say how it is carried out.

use super::{Kind, Lexeme};

/// Of a query: what the server makes of them is its own affair, and they go with it.
/// `SQL_CALC_FOUND_ROWS` has it count rows, which `FOUND_ROWS()` asks for.
const OF_QUERY: &[&str] = &[
    "high_priority",
    "sql_big_result",
    "sql_buffer_result",
    "sql_calc_found_rows",
    "sql_no_cache",
    "sql_small_result",
    "straight_join",
];
/// What may stand between them.
const BESIDE: &[&str] = &["all", "distinct", "distinctrow"];
/// Of statements that write, by their first words: they are about locks on whole tables, which
/// InnoDB has not (<https://mariadb.com/kb/en/high_priority-and-low_priority/>). They are left out.
const IDLE: &[(&str, &str)] = &[
    ("insert", "high_priority"),
    ("insert", "low_priority"),
    ("replace", "low_priority"),
    ("update", "low_priority"),
    ("delete", "low_priority"),
    ("delete", "quick"),
];
/// What the plain form has in the place of `IGNORE` behind `UPDATE`.
pub(super) const IGNORING: &str = "OR IGNORE";

/// Whether a word behind these lexemes is such a word of a query.
pub(super) fn is_of_query(word: &str, before: &[Lexeme]) -> bool {
    let is_in = |own: &&Lexeme| {
        let value = own.value.as_str();
        own.kind == Kind::Word && (OF_QUERY.contains(&value) || BESIDE.contains(&value))
    };
    let verb = before.iter().rev().find(|own| !is_in(own));
    OF_QUERY.contains(&word)
        && verb.is_some_and(|own| own.kind == Kind::Word && own.value == "select")
}

/// Whether a word behind these lexemes means nothing to a table with rules.
pub(super) fn is_idle(word: &str, before: &[Lexeme]) -> bool {
    match before {
        [first] if first.kind == Kind::Word => IDLE.contains(&(first.value.as_str(), word)),
        _ => false,
    }
}

/// Whether a lexeme is the `IGNORE` of an `UPDATE`.
pub(super) fn is_ignoring(lexeme: &Lexeme, found: &[Lexeme]) -> bool {
    let is_word = |own: &Lexeme, word: &str| own.kind == Kind::Word && own.value == word;
    matches!(found, [first, second, ..]
        if is_word(first, "update") && is_word(second, "ignore") && second == lexeme)
}

/// The start of a statement in the plain form, as the server reads it.
pub(super) fn for_server(text: String) -> String {
    match text.split_once(" OR IGNORE ") {
        Some((head, behind)) if is_start(head) => format!("{head} IGNORE {behind}"),
        _ => text,
    }
}

/// Whether a text is `UPDATE`, with or without a hint to the optimizer.
fn is_start(head: &str) -> bool {
    let hint = head.strip_prefix("UPDATE");
    hint.is_some_and(|hint| hint.is_empty() || (hint.starts_with(" /*+") && hint.ends_with("*/")))
}
