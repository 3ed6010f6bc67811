//! Texts that are written from lexemes: the plain form for the parser, and its parts for a server.

use super::super::{MySql, bytes, subset};
use super::{HOLE, Kind, Lexeme, Reading, hints, modifiers, read, refused, shared, updated};
use crate::dialect::Unread;

/// Whether the parser may read two marks without a blank as one (`5--1` as a comment).
fn may_join(one: &Lexeme, other: &Lexeme) -> bool {
    let joins = |own: &Lexeme| own.kind == Kind::Symbol && !"().,".contains(own.value.as_str());
    joins(one) && joins(other)
}

/// Whether a word is that of `ALTER TABLE … DROP KEY`, for which there are two words. It is no
/// name: it is reserved.
fn is_dropped_key(index: usize, found: &[Lexeme]) -> bool {
    let is = |at: Option<usize>, word: &str| {
        let own = at.and_then(|at| found.get(at));
        own.is_some_and(|own| own.kind == Kind::Word && own.value == word)
    };
    is(Some(index), "key") && is(index.checked_sub(1), "drop") && is(Some(0), "alter")
}

/// A statement in the plain form.
///
/// # Errors
/// It is not known how the server reads it, or it is several.
pub(crate) fn plain(text: &str, dialect: MySql, reading: Reading) -> Result<String, Unread> {
    let mut found = read(text, dialect, reading)?;
    let is_end = |lexeme: &Lexeme| lexeme.kind == Kind::Symbol && lexeme.value == ";";
    while found.last().is_some_and(is_end) {
        found.pop();
    }
    if found.iter().any(is_end) {
        return Err(refused("another statement in the same text"));
    }
    updated::join(&mut found)?;
    shared::join(&mut found, dialect.is_mariadb)?;
    let mut plain = String::with_capacity(text.len());
    let mut parameters = 0;
    for (index, lexeme) in found.iter().enumerate() {
        let is_call = lexeme.kind == Kind::Symbol && lexeme.value == "(" && lexeme.is_apart;
        let before = index.checked_sub(1).map(|before| &found[before]);
        if is_call
            && before.is_some_and(|before| {
                before.kind == Kind::Word && subset::is_function(&before.value)
            })
        {
            return Err(refused("a blank between a function and its parenthesis"));
        }
        let hint = before.and_then(|before| hints::between(text, before, lexeme, dialect));
        if let Some(hint) = hint {
            plain.push(' ');
            plain.push_str(hint);
        }
        if (lexeme.is_apart || before.is_some_and(|own| may_join(own, lexeme))) && index > 0 {
            plain.push(' ');
        }
        match lexeme.kind {
            Kind::Word if [updated::CROSS_JOIN, shared::SHARED].contains(&&*lexeme.value) => {
                plain.push_str(&lexeme.value);
            }
            Kind::Word if modifiers::is_ignoring(lexeme, &found) => {
                plain.push_str(modifiers::IGNORING);
            }
            Kind::Word if is_dropped_key(index, &found) => plain.push_str("INDEX"),
            Kind::Word | Kind::Number | Kind::Symbol => plain.push_str(&text[lexeme.span.clone()]),
            Kind::Name => {
                plain.push('`');
                plain.push_str(&lexeme.value);
                plain.push('`');
            }
            Kind::Bytes => plain.push_str(&lexeme.value),
            Kind::Text => {
                plain.push('\'');
                plain.push_str(&lexeme.value.replace('\'', "''"));
                plain.push('\'');
            }
            Kind::Parameter => {
                parameters += 1;
                plain.push_str(&format!("${parameters}"));
            }
            Kind::Hole(hole) => plain.push_str(&format!("${}", hole + 1)),
        }
    }
    Ok(plain)
}

/// A part of a printed tree as the server reads it: in texts of the plain form backslashes are
/// themselves.
pub(crate) fn for_server(text: String, dialect: MySql) -> String {
    let text = modifiers::for_server(shared::for_server(bytes::as_they_came(text)));
    match dialect.plain_backslashes || !text.contains('\\') {
        // Names have no backslash: see `names::quote`.
        true => text,
        false => text.replace('\\', "\\\\"),
    }
}

/// Writes the parameter that stands for the hole of an index, for ourselves: the server gets `?`.
pub(crate) fn write_hole(index: usize, text: &mut String) {
    text.push(HOLE);
    text.push_str(&index.to_string());
    text.push(HOLE);
}
