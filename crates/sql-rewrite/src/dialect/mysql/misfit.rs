//! Statements where rules and server do not fit.

use sqlparser::ast::Statement;

use super::lexer::{self, Kind};
use super::readings::readings;
use super::{MySql, ddl, names};
use crate::dialect::lexeme::{lower, names_word};
use crate::{Schema, SchemaError};

/// Why a text is not planned whatever it says: rules fit no table that it names, or none at all.
pub fn misfit<'s>(text: &str, schema: &'s Schema) -> Option<&'s SchemaError> {
    if schema.unfit.is_empty() {
        return None;
    }
    let readings: Vec<String> = readings(text).iter().map(|text| lower(text)).collect();
    schema
        .unfit
        .iter()
        .find(|error| !error.is_own || is_named(&readings, error))
}

fn is_named(readings: &[String], error: &SchemaError) -> bool {
    let table = lower(&error.table);
    readings.iter().any(|text| names_word(text, &table))
}

/// Whether a text is a single `DROP TABLE`, which needs to know nothing of a table.
pub fn only_drops_tables(text: &str, own: MySql) -> bool {
    begins_and_ends(text, ["drop", "table"], own)
}

/// Whether a text is a single `ALTER TABLE`.
pub fn may_add_columns(text: &str, own: MySql) -> bool {
    begins_and_ends(text, ["alter", "table"], own)
}

fn begins_and_ends(text: &str, words: [&str; 2], own: MySql) -> bool {
    let Ok(found) = lexer::lexemes(text, own) else {
        return false;
    };
    let has_word = |at: usize, word: &str| {
        let lexeme: Option<&lexer::Lexeme> = found.get(at);
        lexeme.is_some_and(|own| own.kind == Kind::Word && own.value == word)
    };
    let is_end = |own: &lexer::Lexeme| own.kind == Kind::Symbol && own.value == ";";
    let end = found.iter().position(is_end).unwrap_or(found.len());
    has_word(0, words[0]) && has_word(1, words[1]) && found[end..].iter().all(is_end)
}

/// Whether a statement alters a table that fits its rules but for columns which it lacks, and adds
/// one of these. Other tables that it names must fit theirs.
pub fn adds_columns(statement: &Statement, text: &str, schema: &Schema, own: MySql) -> bool {
    let Statement::AlterTable(alter) = statement else {
        return false;
    };
    let Some((database, table)) = names::split(&alter.name, own) else {
        return false;
    };
    let Some(database) = database.or_else(|| schema.search_path.first().cloned()) else {
        return false;
    };
    let known = schema.tables.get(&(database.clone(), table.clone()));
    let Some(known) = known.filter(|known| known.oid != 0 && !known.columns.is_empty()) else {
        return false;
    };
    let (added, _) = ddl::columns_changed(alter);
    let lacks = |column: &str| known.position(column).is_none();
    let readings: Vec<String> = readings(text).iter().map(|text| lower(text)).collect();
    let mut errors = schema.unfit.iter();
    let fits_else = errors.all(
        |error| match error.schema == database && error.table == table {
            true => lacks(&error.column),
            false => error.is_own && !is_named(&readings, error),
        },
    );
    let mut errors = schema.unfit.iter();
    fits_else
        && errors.any(|error| {
            error.schema == database && error.table == table && added.contains(&error.column)
        })
}
