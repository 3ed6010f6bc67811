//! Rows that the finisher before MariaDB computes and the server inserts.

use sqlparser::ast::{SetExpr, Statement, TableObject};

use super::label::Labels;
use super::{Computes, Doubt, check_outputs, labelled};
use crate::dialect::mysql::{names, parse};
use crate::finisher::tables::public::outputs;
use crate::{
    Dialect, FilledInsert, FinisherTables, Form, Hole, Piece, Purpose, Schema, Source, Translated,
};

/// A computed value is stored in its own column: sealed, or in a plain column in which no protected
/// one takes part. A row can be repeated, since it stands by itself.
pub(super) fn check(
    query: &FinisherTables,
    insert: &FilledInsert,
    labels: &mut Labels,
) -> Result<(), Doubt> {
    let schema = labels.schema;
    let columns = labelled(&insert.write, Computes::ARRAYS, labels)?;
    check_outputs(&insert.write.outputs, &columns, labels)?;
    let filled = query.tables.get(insert.table);
    let filled = filled.ok_or_else(|| Doubt("rows are put into no table".to_owned()))?;
    let row = row(insert)?;
    let mut next = 0;
    for hole in &row {
        let is_own = match (&hole.source, hole.form) {
            (Source::Computed(number), form) => {
                let is_next = *number == next;
                next += 1;
                let place = insert.columns.get(*number).copied();
                let sealed = place.and_then(|place| Some(filled.columns.get(place)?.sealed));
                let is_form = match (sealed, form) {
                    (Some(None), Form::Plain) => true,
                    (Some(Some(own)), Form::Sealed(id, Purpose::Store)) => own == id,
                    _ => false,
                };
                is_next && is_form
            }
            // A default that the server does not know.
            (Source::Literal(_), Form::Sealed(_, Purpose::Store)) => next == insert.columns.len(),
            _ => false,
        };
        if !is_own {
            return Err(Doubt(
                "a value is inserted into another column than it was computed for".to_owned(),
            ));
        }
    }
    let is_elsewhere = |hole: &&Hole| matches!(hole.source, Source::Computed(_));
    let computed = insert.write.holes.iter().filter(is_elsewhere).count();
    if next != insert.columns.len() || computed != next {
        return Err(Doubt("a computed value has no column".to_owned()));
    }
    match is_public(query, insert, schema) {
        true => Ok(()),
        false => Err(Doubt(
            "a plain column gets what a protected one may take part in".to_owned(),
        )),
    }
}

/// Whether the client's text gives plain columns what no protected column takes part in.
fn is_public(query: &FinisherTables, insert: &FilledInsert, schema: &Schema) -> bool {
    let mut read = query.tables.iter().filter(|table| table.fetch.is_some());
    let is_plain = read.all(|table| table.columns.iter().all(|own| own.sealed.is_none()));
    let Dialect::MySql(own) = schema.dialect else {
        return false;
    };
    let Some(Statement::Insert(tree)) = parse::any_tree(&query.text, own) else {
        return false;
    };
    let (TableObject::TableName(name), Some(source)) = (&tree.table, &tree.source) else {
        return false;
    };
    let found = schema.dialect.split(name);
    let table = found.and_then(|(database, name)| schema.find(database.as_deref(), &name));
    let (Some(table), Some(filled)) = (table, query.tables.get(insert.table)) else {
        return false;
    };
    let given = tree.columns.iter().map(|name| schema.dialect.split(name));
    let given: Vec<String> = match tree.columns.is_empty() {
        true => table.columns.iter().map(|own| own.name.clone()).collect(),
        false => given.flatten().map(|(_, column)| column).collect(),
    };
    let public = outputs(source, schema);
    // A name in a row means what a column of it has got so far: no other table need be read.
    let is_plain = is_plain && !matches!(&*source.body, SetExpr::Values(_));
    insert.columns.iter().all(|place| {
        let Some(column) = filled.columns.get(*place) else {
            return false;
        };
        let is_own = |name: &String| {
            let name = names::quote(name).to_string();
            name.eq_ignore_ascii_case(&column.name)
        };
        let at = given.iter().position(is_own);
        let is_public = || at.zip(public.as_ref()).and_then(|(at, all)| all.get(at)) == Some(&true);
        at.is_some() && (column.sealed.is_some() || is_plain || is_public())
    })
}

/// The holes of the row: it has nothing else.
fn row(insert: &FilledInsert) -> Result<Vec<&Hole>, Doubt> {
    let other = || Doubt("a row of another form would be repeated".to_owned());
    let Translated {
        template, holes, ..
    } = &insert.write;
    let pieces = &template.pieces;
    let inside = pieces.get(insert.row.clone()).ok_or_else(other)?;
    let before = insert
        .row
        .start
        .checked_sub(1)
        .and_then(|at| pieces.get(at));
    let is_begun = matches!(before, Some(Piece::Text(text)) if text.ends_with("VALUES ("));
    let behind = pieces.get(insert.row.end);
    let is_ended = matches!(behind, Some(Piece::Text(text)) if text.starts_with(')'));
    let mut found = Vec::new();
    for (at, piece) in inside.iter().enumerate() {
        match piece {
            Piece::Hole(number) if at % 2 == 0 => found.push(holes.get(*number).ok_or_else(other)?),
            Piece::Text(text) if at % 2 == 1 && text == ", " => {}
            _ => return Err(other()),
        }
    }
    match is_begun && is_ended && inside.len() % 2 == 1 {
        true => Ok(found),
        false => Err(other()),
    }
}
