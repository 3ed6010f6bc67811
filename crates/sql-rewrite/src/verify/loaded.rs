//! `LOAD DATA LOCAL` as it is sent: each protected column gets the digits of the field that the
//! proxy seals for it, or a constant that is sealed for it, and nothing else.

use super::Doubt;
use crate::dialect::mysql::MySql;
use crate::dialect::mysql::lexer::{self, Kind, Lexeme};
use crate::{ColumnId, Form, Purpose, Schema, Table, Translated};

/// A column that is assigned, and what stands behind `=`.
type Assignment<'l> = (&'l Lexeme, &'l [Lexeme]);

/// Checks a statement whose fields are sealed for these columns.
pub(crate) fn check_load(
    sent: &Translated,
    fields: &[Option<ColumnId>],
    (schema, own): (&Schema, MySql),
) -> Result<(), Doubt> {
    let doubt = |what: &str| Doubt(format!("a file is loaded {what}"));
    let text = sent.template.render(lexer::write_hole);
    let found = lexer::lexemes(&text, own).map_err(|_| doubt("by a text that is not read"))?;
    let parts = table(&found, schema).and_then(|(table, rest)| {
        let (listed, rest) = listed(rest)?;
        Some((table, listed, assignments(rest)?))
    });
    let (table, listed, assigned) = parts.ok_or_else(|| doubt("by a text of another form"))?;
    let sealed_in = |name: &Lexeme| {
        let index = table.position(&name.value)?;
        Some(table.columns[index].protected)
    };
    if listed.len() != fields.len() {
        return Err(doubt("with other fields than those that are sealed"));
    }
    let mut holes = 0;
    let mut filled = Vec::new();
    for (name, value) in &assigned {
        let is_sealed = match (sealed_in(name), value) {
            (Some(Some(id)), [one]) => match one.kind {
                Kind::Hole(index) => {
                    holes += 1;
                    let hole = sent.holes.get(index);
                    hole.is_some_and(|hole| hole.form == Form::Sealed(id, Purpose::Store))
                }
                _ => false,
            },
            (Some(Some(id)), [first, .., last]) => {
                let mut own = listed.iter().zip(fields);
                let own = own.find(|(_, field)| **field == Some(id));
                let own = own.map(|(own, _)| &text[own.span.clone()]);
                filled.push(id);
                own.is_some_and(|own| text[first.span.start..last.span.end] == digits(own))
            }
            (Some(None), value) => value.iter().all(is_constant),
            _ => false,
        };
        if !is_sealed {
            return Err(doubt("with a value that is not sealed for its column"));
        }
    }
    let is_known = |(own, field): (&&Lexeme, &Option<ColumnId>)| match field {
        Some(id) => own.value.starts_with('@') && filled.contains(id),
        None => own.kind == Kind::Name && sealed_in(own) == Some(None),
    };
    match listed.iter().zip(fields).all(is_known) && holes == sent.holes.len() {
        true => Ok(()),
        false => Err(doubt("with a field that is not sealed for its column")),
    }
}

/// What makes bytes of the digits in a variable, and an error of the mark in their place.
fn digits(variable: &str) -> String {
    format!("UNHEX(IF({variable} = '!', 18446744073709551615 + LENGTH({variable}), {variable}))")
}

/// The table that is loaded, and what follows its name.
fn table<'s, 'l>(found: &'l [Lexeme], schema: &'s Schema) -> Option<(&'s Table, &'l [Lexeme])> {
    let mut pairs = found.windows(2);
    let at = pairs.position(|pair| is_word(&pair[0], "into") && is_word(&pair[1], "table"))?;
    let [database, point, table, rest @ ..] = &found[at + 2..] else {
        return None;
    };
    let table = schema.find(Some(&database.value), &table.value)?;
    is_mark(point, ".").then_some((table, rest))
}

/// The columns and variables of the list, and what follows it.
fn listed(found: &[Lexeme]) -> Option<(Vec<&Lexeme>, &[Lexeme])> {
    let open = found.iter().position(|own| is_mark(own, "("))?;
    let found = &found[open + 1..];
    let close = found.iter().position(|own| is_mark(own, ")"))?;
    let list = found[..close].split(|own| is_mark(own, ","));
    let list = list.map(|one| match one {
        [one] => Some(one),
        _ => None,
    });
    Some((list.collect::<Option<_>>()?, &found[close + 1..]))
}

/// The assignments behind `SET`, up to the end of the text.
fn assignments(found: &[Lexeme]) -> Option<Vec<Assignment<'_>>> {
    let Some((set, found)) = found.split_first() else {
        return Some(Vec::new());
    };
    let mut depth = 0_usize;
    let list = found.split(|own| {
        match own.value.as_str() {
            "(" if own.kind == Kind::Symbol => depth += 1,
            ")" if own.kind == Kind::Symbol => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_mark(own, ",")
    });
    let list = list.map(|one| match one {
        [name, equals, value @ ..] if is_mark(equals, "=") && !value.is_empty() => {
            Some((name, value))
        }
        _ => None,
    });
    is_word(set, "set").then(|| list.collect())?
}

fn is_constant(own: &Lexeme) -> bool {
    matches!(own.kind, Kind::Number | Kind::Text) || is_word(own, "null") || is_mark(own, "-")
}

fn is_word(own: &Lexeme, word: &str) -> bool {
    own.kind == Kind::Word && own.value == word
}

fn is_mark(own: &Lexeme, mark: &str) -> bool {
    own.kind == Kind::Symbol && own.value == mark
}
