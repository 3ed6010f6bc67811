//! Statements that the finisher before MariaDB evaluates: what is fetched for its tables, and what
//! is written of its answer.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Value};

use super::label::{Atom, Labels};
use super::{
    Computes, Doubt, check_outputs, filled_inserts, groups, hidden_by, labelled, mysql,
    of_translated,
};
use crate::dialect::mysql::finisher::text_of_bytes;
use crate::dialect::mysql::lexer::{self, Kind, Reading};
use crate::{
    ColumnId, Dialect, Effects, FilledTable, FilledWrite, FinisherTables, Form, Hole, Purpose,
    Schema, Source, Translated, walk,
};

/// Proves the fetches. All that the text has of constants and parameters may meet a protected
/// column in the finisher, so it is not to be sent in clear.
pub(super) fn check(query: &FinisherTables, schema: &Schema) -> Result<(), Doubt> {
    let mut hidden = atoms(query, schema)?;
    let mut labels = Labels::new(schema);
    for table in &query.tables {
        for fetch in [table.fetch.as_ref(), table.fetch_all.as_ref()] {
            let Some(fetch) = fetch else {
                continue;
            };
            check_table(table, fetch, &mut labels)?;
            hidden.extend(hidden_by(&fetch.holes));
        }
    }
    if let Some(write) = &query.write {
        let filled = query.tables.get(write.table);
        check_write(write, filled.ok_or_else(other_table)?, &mut labels)?;
        // What stands nowhere but in what the server computes of plain columns.
        without(&mut hidden, in_clear(&write.write, schema)?);
        hidden.extend(hidden_by(&write.write.holes));
    }
    if let Some(insert) = &query.insert {
        filled_inserts::check(query, insert, &mut labels)?;
        // What the client's text says of rows that are there, the server evaluates.
        let mut theirs = behind_duplicates(query, schema)?;
        let clear = in_clear(&insert.write, schema)?.into_iter();
        let of_theirs = clear.filter(|atom| match theirs.iter().position(|own| own == atom) {
            Some(at) => {
                theirs.swap_remove(at);
                true
            }
            None => false,
        });
        without(&mut hidden, of_theirs.collect());
        hidden.extend(hidden_by(&insert.write.holes));
    }
    labels.check_hidden(&hidden)
}

/// Takes atoms out, each as often as it is given.
fn without(hidden: &mut Vec<Atom>, atoms: Vec<Atom>) {
    for atom in atoms {
        if let Some(at) = hidden.iter().position(|own| *own == atom) {
            hidden.remove(at);
        }
    }
}

/// Constants and parameters that a statement has in clear, as often as it has them.
fn in_clear(translated: &Translated, schema: &Schema) -> Result<Vec<Atom>, Doubt> {
    let plain = |hole: &Hole| match (&hole.source, hole.form) {
        (Source::Parameter(number), Form::Plain) => Some(Atom::Parameter(*number)),
        _ => None,
    };
    let mut atoms: Vec<Atom> = translated.holes.iter().filter_map(plain).collect();
    let statement = super::read(&translated.template, schema.dialect)?;
    let _: ControlFlow<()> = walk::expressions(&statement, |expression| {
        if let Expr::Value(value) = expression
            && let Value::SingleQuotedString(text) = &value.value
        {
            atoms.push(Atom::of_text(text));
        }
        ControlFlow::Continue(())
    });
    Ok(atoms)
}

fn other_table() -> Doubt {
    Doubt("another table is written than is filled".to_owned())
}

