//! The guard of a table: a check with which the server itself refuses plaintext.

use sqlparser::ast::{
    AlterTable, AlterTableOperation, ForeignKeyConstraint, ReferentialAction, TableConstraint,
};

use super::columns;
use crate::dialect::mysql::schema::{groups, guard_name};
use crate::dialect::mysql::{MySql, names};
use crate::{ColumnId, ProtectedColumn, Refusal, Schema};
use sql_plan::{refuse, unsupported};

/// Columns that the server itself writes when the row changes to which a foreign key refers. No
/// check may name them. They hold values of the column to which they refer, which has a guard.
pub(super) fn written_by_keys<'c>(
    constraints: impl Iterator<Item = &'c TableConstraint>,
) -> Vec<String> {
    let keys = constraints.filter_map(|constraint| match constraint {
        TableConstraint::ForeignKey(key) if is_written(key) => Some(key),
        _ => None,
    });
    let columns = keys.flat_map(|key| key.columns.iter().map(names::fold));
    columns.collect()
}

fn is_written(key: &ForeignKeyConstraint) -> bool {
    use ReferentialAction::{Cascade, SetDefault, SetNull};
    matches!(key.on_update, Some(Cascade | SetNull | SetDefault))
        || matches!(key.on_delete, Some(SetNull | SetDefault))
}

/// What a guard checks. None: it could tell no sealed value from another. `members` gives those of
/// the group of a column, in the order of the table.
pub(super) fn condition<'r, 'm>(
    rules: impl Iterator<Item = &'r ProtectedColumn>,
    members: impl Fn(&ProtectedColumn) -> &'m [ColumnId],
    schema: &Schema,
) -> Option<String> {
    let held = rules.filter_map(|rule| match members(rule) {
        [] => held(rule),
        [holder, ..] if *holder == rule.id => Some(held_together(rule, members(rule), schema)),
        // Their type has no room for a value.
        _ => None,
    });
    let held: Vec<String> = held.collect();
    (!held.is_empty()).then(|| held.join(" AND "))
}

/// What stands behind an `ALTER TABLE`, so that the guard of the table has the columns that come,
/// and leaves out those that go or that new keys write.
pub(super) fn behind(
    alter: &AlterTable,
    (database, table): (&str, &str),
    schema: &Schema,
    own: MySql,
) -> Result<String, Refusal> {
    let keys = alter.operations.iter();
    let keys = keys.filter_map(|operation| match operation {
        AlterTableOperation::AddConstraint { constraint, .. } => Some(constraint),
        _ => None,
    });
    let (added, dropped) = columns::changed(alter);
    let written = written_by_keys(keys);
    let goes = |column: &String| written.contains(column) || dropped.contains(column);
    let mut guards = schema.guards.iter();
    let guard = guards.find(|guard| guard.schema == database && guard.table == table);
    let has = |column: &String| guard.is_some_and(|guard| guard.columns.contains(column));
    let may_add = own.enforces_checks() && !schema.leaves_guards_out;
    let rules = schema.protected.iter();
    let rules = rules.filter(|rule| rule.schema == database && rule.table == table);
    let comes = |column: &String| added.contains(column) && may_add;
    let is_other = rules
        .clone()
        .any(|rule| comes(&rule.column) || (has(&rule.column) && goes(&rule.column)));
    if !is_other {
        return Ok(String::new());
    }
    let name = guard_name_of(table)?;
    let kept =
        rules.filter(|rule| (comes(&rule.column) || has(&rule.column)) && !goes(&rule.column));
    let mut text = String::new();
    if let Some(guard) = guard {
        let word = if own.is_mariadb {
            "CONSTRAINT"
        } else {
            "CHECK"
        };
        text += &format!(", DROP {word} {}", names::quote(&guard.name));
    }
    let members = |rule: &ProtectedColumn| {
        let group = schema.group_of(rule.id);
        group.map_or(&[][..], |group| group.members.as_slice())
    };
    if let Some(condition) = condition(kept, members, schema) {
        text += &format!(", ADD CONSTRAINT `{name}` CHECK ({condition})");
    }
    Ok(text)
}

/// The name of a table's guard.
///
/// # Errors
/// It is too long for the server.
fn guard_name_of(table: &str) -> Result<String, Refusal> {
    let name = guard_name(table);
    match name.len() <= 64 {
        true => Ok(name),
        false => Err(
            refuse("the name of the table is too long for that of its guard")
                .with_hint("Shorten it to 53 letters, or set guard = false below [proxy]."),
        ),
    }
}

/// Adds the check with which the server itself refuses plaintext, as the last of the table's parts.
pub(super) fn with_guard(text: String, table: &str, condition: &str) -> Result<String, Refusal> {
    let name = guard_name_of(table)?;
    // The printer writes the parts in one pair of parentheses, the options behind them.
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(own), letter) if letter == own => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return Ok(format!(
                        "{}, CONSTRAINT `{name}` CHECK ({condition}){}",
                        &text[..at],
                        &text[at..]
                    ));
                }
            }
            _ => {}
        }
    }
    Err(unsupported("CREATE TABLE of this form"))
}

/// The condition that a column holds sealed values alone (docs/column-format.md): the first byte
/// names the mode and the version of the keys. None: nothing tells such values from others.
fn held(rule: &ProtectedColumn) -> Option<String> {
    let layout = rule.layout();
    if layout.is_number() {
        return None;
    }
    let (start, size) = (layout.mode.header(), layout.size_min());
    let name = names::quote(&rule.column);
    Some(format!(
        "({name} IS NULL OR (LENGTH({name}) >= {size} AND LEFT({name}, 1) = X'{start:02X}'))"
    ))
}

/// The condition that the holder of a group has values that were sealed for all its members.
fn held_together(rule: &ProtectedColumn, members: &[ColumnId], schema: &Schema) -> String {
    let layout = groups::layout(members, schema);
    let ([mode, count], size) = (layout.start, layout.size_min);
    let name = names::quote(&rule.column);
    let start = format!("X'{mode:02X}{count:02X}'");
    format!("({name} IS NULL OR (LENGTH({name}) >= {size} AND LEFT({name}, 2) = {start}))")
}
