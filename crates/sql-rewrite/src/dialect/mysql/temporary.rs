//! Temporary tables that would hide a table which the proxy knows. No catalogue of these servers
//! shows a temporary table, so every statement that names one would be judged by the columns and
//! rules of the table behind it. A temporary table may have any other name.

use super::MySql;
use super::lexer::{self, Kind, Lexeme, Reading};
use super::shown::{is_symbol, take_table, take_word};
use crate::{Refusal, Schema};
use sql_plan::refuse;

/// A table as a text names it, with its database.
type Named<'t> = (Option<&'t str>, &'t str);

/// Refuses a text that makes a temporary table of such a name, also within a stored program, or
/// gives it to one. `words` are those of the text.
///
/// # Errors
/// It may.
pub(super) fn check(
    text: &str,
    words: &[String],
    schema: &Schema,
    own: MySql,
) -> Result<(), Refusal> {
    let has = |word: &str| words.iter().any(|found| found == word);
    let is_right = matches!(words.first().map(String::as_str), Some("grant" | "revoke"));
    if is_right || (!has("temporary") && !has("rename")) {
        return Ok(());
    }
    let Ok(found) = lexer::read(text, own, Reading::Names) else {
        // A version comment, for one: which table is meant is not known.
        let mut tables = schema.tables.keys();
        let hidden = tables.find(|(_, table)| has(&table.to_ascii_lowercase()));
        return match hidden.filter(|_| has("temporary") && has("create")) {
            None => Ok(()),
            Some((_, table)) => Err(hides(table)),
        };
    };
    let starts = (0..found.len()).filter(|at| {
        let word = &found[*at];
        word.kind == Kind::Word && matches!(word.value.as_str(), "alter" | "rename")
    });
    let renamed = starts.flat_map(|at| renamed(&found[at..], text));
    let made = (0..found.len()).filter_map(|at| made(&found[at..], text));
    match made.chain(renamed).find(|named| is_known(*named, schema)) {
        None => Ok(()),
        Some((_, table)) => Err(hides(table)),
    }
}

/// The table of `CREATE TEMPORARY TABLE` at a place.
fn made<'t>(found: &'t [Lexeme], text: &'t str) -> Option<Named<'t>> {
    let mut rest = found;
    if !take_word(&mut rest, &["create"]) {
        return None;
    }
    if take_word(&mut rest, &["or"]) {
        take_word(&mut rest, &["replace"]);
    }
    if !take_word(&mut rest, &["temporary"]) || !take_word(&mut rest, &["table"]) {
        return None;
    }
    for word in ["if", "not", "exists"] {
        take_word(&mut rest, &[word]);
    }
    take_table(&mut rest, text)
}

/// New names of tables, but for those that another table of the text has had: a temporary table can
/// get the name of a table that is there, and no other table can.
fn renamed<'t>(found: &'t [Lexeme], text: &'t str) -> Vec<Named<'t>> {
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let mut rest = found;
    if take_word(&mut rest, &["alter"]) {
        let renames = |one: &Lexeme| one.kind == Kind::Word && one.value == "rename";
        while let Some(at) = rest.iter().position(renames) {
            rest = &rest[at + 1..];
            if take_word(&mut rest, &["column", "index", "key"]) {
                continue;
            }
            take_word(&mut rest, &["to", "as"]);
            if rest.first().is_some_and(|own| is_symbol(own, "=")) {
                rest = &rest[1..];
            }
            behind.extend(take_table(&mut rest, text));
        }
        return behind;
    }
    if !take_word(&mut rest, &["rename"]) || !take_word(&mut rest, &["table", "tables"]) {
        return behind;
    }
    take_word(&mut rest, &["if"]);
    take_word(&mut rest, &["exists"]);
    while let Some(old) = take_table(&mut rest, text) {
        // `WAIT 5`, `NOWAIT`
        while !rest.is_empty() && !take_word(&mut rest, &["to"]) {
            rest = &rest[1..];
        }
        before.push(old);
        behind.extend(take_table(&mut rest, text));
        match rest.split_first() {
            Some((comma, others)) if is_symbol(comma, ",") => rest = others,
            _ => break,
        }
    }
    let is_same = |one: &Named<'_>, other: &Named<'_>| one.1.eq_ignore_ascii_case(other.1);
    behind.retain(|new| !before.iter().any(|old| is_same(old, new)));
    behind
}

/// Whether the proxy knows a table. Letters are not told apart by their case, whatever the server
/// does.
fn is_known((database, table): Named<'_>, schema: &Schema) -> bool {
    let current = schema.search_path.first().map(String::as_str);
    let Some(database) = database.or(current) else {
        return false;
    };
    let mut tables = schema.tables.keys();
    tables.any(|own| own.0.eq_ignore_ascii_case(database) && own.1.eq_ignore_ascii_case(table))
}

fn hides(table: &str) -> Refusal {
    refuse(format!(
        "a temporary table {table} would hide the table of that name, by which the proxy would \
         judge statements"
    ))
    .with_hint("Give the temporary table another name.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Table};

    #[test]
    fn a_temporary_table_hides_no_table_that_is_known() {
        let own = MySql::default();
        let mut schema = Schema {
            dialect: Dialect::MySql(own),
            search_path: vec!["shop".to_owned()],
            ..Schema::default()
        };
        for (database, table) in [("shop", "person"), ("shop", "Plain"), ("other", "t")] {
            let name = (database.to_owned(), table.to_owned());
            schema.tables.insert(name.clone(), Table::empty(&name));
        }
        for (text, passes) in [
            ("CREATE TEMPORARY TABLE plain (id INT)", false),
            ("create or replace temporary table `Plain` (id int)", false),
            ("CREATE TEMPORARY TABLE IF NOT EXISTS other.t LIKE x", false),
            ("CREATE TEMPORARY TABLE t (plain INT)", true),
            (
                "CREATE TEMPORARY TABLE other.plain SELECT * FROM plain",
                true,
            ),
            ("CREATE TABLE plain (id INT)", true),
            ("DROP TEMPORARY TABLE plain", true),
            (
                "CREATE PROCEDURE p() CREATE TEMPORARY TABLE plain (id INT)",
                false,
            ),
            ("CREATE /*!32302 TEMPORARY */ TABLE plain (id INT)", false),
            ("/*!32302 CREATE TEMPORARY TABLE x (id INT) */", true),
            ("ALTER TABLE x RENAME TO plain", false),
            ("ALTER TABLE x RENAME plain", false),
            ("ALTER TABLE x ADD y INT, RENAME AS other.t", false),
            ("ALTER TABLE x RENAME COLUMN a TO plain, RENAME TO y", true),
            ("RENAME TABLE x TO plain", false),
            ("RENAME TABLE plain TO old, new TO plain", true),
            ("RENAME TABLE y TO z, x TO shop.plain", false),
            ("SELECT 'create temporary table plain'", true),
        ] {
            let words: Vec<String> = text
                .to_ascii_lowercase()
                .split(|letter: char| !letter.is_ascii_alphanumeric())
                .map(str::to_owned)
                .collect();
            let checked = check(text, &words, &schema, own);
            assert_eq!(checked.is_ok(), passes, "{text}");
        }
    }
}
