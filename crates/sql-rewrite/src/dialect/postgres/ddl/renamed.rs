//! New names of tables and columns. A ciphertext without a domain is bound to its table and column,
//! so it would not open under another name. One with a domain opens under every rule with that
//! domain.

use sqlparser::ast::ObjectName;

use super::{refusal, refuse_named, subject_of};
use crate::dialect::postgres::names::{quoted, split};
use crate::{ProtectedColumn, Refusal, RelationKind, Schema, Table};

/// Whether what is stored under one rule is what another expects.
fn is_alike(one: &ProtectedColumn, other: &ProtectedColumn) -> bool {
    // A domain of a rule has no colon.
    let has_domain = !one.domain.contains(':');
    has_domain
        && one.domain == other.domain
        && (one.logical, one.mode, one.form) == (other.logical, other.mode, other.form)
        && one.draws == other.draws
}

/// Checks the new name of a table, which stays in its schema.
pub(super) fn check_table(table: &Table, new: &ObjectName, schema: &Schema) -> Result<(), Refusal> {
    let (_, name) = split(new).unwrap_or_default();
    let in_its_schema = ObjectName::from(vec![quoted(&table.schema), quoted(&name)]);
    if table.is_protected() && has_the_same_rules(table, &name, schema) {
        return Ok(());
    }
    refuse_named(new, "the new name of a table", schema)?;
    refuse_named(&in_its_schema, "the new name of a table", schema)?;
    match table.is_protected() {
        true => Err(bound(&format!(
            "protected table {}.{}",
            table.schema, table.name
        ))),
        false => Ok(()),
    }
}

/// Whether the rules for another table of this schema, which is not there, are those of the table.
fn has_the_same_rules(table: &Table, name: &str, schema: &Schema) -> bool {
    let key = (table.schema.clone(), name.to_owned());
    let is_free = schema.tables.get(&key).is_none_or(|there| there.oid == 0);
    let rules = schema.protected.iter();
    let mut rules = rules.filter(|rule| rule.schema == table.schema && rule.table == name);
    let has_no_other = rules.all(|rule| table.position(&rule.column).is_some());
    let mut columns = table.columns.iter();
    table.kind == RelationKind::Table
        && !table.opaque
        && is_free
        && has_no_other
        && columns.all(|column| {
            let rule = schema.rule(&table.schema, name, &column.name);
            match (column.protected, rule) {
                (Some(id), Some(rule)) => is_alike(schema.column(id), rule),
                (None, None) => true,
                _ => false,
            }
        })
}

/// Checks the old or the new name of a column: the guard of a table has the names of its protected
/// columns, too.
pub(super) fn check_column(name: &str, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    let place = table.position(name);
    let is_protected = place.is_some_and(|place| table.columns[place].protected.is_some());
    if is_protected || schema.rule(&table.schema, &table.name, name).is_some() {
        return Err(bound(&subject_of(table, name)));
    }
    Ok(())
}

fn bound(subject: &str) -> Refusal {
    refusal(
        subject,
        "its name is bound into its ciphertexts, so that a renamed one could not be read",
        "Create the new one with its rule and copy the rows through the proxy. A table whose \
         protected columns all have domains may get a name for which there are the same rules.",
    )
}
