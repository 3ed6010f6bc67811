//! User variables. The server has their values in clear, so none is compared with a protected
//! column or stored in one, and no protected column is put into one.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Statement};

use super::lexer::{self, Kind};
use super::shown::{is_symbol, take_word};
use super::{MySql, names, subset};
use crate::dialect::Unread;
use crate::{Refusal, walk};

/// The refusal of a text that is not understood.
pub(super) fn unread(unread: Unread, text: &str, own: MySql) -> Refusal {
    let found = lexer::lexemes(text, own).unwrap_or_default();
    let is = |word: &str| {
        let mut found = found.iter();
        found.any(|lexeme| lexeme.kind == Kind::Word && lexeme.value == word)
    };
    let unread = match found.first() {
        Some(first) if first.value == "select" && is("into") => Unread::Form(subset::INTO),
        _ => unread,
    };
    let hint = match unread {
        Unread::Form(subset::INTO) => "Read the rows in the client, and pass values as parameters.",
        _ => "Write it in a plainer form, or in several statements.",
    };
    unread.refusal().with_hint(hint)
}

/// A refusal of a statement, with what to do about a user variable in it.
pub(super) fn refused(refusal: Refusal, statement: &Statement) -> Refusal {
    let found = walk::expressions(statement, |expression| match expression {
        Expr::Identifier(name) if names::is_variable(name) => ControlFlow::Break(name.clone()),
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Continue(()) => refusal,
        ControlFlow::Break(name) => refusal.with_hint(&format!(
            "The server has the value of {name} in clear: beside a protected column, pass it as a \
             parameter or a constant."
        )),
    }
}

/// Whether a text sets user variables to constants alone: what a constant names is not read.
pub(super) fn sets_constants(text: &str, own: MySql) -> bool {
    let Ok(mut found) = lexer::lexemes(text, own) else {
        return false;
    };
    while found.last().is_some_and(|last| is_symbol(last, ";")) {
        found.pop();
    }
    let mut rest = &found[..];
    if !take_word(&mut rest, &["set"]) {
        return false;
    }
    rest.split(|lexeme| is_symbol(lexeme, ",")).all(|one| {
        let [name, equals, value] = one else {
            return false;
        };
        name.kind == Kind::Word
            && name.value.starts_with('@')
            && is_symbol(equals, "=")
            && match value.kind {
                Kind::Text | Kind::Number | Kind::Bytes => true,
                Kind::Word => ["null", "true", "false"].contains(&value.value.as_str()),
                _ => false,
            }
    })
}
