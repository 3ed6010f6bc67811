//! Statements where rules and server do not fit.

use super::MySql;
use super::lexer::{self, Kind};
use super::readings::readings;
use crate::dialect::lexeme::{lower, names_word};
use crate::{Schema, SchemaError};

/// Why a text is not planned whatever it says: rules fit no table that it names, or none at all.
pub fn misfit<'s>(text: &str, schema: &'s Schema) -> Option<&'s SchemaError> {
    if schema.unfit.is_empty() {
        return None;
    }
    let readings: Vec<String> = readings(text).iter().map(|text| lower(text)).collect();
    schema.unfit.iter().find(|error| {
        let table = lower(&error.table);
        !error.is_own || readings.iter().any(|text| names_word(text, &table))
    })
}

/// Whether a text is a single `DROP TABLE`, which needs to know nothing of a table.
pub fn only_drops_tables(text: &str, own: MySql) -> bool {
    let Ok(found) = lexer::lexemes(text, own) else {
        return false;
    };
    let has_word = |at: usize, word: &str| {
        let lexeme: Option<&lexer::Lexeme> = found.get(at);
        lexeme.is_some_and(|own| own.kind == Kind::Word && own.value == word)
    };
    let is_end = |own: &lexer::Lexeme| own.kind == Kind::Symbol && own.value == ";";
    let end = found.iter().position(is_end).unwrap_or(found.len());
    has_word(0, "drop") && has_word(1, "table") && found[end..].iter().all(is_end)
}
