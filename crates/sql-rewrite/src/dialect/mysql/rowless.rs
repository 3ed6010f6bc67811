//! Statements that name a protected table, and neither read nor write a row of it: they pass as
//! they came. Locks, what a dump has around its rows, and questions about tables whose name is a
//! constant.

use super::information;
use super::lexer::{self, Kind, Lexeme};
use super::shown::{is_symbol, take_table, take_word};
use super::{load, variables};
use crate::mention::Mentions;
use sql_plan::refuse;

use crate::{Dialect, Refusal, Schema};

/// Columns of `information_schema.columns` that tell the type of sealed values, not the declared
/// one.
const OF_TYPES: &[&str] = &[
    "character_maximum_length",
    "character_octet_length",
    "character_set_name",
    "collation_name",
    "column_type",
    "data_type",
    "datetime_precision",
    "numeric_precision",
    "numeric_scale",
];
/// Tables of `information_schema` that list checks, and so guards.
const OF_CHECKS: &[&str] = &["check_constraints", "table_constraints"];
/// What `mariadb-dump` asks, whose answer decides about computed columns alone.
const OF_A_DUMP: &str = "select column_name , extra , generation_expression , data_type from \
                         information_schema . columns where table_schema = database ( ) and \
                         table_name = '' order by ordinal_position";

/// Whether a text that names protected tables passes.
///
/// # Errors
/// It would show how values are stored.
pub(super) fn passes(text: &str, mentions: &Mentions, schema: &Schema) -> Result<bool, Refusal> {
    let Dialect::MySql(own) = schema.dialect else {
        return Ok(false);
    };
    if let Some(inside) = in_a_dump(text) {
        return Ok(lexer::lexemes(inside, own).is_ok_and(|found| sets_keys(&found, inside)));
    }
    if variables::sets_constants(text, own) || load::reads_plain(text, schema, own) || grants(text)
    {
        return Ok(true);
    }
    let Ok(mut found) = lexer::lexemes(text, own) else {
        return Ok(false);
    };
    while found.last().is_some_and(|last| is_symbol(last, ";")) {
        found.pop();
    }
    if found.iter().any(|lexeme| is_symbol(lexeme, ";")) {
        return Ok(false);
    }
    let mut rest = &found[..];
    if take_word(&mut rest, &["lock"]) {
        return Ok(take_word(&mut rest, &["table", "tables"]));
    }
    if take_word(&mut rest, &["select"]) {
        let is_written = has_word(rest, "into");
        if is_written || mentions.find(&without_texts(&found, text)).is_some() {
            return Ok(false);
        }
        return match information::translated(text, schema, own) {
            // Its answer has what was declared.
            Some(_) => Ok(true),
            None => check_information(&found, text).map(|()| true),
        };
    }
    Ok(sets_keys(&found, text) || lists(&found, text) || maintains(&found, text))
}

/// `GRANT` and `REVOKE`, which neither read nor write rows, whatever they name. Accounts (`a@b`)
/// are no lexemes, so a comment and a second statement are looked for in the text.
fn grants(text: &str) -> bool {
    let text = text.trim_ascii();
    let text = text.strip_suffix(';').unwrap_or(text);
    let first = text
        .split(|letter: char| !letter.is_ascii_alphabetic())
        .next();
    let is_grant = first.is_some_and(|first| {
        first.eq_ignore_ascii_case("grant") || first.eq_ignore_ascii_case("revoke")
    });
    is_grant && !text.contains([';', '\\', '#', '/']) && !text.contains("--")
}

/// `ANALYZE TABLE`, `OPTIMIZE TABLE` and others that keep tables in order, of which nothing tells
/// how values are stored.
fn maintains(found: &[Lexeme], text: &str) -> bool {
    let mut rest = found;
    if !take_word(
        &mut rest,
        &["analyze", "optimize", "check", "repair", "flush"],
    ) {
        return false;
    }
    take_word(&mut rest, &["local", "no_write_to_binlog"]);
    if !take_word(&mut rest, &["table", "tables"]) {
        return false;
    }
    loop {
        if take_table(&mut rest, text).is_none() {
            return false;
        }
        match rest.split_first() {
            Some((comma, behind)) if is_symbol(comma, ",") => rest = behind,
            _ => break,
        }
    }
    // Values for a histogram may be given as a text.
    rest.iter().all(|own| own.kind == Kind::Word)
}

/// The statement of a dump that all versions of the servers read in a comment.
fn in_a_dump(text: &str) -> Option<&str> {
    let text = text.trim_ascii();
    let text = text.strip_suffix(';').unwrap_or(text).trim_ascii();
    let inside = text.strip_prefix("/*!40000 ")?.strip_suffix("*/")?;
    (!inside.contains("*/") && !inside.contains("/*")).then_some(inside)
}

/// `ALTER TABLE t DISABLE KEYS`, which does nothing to tables of InnoDB.
fn sets_keys(found: &[Lexeme], text: &str) -> bool {
    let mut rest = found;
    take_word(&mut rest, &["alter"])
        && take_word(&mut rest, &["table"])
        && take_table(&mut rest, text).is_some()
        && take_word(&mut rest, &["disable", "enable"])
        && take_word(&mut rest, &["keys"])
        && rest.is_empty()
}

