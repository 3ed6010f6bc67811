//! The tables of an `UPDATE`.

use super::{Kind, Lexeme, refused};
use crate::dialect::Unread;

/// What the plain form has in the place of a comma between tables of an `UPDATE`.
pub(super) const CROSS_JOIN: &str = " CROSS JOIN ";

/// Writes `UPDATE a, b SET` as `UPDATE a CROSS JOIN b SET`, which means the same.
pub(super) fn join(found: &mut [Lexeme]) -> Result<(), Unread> {
    let is_word = |lexeme: &Lexeme, word: &str| lexeme.kind == Kind::Word && lexeme.value == word;
    if !found.first().is_some_and(|first| is_word(first, "update")) {
        return Ok(());
    }
    let end = found.iter().position(|lexeme| is_word(lexeme, "set"));
    let tables = &mut found[..end.unwrap_or(0)];
    let is_symbol = |lexeme: &Lexeme, symbols: &str| {
        lexeme.kind == Kind::Symbol && symbols.contains(lexeme.value.as_str())
    };
    if !tables.iter().any(|lexeme| is_symbol(lexeme, ",")) {
        return Ok(());
    }
    let joins = |lexeme: &Lexeme| is_word(lexeme, "join") || is_symbol(lexeme, "()");
    if tables.iter().any(joins) {
        // A comma binds less than JOIN.
        return Err(refused(
            "UPDATE of tables with both commas and JOIN or parentheses",
        ));
    }
    for lexeme in tables.iter_mut().filter(|lexeme| is_symbol(lexeme, ",")) {
        lexeme.kind = Kind::Word;
        lexeme.value = CROSS_JOIN.to_owned();
    }
    Ok(())
}
