//! A question to `information_schema` that is sent with queries in the place of some of its tables:
//! all else is as the client has sent it, and those queries read nothing but `information_schema`.

use super::Doubt;
use crate::dialect::mysql::MySql;
use crate::dialect::mysql::lexer::{self, Kind, Lexeme};
use crate::{Form, Source, Translated};

/// Tables in whose place a query may stand.
const TABLES: [&str; 3] = ["columns", "check_constraints", "table_constraints"];

/// Checks what is sent for a text.
pub(crate) fn check_information(
    text: &str,
    translated: &Translated,
    own: MySql,
) -> Result<(), Doubt> {
    let doubt = || Doubt("a question to information_schema is sent as another".to_owned());
    let mut number = 0..;
    let in_order = |hole: &crate::Hole| {
        hole.form == Form::Plain
            && matches!(hole.source, Source::Parameter(own) if Some(own) == number.next())
    };
    if !translated.holes.iter().all(in_order) || !translated.outputs.is_empty() {
        return Err(doubt());
    }
    let sent = translated.template.render(|_, out| out.push('?'));
    let read = |text: &str| lexer::lexemes(text, own).map_err(|_| doubt());
    let (came, goes) = (read(text)?, read(&sent)?);
    let (mut came, mut goes) = (&came[..], &goes[..]);
    while let Some((first, rest)) = came.split_first() {
        if let [own, behind @ ..] = goes
            && is_same(first, own)
        {
            (came, goes) = (rest, behind);
            continue;
        }
        let [database, point, table, rest @ ..] = came else {
            return Err(doubt());
        };
        let name = table.value.to_ascii_lowercase();
        let is_its = database.value.eq_ignore_ascii_case("information_schema")
            && is_mark(point, ".")
            && TABLES.contains(&name.as_str());
        let behind = is_its.then(|| without_query(goes, &name)).flatten();
        goes = behind.ok_or_else(doubt)?;
        // Its own name, if the client has given it no other.
        if let [first, alias, behind @ ..] = goes
            && first.value == "as"
            && alias.value.eq_ignore_ascii_case(&name)
            && rest.first().is_none_or(|own| own.value != "as")
        {
            goes = behind;
        }
        came = rest;
    }
    match goes.is_empty() {
        true => Ok(()),
        false => Err(doubt()),
    }
}

fn is_same(one: &Lexeme, other: &Lexeme) -> bool {
    one.kind == other.kind && one.value == other.value && {
        // Numbers have no value of their own.
        one.kind != Kind::Number || one.span.len() == other.span.len()
    }
}

fn is_mark(own: &Lexeme, mark: &str) -> bool {
    own.kind == Kind::Symbol && own.value == mark
}

/// What follows a query in parentheses that reads this one table of `information_schema`.
fn without_query<'l>(lexemes: &'l [Lexeme], table: &str) -> Option<&'l [Lexeme]> {
    let (mut depth, mut tables) = (0_usize, 0);
    for (index, own) in lexemes.iter().enumerate() {
        if is_mark(own, "(") {
            depth += 1;
        } else if is_mark(own, ")") {
            depth = depth.checked_sub(1)?;
        }
        let is_known = !is_mark(own, ";") && !matches!(own.kind, Kind::Parameter | Kind::Hole(_));
        if !is_known || (index == 0 && depth == 0) {
            return None;
        }
        if own.kind == Kind::Word && matches!(own.value.as_str(), "from" | "join") {
            let [database, point, read] = lexemes.get(index + 1..index + 4)? else {
                return None;
            };
            let is_its = database.value == "information_schema" && is_mark(point, ".");
            if !is_its || read.value != table {
                return None;
            }
            tables += 1;
        }
        if depth == 0 {
            let is_query = lexemes.get(1).is_some_and(|first| first.value == "select");
            return (tables == 1 && is_query).then(|| &lexemes[index + 1..]);
        }
    }
    None
}
