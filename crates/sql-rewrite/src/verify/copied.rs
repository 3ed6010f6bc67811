//! `COPY`: every field is stored in, or comes from, the column that it is sealed for.

use sqlparser::ast::{CopySource, Ident, Statement};

use super::label::{Label, Labels};
use super::names::Columns;
use super::{Doubt, Verifier, check_outputs, groups, hidden_by, read};
use crate::{ColumnId, CopiedGroup, CopiedMember, Copy, Output, OutputKind, Schema};

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
            let columns;
            (columns, added) = of_table(&table, copy, &labels)?;
            columns
        }
    };
    let last = copy.groups.iter().filter(|group| group.last.is_some());
    if added.len() != copy.added.len() + copy.groups.len() + last.count()
        || !(copy.into_server || added.is_empty())
    {
        return Err(Doubt("COPY adds a field to what it reads".to_owned()));
    }
    // The fields that are sent by themselves, and their columns.
    let fields = copy.fields.iter().enumerate();
    let fields = fields.filter(|(place, _)| !is_member(copy, *place));
    let fields: Vec<OutputKind> = fields.map(|(_, kind)| *kind).collect();
    let mut columns = columns;
    let mut places = 0..;
    columns
        .known
        .retain(|_| places.next().is_none_or(|place| !is_member(copy, place)));
    let outputs = fields.iter().map(|kind| Output::shown(*kind));
    check_outputs(&outputs.collect::<Vec<_>>(), &columns, &labels)?;
    if copy.into_server {
        for (kind, (_, label)) in fields.iter().zip(&columns.known) {
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

/// The columns of the fields, and what is stored beside them, with the label of its column.
fn of_table(
    table: &Columns,
    copy: &Copy,
    labels: &Labels,
) -> Result<(Columns, Vec<(Label, Label)>), Doubt> {
    let schema = labels.schema;
    let named = |name: &String| {
        let mut known = table.known.iter();
        known
            .find(|(own, _)| own.as_ref() == Some(name))
            .cloned()
            .ok_or_else(|| Doubt(format!("column {name:?} is not known")))
    };
    let mut added = Vec::new();
    for (column, _) in &copy.added {
        let (_, label) = named(&schema.column(*column).column)?;
        added.push((Label::sealed(*column), label));
    }
    for group in &copy.groups {
        let (_, label) = named(&schema.column(group.holder).column)?;
        added.push((check_group(group, copy, schema)?, label));
    }
    for last in copy.groups.iter().filter_map(|group| group.last) {
        let (_, label) = named(&schema.column(last).column)?;
        added.push((Label::null(), label));
    }
    let known: Vec<_> = copy.columns.iter().map(named).collect::<Result<_, _>>()?;
    for (place, (_, label)) in known.iter().enumerate() {
        if !is_member(copy, place) {
            groups::check_unused(label, labels)?;
        }
    }
    let columns = Columns {
        known,
        others: None,
    };
    Ok((columns, added))
}

/// Whether a field is sealed with others, and not sent by itself.
fn is_member(copy: &Copy, place: usize) -> bool {
    let mut members = copy.groups.iter().flat_map(|group| &group.members);
    members.any(|own| *own == CopiedMember::Field(place))
}

/// What is stored in the column that holds a group: a value for each member, of its own field.
fn check_group(group: &CopiedGroup, copy: &Copy, schema: &Schema) -> Result<Label, Doubt> {
    let known = schema.group_of(group.holder);
    let members = known.map(|own| own.members.as_slice()).unwrap_or_default();
    let is_own = |(own, id): (&CopiedMember, &ColumnId)| match own {
        CopiedMember::Field(place) => copy.fields.get(*place) == Some(&OutputKind::Sealed(*id)),
        CopiedMember::Default(_) => true,
    };
    let is_whole = members.len() == group.members.len()
        && copy.into_server
        && group.last == known.and_then(crate::ColumnGroup::last);
    match is_whole && group.members.iter().zip(members).all(is_own) {
        true => Ok(Label::sealed(group.holder)),
        false => Err(Doubt(
            "COPY seals other fields together than those of a group".to_owned(),
        )),
    }
}

/// The statement names the columns of its fields, in their order, but for those that are sealed
/// together.
fn check_names(sent: &[Ident], copy: &Copy, schema: &Schema) -> Result<(), Doubt> {
    let added = copy.added.iter().map(|(column, _)| column);
    let added = added.chain(copy.groups.iter().map(|group| &group.holder));
    let last = copy.groups.iter().filter_map(|group| group.last.as_ref());
    let added = added.chain(last);
    let added = added.map(|column| &schema.column(*column).column);
    let own = copy.columns.iter().enumerate();
    let own = own.filter(|(place, _)| !is_member(copy, *place));
    let wanted = own.map(|(_, name)| name).chain(added);
    match sent.iter().map(|name| &name.value).eq(wanted) {
        true => Ok(()),
        false => Err(Doubt("COPY names other columns than its fields".to_owned())),
    }
}
