//! Several statements in one text: where each of them ends.

use std::sync::Arc;

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

/// The statements of a text from one of them on. Each part of the text is read once, however many
/// statements it has.
#[derive(Clone, Debug)]
pub struct Remaining {
    text: Arc<[u8]>,
    at: usize,
}

impl Remaining {
    /// Of a text. None: it may have statements within others.
    pub fn of(text: &[u8]) -> Option<Self> {
        let has_hidden = |mark: &[u8]| text.windows(mark.len()).any(|part| part == mark);
        let is_plain = !has_hidden(b"/*!") && !has_hidden(b"/*M!");
        is_plain.then(|| Self {
            text: text.into(),
            at: 0,
        })
    }

    /// The text from the next statement on.
    pub fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Takes the first statement, if others follow it. None: the text has one alone, or begins
    /// with one that may have others within.
    pub fn take_first(&mut self, dialect: MySql) -> Option<&[u8]> {
        let (end, next) = first_end(&self.text, self.at, dialect)?;
        let start = std::mem::replace(&mut self.at, next);
        self.text.get(start..end)
    }
}

/// Where the statement that begins at a place ends, and the next one begins.
fn first_end(text: &[u8], start: usize, dialect: MySql) -> Option<(usize, usize)> {
    let mut words: Vec<String> = Vec::new();
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        let end = bytes::part_end(text, at, dialect)?;
        let part = text.get(at..end)?;
        let is_comment = byte == b'#' || (part.len() > 1 && matches!(byte, b'-' | b'/'));
        if !is_comment && !byte.is_ascii_whitespace() && words.len() < 2 {
            words.push(String::from_utf8_lossy(part).to_ascii_lowercase());
        }
        if byte == b';' {
            let mut rest = text.get(end..)?.iter();
            let next = end + rest.position(|byte| !byte.is_ascii_whitespace())?;
            return is_plain(&words).then_some((at, next));
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
            let mut statements = Remaining::of(text.as_bytes());
            let found = statements.as_mut().and_then(|own| {
                let first = own.take_first(plain)?.to_vec();
                Some((first, own.rest().to_vec()))
            });
            let wanted = wanted.map(|(own, rest)| (own.into(), rest.into()));
            assert_eq!(found, wanted, "{text}");
        }
    }
}