/// A computed value is stored sealed, in its own column, and the row is found by what the server
/// gave of its key.
fn check_write(
    write: &FilledWrite,
    filled: &FilledTable,
    labels: &mut Labels,
) -> Result<(), Doubt> {
    let computed: Vec<ColumnId> = write.computed.iter().map(|(_, id)| *id).collect();
    groups::check_computed(&computed, labels.schema)?;
    let columns = labelled(&write.write, Computes::GROUPS, labels)?;
    check_outputs(&write.write.outputs, &columns, labels)?;
    let sealed = |place: usize| filled.columns.get(place).map(|own| own.sealed);
    let mut located = 0;
    for hole in &write.write.holes {
        let is_own = match (&hole.source, hole.form) {
            (Source::Computed(index), Form::Sealed(own, Purpose::Store)) => {
                let computed = write.computed.get(*index);
                computed.is_some_and(|(place, id)| {
                    *id == own && sealed(*place) == Some(Some(own)) && !write.deletes
                })
            }
            (Source::Locator(index), form) => {
                located += 1;
                let place = write.key.get(*index).copied();
                match (place.and_then(sealed), form) {
                    (Some(None), Form::Plain) => true,
                    (Some(Some(own)), Form::Sealed(id, Purpose::Match)) => own == id,
                    _ => false,
                }
            }
            (Source::Computed(_), _) => false,
            _ => true,
        };
        if !is_own {
            return Err(Doubt(
                "a value is written to another column than it was computed for".to_owned(),
            ));
        }
    }
    match located == write.key.len() && located > 0 {
        true => Ok(()),
        false => Err(Doubt("a row is written that is not located".to_owned())),
    }
}

/// The columns that a fetch returns are those of its table, and those are opened that are sealed.
fn check_table(table: &FilledTable, fetch: &Translated, labels: &mut Labels) -> Result<(), Doubt> {
    mysql::check_ignored(fetch, &Effects::default(), labels.schema)?;
    let columns = of_translated(fetch, labels)?;
    check_outputs(&fetch.outputs, &columns, labels)?;
    let other = || Doubt("a table is filled with other columns than are fetched".to_owned());
    if columns.others.is_some() || columns.known.len() != table.columns.len() {
        return Err(other());
    }
    for ((_, label), own) in columns.known.iter().zip(&table.columns) {
        // What is sealed with others is read from the column that has it.
        let read = own.sealed.and_then(|id| labels.schema.holder_of(id));
        if label.sealed.map(|sealed| sealed.column) != read
            || read.is_some() != own.sealed.is_some()
        {
            return Err(other());
        }
    }
    Ok(())
}

/// The constants and parameters of the client's text.
fn atoms(query: &FinisherTables, schema: &Schema) -> Result<Vec<Atom>, Doubt> {
    atoms_from(query, 0, schema)
}

/// Those behind `ON DUPLICATE KEY UPDATE`.
fn behind_duplicates(query: &FinisherTables, schema: &Schema) -> Result<Vec<Atom>, Doubt> {
    const WORDS: [&str; 4] = ["on", "duplicate", "key", "update"];
    let Dialect::MySql(own) = schema.dialect else {
        return Ok(Vec::new());
    };
    let found = lexer::read(&query.text, own, Reading::Names);
    let found = found.map_err(|_| Doubt("the finisher's text cannot be read".to_owned()))?;
    let is_begin = |four: &[lexer::Lexeme]| {
        let mut pairs = four.iter().zip(WORDS);
        pairs.all(|(own, word)| own.kind == Kind::Word && own.value == word)
    };
    let begin = found.windows(WORDS.len()).position(is_begin);
    let begin = begin.map_or(query.text.len(), |at| found[at].span.start);
    atoms_from(query, begin, schema)
}

/// Those from a place on.
fn atoms_from(query: &FinisherTables, begin: usize, schema: &Schema) -> Result<Vec<Atom>, Doubt> {
    let unread = || Doubt("the finisher's text cannot be read".to_owned());
    let Dialect::MySql(own) = schema.dialect else {
        return Err(unread());
    };
    let found = lexer::read(&query.text, own, Reading::Names).map_err(|_| unread())?;
    let mut atoms = Vec::new();
    let mut parameters = 0;
    for lexeme in &found {
        let atom = match lexeme.kind {
            Kind::Text => Some(Atom::of_text(&lexeme.value)),
            Kind::Bytes => text_of_bytes(lexeme).map(|own| Atom::of_text(&own)),
            Kind::Parameter => {
                parameters += 1;
                Some(Atom::Parameter(parameters - 1))
            }
            _ => None,
        };
        atoms.extend(atom.filter(|_| lexeme.span.start >= begin));
    }
    match parameters == query.parameters {
        true => Ok(atoms),
        false => Err(unread()),
    }
}
