//! Values that are sealed together, on their way into statements.

use column_value::Value as Stored;
use semantics_mysql::{Given, Terms};
use session_core::{Loaded, StatementError, seal_together};
use sql_plan::{ColumnId, Purpose, Source};

use super::super::settings::Settings;
use super::{Bound, Values, given, of_column, of_session, of_text, stored_value, with_given};

/// The sealed value of a group whose members are constants. None: NULL.
///
/// # Errors
/// One is no value of its column, or there is none.
pub(super) fn literals(
    members: &[Source],
    holder: ColumnId,
    loaded: &Loaded,
) -> Result<Option<Vec<u8>>, StatementError> {
    sealed(members, holder, loaded, |source, column| {
        literal(source, column, loaded)
    })
}

/// The same of constants and parameters.
///
/// # Errors
/// One is no value of its column, or of a type that is not understood there.
pub(in super::super) fn members(
    members: &[Source],
    holder: ColumnId,
    values: &Values<'_>,
    (settings, loaded): (&Settings, &Loaded),
) -> Result<Option<Vec<u8>>, StatementError> {
    sealed(members, holder, loaded, |source, column| {
        value(source, column, values, (settings, loaded))
    })
}

/// The same of values that a server of the same product has written as texts.
///
/// # Errors
/// One is no value that can be sealed, or there is none for a member.
pub(in super::super) fn computed<'t>(
    holder: ColumnId,
    loaded: &Loaded,
    text: impl Fn(ColumnId) -> Result<Option<&'t [u8]>, StatementError>,
) -> Result<Option<Vec<u8>>, StatementError> {
    let group = loaded.schema.group_of(holder);
    let columns = group.map(|own| own.members.as_slice()).unwrap_or_default();
    let values = columns.iter().map(|column| {
        let given = text(*column)?.map(|text| of_text(loaded, *column, text));
        let value = given.transpose()?.map(|given| {
            stored(
                loaded,
                *column,
                given,
                loaded.schema.terms_of_judged(*column),
            )
        });
        value.transpose()
    });
    let values: Vec<Option<Stored>> = values.collect::<Result<_, _>>()?;
    together(&values, holder, loaded)
}

fn stored(
    loaded: &Loaded,
    column: ColumnId,
    given: Given<'_>,
    terms: Terms,
) -> Result<Stored, StatementError> {
    let own = loaded.schema.column(column);
    stored_value(own, given, terms).map_err(|error| of_column(own, error))
}

/// The value that a column stores of what the session gives.
fn of_client(
    loaded: &Loaded,
    column: ColumnId,
    given: Given<'_>,
) -> Result<Stored, StatementError> {
    let terms = loaded.schema.terms(column);
    of_session(loaded, column, given, |given| {
        stored(loaded, column, given, terms)
    })
}

/// The value that a column stores of a constant or parameter. None: NULL.
///
/// # Errors
/// It is no value of the column, or of a type that is not understood there.
pub(in super::super) fn value(
    source: &Source,
    column: ColumnId,
    values: &Values<'_>,
    (settings, loaded): (&Settings, &Loaded),
) -> Result<Option<Stored>, StatementError> {
    let Source::Parameter(number) = source else {
        return literal(source, column, loaded);
    };
    let bound = Bound::find(values, *number)?;
    let target = (column, Purpose::Store);
    with_given(&bound, target, settings, loaded, |given| {
        of_client(loaded, column, given)
    })
}

fn literal(
    source: &Source,
    column: ColumnId,
    loaded: &Loaded,
) -> Result<Option<Stored>, StatementError> {
    let value = given(source)?.map(|given| of_client(loaded, column, given));
    value.transpose()
}

fn sealed(
    members: &[Source],
    holder: ColumnId,
    loaded: &Loaded,
    value: impl Fn(&Source, ColumnId) -> Result<Option<Stored>, StatementError>,
) -> Result<Option<Vec<u8>>, StatementError> {
    let group = loaded.schema.group_of(holder);
    let columns = group.map(|own| own.members.as_slice()).unwrap_or_default();
    if columns.len() != members.len() {
        return Err(StatementError::other_plan());
    }
    let values = members.iter().zip(columns);
    let values: Vec<Option<Stored>> = values
        .map(|(source, column)| value(source, *column))
        .collect::<Result<_, _>>()?;
    together(&values, holder, loaded)
}

/// Seals the values of the members of a group, in their order. None: NULL, which the server refuses
/// in the place of a member that is NOT NULL.
///
/// # Errors
/// One is no value of its column.
pub(in super::super) fn together(
    values: &[Option<Stored>],
    holder: ColumnId,
    loaded: &Loaded,
) -> Result<Option<Vec<u8>>, StatementError> {
    let mut out = Vec::new();
    let has_value = seal_together(loaded, holder, values, &mut out)?;
    Ok(has_value.then_some(out))
}