/// `SHOW` of tables, triggers or keys.
fn lists(found: &[Lexeme], text: &str) -> bool {
    let mut rest = found;
    if !take_word(&mut rest, &["show"]) || has_word(rest, "select") {
        return false;
    }
    if take_word(&mut rest, &["index", "indexes", "keys"]) {
        let is_of_table =
            take_word(&mut rest, &["from", "in"]) && take_table(&mut rest, text).is_some();
        if take_word(&mut rest, &["from", "in"]) && !rest.is_empty() {
            rest = &rest[1..];
        }
        // Nothing of it tells how values are stored.
        return is_of_table && (rest.is_empty() || take_word(&mut rest, &["where"]));
    }
    if has_word(rest, "where") {
        return false;
    }
    take_word(&mut rest, &["full"]);
    take_word(&mut rest, &["tables", "triggers"])
        || (take_word(&mut rest, &["table"]) && take_word(&mut rest, &["status"]))
}

fn has_word(found: &[Lexeme], word: &str) -> bool {
    let is_it = |own: &Lexeme| own.kind == Kind::Word && own.value == word;
    found.iter().any(is_it)
}

/// The text without what stands in constants.
fn without_texts(found: &[Lexeme], text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for lexeme in found {
        if !out.is_empty() {
            out.push(' ');
        }
        match lexeme.kind {
            Kind::Text | Kind::Bytes => out.push_str("''"),
            Kind::Name => out.push_str(&lexeme.value),
            _ => out.push_str(&text[lexeme.span.clone()]),
        }
    }
    out
}

/// Refuses what would show the types of sealed values, or guards.
fn check_information(found: &[Lexeme], text: &str) -> Result<(), Refusal> {
    let named = |words: &[&str]| {
        let is_name = |own: &&Lexeme| matches!(own.kind, Kind::Word | Kind::Name);
        found
            .iter()
            .filter(is_name)
            .any(|own| words.contains(&own.value.to_ascii_lowercase().as_str()))
    };
    if without_texts(found, text).to_ascii_lowercase() == OF_A_DUMP {
        return Ok(());
    }
    let has_star = found.iter().any(|own| is_symbol(own, "*"));
    let shows_types = named(&["columns"]) && (has_star || named(OF_TYPES));
    match shows_types || named(OF_CHECKS) {
        false => Ok(()),
        true => Err(refuse(
            "information_schema would show how values of a protected table are stored, and its \
             guard, and not what was declared",
        )
        .with_hint("Use SHOW FULL COLUMNS or SHOW CREATE TABLE, which show what was declared.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;
    use crate::dialect::mysql::MySql;

    #[track_caller]
    fn passes_over_person(text: &str) -> Result<bool, Refusal> {
        let name = ("shop".to_owned(), "person".to_owned());
        let table = Table {
            opaque: true,
            ..Table::empty(&name)
        };
        let own = MySql::default();
        let mut schema = Schema {
            dialect: Dialect::MySql(own),
            ..Schema::default()
        };
        schema.tables.insert(name, table);
        passes(text, &Mentions::of(&schema), &schema)
    }

    #[test]
    fn only_what_reads_no_rows_passes() {
        for text in [
            "LOCK TABLES `person` READ /*!32311 LOCAL */",
            "lock tables person write, other read;",
            "/*!40000 ALTER TABLE `person` DISABLE KEYS */;",
            "ALTER TABLE shop.person ENABLE KEYS",
            "SHOW KEYS FROM `person` FROM shop",
            "show table status like 'person'",
            "SHOW TRIGGERS LIKE 'person'",
            "SET @x = 'person', @y = 5;",
            "SELECT engine FROM information_schema.tables WHERE table_name = 'person'",
            "select column_name, extra, generation_expression, data_type from \
             information_schema.columns where table_schema=database() and table_name='person' \
             order by ordinal_position",
        ] {
            assert_eq!(passes_over_person(text), Ok(true), "{text}");
        }
        for text in [
            "LOCK TABLES person READ; SELECT * FROM person",
            "/*!40000 ALTER TABLE person DISABLE KEYS, ADD x INT */",
            "/*!40000 ALTER TABLE person DISABLE KEYS */; SELECT 1",
            "/*!40000 SELECT * FROM person */",
            "/*!50000 ALTER TABLE person DISABLE KEYS */",
            "ALTER TABLE person DROP COLUMN name",
            "SHOW TABLES WHERE (SELECT max(name) FROM person) = 'x'",
            "SHOW CREATE VIEW person",
            "SELECT * FROM person WHERE name = 'person'",
            "SELECT 'person' INTO @v",
            "SET @x = (SELECT max(name) FROM person)",
            "SET @x = person",
            "SET @x = 'person'; SELECT 1",
            "SET @x = 'person', sql_mode = ''",
            "SELECT /*!40001 SQL_NO_CACHE */ name FROM person",
            "SELECT 1 FROM t WHERE x = 'a\\\\' AND 'person' = name FROM `person`",
            "INSERT INTO plain (note) VALUES ('person')",
        ] {
            assert_eq!(passes_over_person(text), Ok(false), "{text}");
        }
        // As parts of information_schema that are not understood.
        for text in [
            "SELECT information_schema.columns.column_type FROM information_schema.columns WHERE \
             table_name = 'person'",
            "SELECT c.data_type FROM columns c WHERE c.table_name = 'person'",
            "SELECT constraint_name FROM check_constraints WHERE table_name = 'person'",
        ] {
            passes_over_person(text).expect_err(text);
        }
    }
}
