//! Which relations a statement that defines something may change, where its text shows it.
//!
//! Of such a statement the proxy reads again only what has one of its names. So it must be one that
//! takes nothing away and reaches no relation that it does not name: views, functions, privileges
//! and whatever has a name before and another one afterwards are not among them.

use crate::dialect::lexeme::{Lexeme, Part};
use crate::dialect::postgres::lexer::lexemes;
use crate::dialect::postgres::names::NAME_SIZE_MAX;

/// Words of `ALTER TABLE` behind which more may change than the tables that it names, or something
/// may be gone.
const FAR: &[&str] = &[
    "attach",
    "cluster",
    "depends",
    "detach",
    "disable",
    "enable",
    "force",
    "inherit",
    "no",
    "of",
    "owner",
    "rename",
    "replica",
    "reset",
    "row",
    "schema",
    "tablespace",
    "type",
    "using",
];

/// All names of a statement, if it changes nothing but relations that it names, and takes none
/// away. None: it may change others.
pub(super) fn relations(statement: &str) -> Option<Vec<String>> {
    // What other letters become, and what escapes stand for, the server knows.
    if !statement.is_ascii() || statement.to_ascii_lowercase().contains("u&") {
        return None;
    }
    let lexemes = lexemes(statement);
    if !adds(&words(statement, &lexemes)) {
        return None;
    }
    let mut names: Vec<String> = lexemes
        .iter()
        .filter_map(|(lexeme, span)| name(*lexeme, statement.get(span.clone())?))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
        .iter()
        .all(|name| name.len() <= NAME_SIZE_MAX)
        .then_some(names)
}

/// A name, as the catalogue has it; None: another lexeme.
fn name(lexeme: Lexeme, text: &str) -> Option<String> {
    match lexeme {
        Lexeme::Word => Some(text.to_ascii_lowercase()),
        Lexeme::Other => {
            let inner = text.strip_prefix('"')?.strip_suffix('"')?;
            Some(inner.replace("\"\"", "\""))
        }
        _ => None,
    }
}

/// The words without quotes, in small letters.
fn words(statement: &str, part: &Part) -> Vec<String> {
    let words = part.iter().filter(|(lexeme, _)| *lexeme == Lexeme::Word);
    words
        .filter_map(|(_, span)| statement.get(span.clone()))
        .map(str::to_ascii_lowercase)
        .collect()
}

fn adds(words: &[String]) -> bool {
    let mut rest = words.iter().map(String::as_str);
    match rest.next() {
        Some("create") => {
            let kinds = ["unlogged", "temporary", "temp", "global", "local", "unique"];
            let kind = rest.find(|word| !kinds.contains(word));
            matches!(kind, Some("table" | "index"))
        }
        Some("alter") => {
            let pairs = words.windows(2).map(|pair| (&*pair[0], &*pair[1]));
            rest.next() == Some("table")
                && !words.iter().any(|word| FAR.contains(&word.as_str()))
                && words
                    .last()
                    .is_none_or(|last| last != "drop" && last != "set")
                && words.iter().any(|word| word == "add" || word == "alter")
                && pairs.into_iter().all(|pair| match pair {
                    ("drop", next) => matches!(next, "not" | "default"),
                    ("set", next) => matches!(next, "not" | "default" | "null"),
                    // Of a key that refers to another table.
                    (before, "cascade") => matches!(before, "delete" | "update"),
                    _ => true,
                })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::relations;

    #[test]
    fn what_adds_names_what_it_changes() {
        for (text, name) in [
            ("CREATE TABLE Person (id int PRIMARY KEY, n text)", "person"),
            (
                "create unlogged table if not exists a.\"B \"\"c\" (id int)",
                "B \"c",
            ),
            ("CREATE UNIQUE INDEX i ON person (n)", "person"),
            (
                "CREATE TABLE b (a int REFERENCES person ON DELETE CASCADE)",
                "person",
            ),
            ("CREATE TABLE c () INHERITS (person)", "person"),
            ("ALTER TABLE person ADD COLUMN x int", "person"),
            (
                "ALTER TABLE x ADD FOREIGN KEY (a) REFERENCES person ON UPDATE CASCADE",
                "person",
            ),
            (
                "ALTER TABLE person ALTER x DROP DEFAULT, ALTER y SET NOT NULL",
                "person",
            ),
        ] {
            let names = relations(text).unwrap_or_else(|| panic!("{text}"));
            assert!(names.iter().any(|own| own == name), "{text}: {names:?}");
        }
    }

    #[test]
    fn what_may_change_more_is_not_narrowed() {
        let long = format!("CREATE TABLE {} (id int)", "n".repeat(64));
        for text in [
            "DROP TABLE a",
            "CREATE VIEW a AS SELECT 1",
            "CREATE OR REPLACE VIEW a AS SELECT 1",
            "CREATE SCHEMA a CREATE TABLE b (id int)",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE TRIGGER a BEFORE INSERT ON b EXECUTE FUNCTION c()",
            "ALTER TABLE a RENAME TO b",
            "ALTER TABLE a RENAME b TO c",
            "ALTER TABLE a DROP COLUMN b",
            "ALTER TABLE a ADD b int, DROP CONSTRAINT c CASCADE",
            "ALTER TABLE a SET SCHEMA b",
            "ALTER TABLE a ATTACH PARTITION b FOR VALUES IN (1)",
            "ALTER TABLE a ALTER b TYPE text",
            "ALTER TABLE a NO INHERIT b",
            "ALTER TABLE a ENABLE ROW LEVEL SECURITY",
            "ALTER INDEX a RENAME TO b",
            "GRANT SELECT (a) ON b TO c",
            "DO $$ BEGIN CREATE TABLE a (); END $$",
            "SELECT 1 AS a INTO b",
            "CREATE TABLE straße (id int)",
            "CREATE TABLE u&\"\\0061\" (id int)",
            &long,
        ] {
            assert_eq!(relations(text), None, "{text}");
        }
    }
}
