//! `COPY`: every field is stored in, or comes from, the column that it is sealed for.

use sqlparser::ast::{CopySource, Ident, Statement};

use super::label::{Label, Labels};
use super::names::Columns;
use super::{Doubt, Verifier, check_outputs, hidden_by, read};
use crate::{Copy, Output, OutputKind, Schema};

/// Proves a COPY.
pub(super) fn check(copy: &Copy, schema: &Schema) -> Result<(), Doubt> {
    let mut labels = Labels::new(schema);
    let mut verifier = Verifier::new(&copy.holes, &mut labels);
    let statement = read(&copy.template, schema.dialect)?;
    let Statement::Copy { source, .. } = &statement else {
        return Err(Doubt("COPY is sent as something else".to_owned()));
    };
    let mut added = Vec::new();
    let columns = match source {
        CopySource::Query(query) => {
            let columns = verifier.query(query, None)?;
            verifier.check_seen(&statement)?;
            columns
        }
        CopySource::Table {
            table_name,
            columns,
        } => {
            check_names(columns, copy, schema)?;
            let (_, table) = verifier.table(table_name)?;
            let named = |name: &String| {
                let mut known = table.known.iter();
                known
                    .find(|(own, _)| own.as_ref() == Some(name))
                    .cloned()
                    .ok_or_else(|| Doubt(format!("column {name:?} is not known")))
            };
            for (column, _) in &copy.added {
                let (_, label) = named(&schema.column(*column).column)?;
                added.push((Label::sealed(*column), label));
            }
            Columns {
                known: copy.columns.iter().map(named).collect::<Result<_, _>>()?,
                others: None,
            }
        }
    };
    if added.len() != copy.added.len() || !(copy.into_server || added.is_empty()) {
        return Err(Doubt("COPY adds a field to what it reads".to_owned()));
    }
    let outputs = copy.fields.iter().map(|kind| Output::shown(*kind));
    check_outputs(&outputs.collect::<Vec<_>>(), &columns, &labels)?;
    if copy.into_server {
        for (kind, (_, label)) in copy.fields.iter().zip(&columns.known) {
            let given = match *kind {
                OutputKind::Sealed(column) => Label::sealed(column),
                OutputKind::Gathered(..) => return Err(Doubt("an array is copied".to_owned())),
                OutputKind::Plain => continue,
            };
            labels.store(&given, label)?;
        }
    }
    for (given, label) in &added {
        labels.store(given, label)?;
    }
    labels.check_hidden(&hidden_by(&copy.holes))
}

/// The statement names the columns of its fields, in their order.
fn check_names(sent: &[Ident], copy: &Copy, schema: &Schema) -> Result<(), Doubt> {
    let added = copy.added.iter();
    let added = added.map(|(column, _)| &schema.column(*column).column);
    let wanted = copy.columns.iter().chain(added);
    match sent.iter().map(|name| &name.value).eq(wanted) {
        true => Ok(()),
        false => Err(Doubt("COPY names other columns than its fields".to_owned())),
    }
}
