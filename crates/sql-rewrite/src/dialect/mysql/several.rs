//! Several statements in one text: where the first one ends.

use super::{MySql, bytes};

/// Words with which statements begin that have no other statement within.
const FIRST_WORDS: &[&str] = &[
    "select",
    "insert",
    "replace",
    "update",
    "delete",
    "set",
    "start",
    "begin",
    "commit",
    "rollback",
    "savepoint",
    "release",
    "do",
    "show",
    "describe",
    "desc",
    "use",
    "truncate",
    "drop",
    "create",
    "alter",
];
/// What the second word of some of these must be.
const SECOND_WORDS: &[(&str, &[&str])] = &[
    (
        "create",
        &[
            "table",
            "temporary",
            "unique",
            "index",
            "database",
            "schema",
        ],
    ),
    ("alter", &["table"]),
    ("begin", &["work", ";"]),
];

/// The first statement of a text, and what follows it. None: the text has one alone, or one that
/// may have others within.
pub fn first(text: &[u8], dialect: MySql) -> Option<(&[u8], &[u8])> {
    let has_hidden = |mark: &[u8]| text.windows(mark.len()).any(|part| part == mark);
    if has_hidden(b"/*!") || has_hidden(b"/*M!") {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let end = bytes::part_end(text, at, dialect)?;
        let part = text.get(at..end)?;
        let is_comment = byte == b'#' || (part.len() > 1 && matches!(byte, b'-' | b'/'));
        if !is_comment && !byte.is_ascii_whitespace() && words.len() < 2 {
            words.push(String::from_utf8_lossy(part).to_ascii_lowercase());
        }
        if byte == b';' {
            let rest = text.get(end..)?;
            let is_more = !rest.trim_ascii().is_empty();
            return (is_more && is_plain(&words)).then(|| (&text[..at], rest.trim_ascii_start()));
        }
        at = end;
    }
    None
}

/// Whether a statement that begins so has no other one within.
fn is_plain(words: &[String]) -> bool {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let mut needed = SECOND_WORDS.iter();
    match needed.find(|(first, _)| *first == word(0)) {
        Some((_, seconds)) => seconds.contains(&word(1)),
        // `SET STATEMENT x = 1 FOR …`
        None => FIRST_WORDS.contains(&word(0)) && word(1) != "statement",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_statements_ends_where_the_server_ends_it() {
        let plain = MySql::default();
        for (text, wanted) in [
            ("SELECT 1; SELECT 2", Some(("SELECT 1", "SELECT 2"))),
            (
                "INSERT INTO t VALUES (';', \"';\", `;`); DO 0; DO 1",
                Some(("INSERT INTO t VALUES (';', \"';\", `;`)", "DO 0; DO 1")),
            ),
            ("SELECT 'a\\';b'", None),
            (
                "SELECT 1 -- ; \n; SELECT 2",
                Some(("SELECT 1 -- ; \n", "SELECT 2")),
            ),
            ("/* ; */ BEGIN; DO 1", Some(("/* ; */ BEGIN", "DO 1"))),
            ("SELECT 1;", None),
            ("SELECT 1; \n", None),
            ("SELECT 1", None),
            ("BEGIN NOT ATOMIC SELECT 1; SELECT 2; END", None),
            ("CREATE PROCEDURE p() BEGIN SELECT 1; END", None),
            ("CREATE OR REPLACE PROCEDURE p() SELECT 1; SELECT 2", None),
            ("SET STATEMENT x = 1 FOR SELECT 1; SELECT 2", None),
            ("SELECT /*! 1; */ 2; SELECT 3", None),
            ("IF 1 THEN SELECT 1; END IF", None),
        ] {
            let found = first(text.as_bytes(), plain);
            let wanted = wanted.map(|(own, rest)| (own.as_bytes(), rest.as_bytes()));
            assert_eq!(found, wanted, "{text}");
        }
    }
}
