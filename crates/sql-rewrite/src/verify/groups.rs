//! Columns that are sealed together: the server has all their values in the first of them.
//!
//! What is stored there was sealed for all members, the others get NULL, and nobody reads them. The
//! server does nothing with the value of a group but return and store it: whether a member is NULL
//! in it, only the proxy knows.

use super::Doubt;
use super::label::{Label, Labels};
use crate::{ColumnId, Dialect, Form, Hole, Purpose, Schema, Source};

/// What stands for a column where domains are compared: a member is read from the holder.
pub(super) fn domain(column: ColumnId, schema: &Schema) -> Option<&str> {
    let holder = schema.holder_of(column)?;
    Some(&schema.column(holder).domain)
}

/// A hole for a member is one for the whole group, and to be stored.
pub(super) fn check_hole(hole: &Hole, is_computed: bool, schema: &Schema) -> Result<(), Doubt> {
    let (Form::Sealed(column, _) | Form::SealedArray(column, _)) = hole.form else {
        return match hole.source {
            Source::Members(_) => Err(Doubt("a group goes in clear".to_owned())),
            _ => Ok(()),
        };
    };
    let Some(group) = schema.group_of(column) else {
        return match hole.source {
            Source::Members(_) => Err(Doubt("a group is sealed for a column".to_owned())),
            _ => Ok(()),
        };
    };
    let has_all = match &hole.source {
        Source::Members(members) => members.len() == group.members.len(),
        Source::Computed(_) => is_computed,
        _ => false,
    };
    let is_stored = hole.form == Form::Sealed(column, Purpose::Store)
        || (is_computed && hole.form == Form::SealedArray(column, Purpose::Store));
    // A value that the server itself gave for the row is compared with what the row has.
    let is_given = matches!(schema.dialect, Dialect::MySql(_))
        && matches!(hole.source, Source::Locator(_))
        && hole.form == Form::Sealed(column, Purpose::Match);
    match (is_given || (has_all && is_stored)) && group.holder() == Some(column) {
        true => Ok(()),
        false => Err(Doubt(format!(
            "{} is sealed without the other columns of its group",
            schema.title(column)
        ))),
    }
}

/// Where the value of a group is written, the column of its last member gets the empty value: it
/// says with which members the row was written.
pub(super) fn check_last(
    written: &[(&Label, &Label)],
    is_assigned: bool,
    labels: &Labels,
) -> Result<(), Doubt> {
    for (given, target) in written {
        let Some(sealed) = target.sealed.filter(|_| !labels.is_elsewhere(target)) else {
            continue;
        };
        let group = labels.schema.group_of(sealed.column);
        let Some(last) = group.and_then(crate::ColumnGroup::last) else {
            continue;
        };
        let is_last = |(given, target): &(&Label, &Label)| {
            given.is_empty && target.sealed.is_some_and(|own| own.column == last)
        };
        let is_left_out = !is_assigned && given.is_null();
        if !is_left_out && !written.iter().any(is_last) {
            return Err(Doubt(format!(
                "{} is written without the empty value of its group",
                labels.title(sealed)
            )));
        }
    }
    Ok(())
}

/// The server does nothing with the value of a group.
pub(super) fn check_unused(label: &Label, labels: &Labels) -> Result<(), Doubt> {
    match label.sealed {
        Some(sealed) if labels.schema.is_member(sealed.column) => Err(Doubt(format!(
            "the server would look at {}, which is sealed with others",
            labels.title(sealed)
        ))),
        _ => Ok(()),
    }
}

/// A column by its name: one whose values are elsewhere is not read.
pub(super) fn check_read(label: &Label, labels: &Labels) -> Result<(), Doubt> {
    match label.sealed {
        Some(sealed) if labels.is_elsewhere(label) => Err(Doubt(format!(
            "{} is read where it is always NULL",
            labels.title(sealed)
        ))),
        _ => Ok(()),
    }
}

/// Whether what is computed for columns is all that is sealed with them.
pub(super) fn check_computed(columns: &[ColumnId], schema: &Schema) -> Result<(), Doubt> {
    let is_whole = |column: &ColumnId| {
        let members = schema.group_of(*column).map(|group| &group.members);
        members.is_none_or(|members| {
            !members.is_empty() && members.iter().all(|own| columns.contains(own))
        })
    };
    match columns.iter().all(is_whole) {
        true => Ok(()),
        false => Err(Doubt(
            "some columns are computed, and not all that are sealed with them".to_owned(),
        )),
    }
}
