//! Queries that the finisher before MariaDB answers: what is fetched for its tables.

use super::label::{Atom, Labels};
use super::{Doubt, check_outputs, hidden_by, mysql, of_translated};
use crate::dialect::mysql::lexer::{self, Kind, Reading};
use crate::{Dialect, Effects, FilledTable, FinisherTables, Schema, Translated};

/// Proves the fetches. All that the text has of constants and parameters may meet a protected
/// column in the finisher, so it is not to be sent in clear.
pub(super) fn check(query: &FinisherTables, schema: &Schema) -> Result<(), Doubt> {
    let mut hidden = atoms(query, schema)?;
    let mut labels = Labels::new(schema);
    for table in &query.tables {
        for fetch in [Some(&table.fetch), table.fetch_all.as_ref()] {
            let Some(fetch) = fetch else {
                continue;
            };
            check_table(table, fetch, &mut labels)?;
            hidden.extend(hidden_by(&fetch.holes));
        }
    }
    labels.check_hidden(&hidden)
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
        if label.sealed.map(|sealed| sealed.column) != own.sealed {
            return Err(other());
        }
    }
    Ok(())
}

/// The constants and parameters of the client's text.
fn atoms(query: &FinisherTables, schema: &Schema) -> Result<Vec<Atom>, Doubt> {
    let unread = || Doubt("the finisher's text cannot be read".to_owned());
    let Dialect::MySql(own) = schema.dialect else {
        return Err(unread());
    };
    let found = lexer::read(&query.text, own, Reading::Names).map_err(|_| unread())?;
    let mut atoms = Vec::new();
    let mut parameters = 0;
    for lexeme in &found {
        match lexeme.kind {
            Kind::Text => atoms.push(Atom::of_text(&lexeme.value)),
            Kind::Parameter => {
                atoms.push(Atom::Parameter(parameters));
                parameters += 1;
            }
            _ => {}
        }
    }
    match parameters == query.parameters {
        true => Ok(atoms),
        false => Err(unread()),
    }
}
