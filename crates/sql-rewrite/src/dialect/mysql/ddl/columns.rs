//! Columns of tables that are there: `ALTER TABLE … ADD`, `DROP`, `MODIFY`, `CHANGE` and the like.
//!
//! A column with a rule comes sealed, or goes. It keeps its name, which is part of what its values
//! are authenticated with, and its type. The server fills a column that comes in the rows that are
//! there; in one that is sealed it may only fill in NULL.

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, ColumnOption, Ident,
};

use super::{check_name, check_option, defaults, names, seal};
use crate::{ProtectedColumn, Refusal, Schema};
use sql_plan::{refuse, unsupported};

/// Has one operation of an `ALTER TABLE` make sealed columns. Gives whether it is another one then.
///
/// # Errors
/// It is not understood, or would change a column with a rule.
pub(super) fn take(
    operation: &mut AlterTableOperation,
    rules: &[&ProtectedColumn],
    schema: &Schema,
) -> Result<bool, Refusal> {
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => {
            return add(column_def, rules, schema);
        }
        AlterTableOperation::DropColumn {
            column_names,
            drop_behavior: None,
            ..
        } => {
            let mut dropped = column_names.iter().filter_map(|name| rule_of(name, rules));
            dropped.try_for_each(check_alone)?;
        }
        AlterTableOperation::ModifyColumn {
            col_name, options, ..
        } => {
            check_plain(col_name, rules)?;
            check_options(options.iter(), rules)?;
        }
        AlterTableOperation::ChangeColumn {
            old_name,
            new_name,
            options,
            ..
        } => {
            check_plain(old_name, rules)?;
            check_plain(new_name, rules)?;
            check_options(options.iter(), rules)?;
        }
        AlterTableOperation::RenameColumn {
            old_column_name,
            new_column_name,
        } => {
            check_plain(old_column_name, rules)?;
            check_plain(new_column_name, rules)?;
        }
        AlterTableOperation::AlterColumn { column_name, op } => {
            check_plain(column_name, rules)?;
            match op {
                AlterColumnOperation::DropDefault => {}
                AlterColumnOperation::SetDefault { value } => {
                    check_option(&ColumnOption::Default(value.clone()), rules)?;
                }
                _ => return Err(other()),
            }
        }
        _ => return Err(other()),
    }
    Ok(false)
}

/// Why what is left of `ALTER TABLE` is refused.
pub(super) fn other() -> Refusal {
    unsupported("this form of ALTER TABLE").with_hint(
        "ADD and DROP of columns, keys and foreign keys are understood, and MODIFY, CHANGE, RENAME \
         and DEFAULT of columns without a rule. Otherwise make a new table, and copy its rows by \
         INSERT … SELECT.",
    )
}

fn add(
    column: &mut ColumnDef,
    rules: &[&ProtectedColumn],
    schema: &Schema,
) -> Result<bool, Refusal> {
    check_name(&column.name)?;
    let Some(rule) = rule_of(&column.name, rules) else {
        check_options(column.options.iter().map(|own| &own.option), rules)?;
        return Ok(false);
    };
    check_alone(rule)?;
    let is_filled = |option: &ColumnOption| {
        matches!(option, ColumnOption::NotNull | ColumnOption::PrimaryKey(_))
    };
    if column.options.iter().any(|own| is_filled(&own.option)) {
        return Err(refuse(format!(
            "{}.{} would be NOT NULL, and the server fills rows that are there with a value in \
             clear",
            rule.table, rule.column
        ))
        .with_hint("Add it without NOT NULL."));
    }
    if defaults::has_any(column) {
        return Err(refuse(format!(
            "{}.{} would have a default, which rows that are there would not get",
            rule.table, rule.column
        ))
        .with_hint(
            "Add it without DEFAULT, and set the values by UPDATE. New rows get the default of \
             its rule.",
        ));
    }
    seal(column, rule, schema)?;
    Ok(true)
}

/// Refuses a column whose values are sealed with those of others: the values that are there say how
/// many these are.
fn check_alone(rule: &ProtectedColumn) -> Result<(), Refusal> {
    match rule.form.group {
        None => Ok(()),
        Some(_) => Err(refuse(format!(
            "{}.{} is sealed with other columns of a group, which keeps its members",
            rule.table, rule.column
        ))
        .with_hint("Make a new table, and copy the rows by INSERT … SELECT.")),
    }
}

fn check_options<'c>(
    mut options: impl Iterator<Item = &'c ColumnOption>,
    rules: &[&ProtectedColumn],
) -> Result<(), Refusal> {
    options.try_for_each(|option| check_option(option, rules))
}

fn rule_of<'r>(name: &Ident, rules: &[&'r ProtectedColumn]) -> Option<&'r ProtectedColumn> {
    let name = names::fold(name);
    rules.iter().find(|rule| rule.column == name).copied()
}

/// Refuses a column with a rule, and a name that no column may have.
fn check_plain(name: &Ident, rules: &[&ProtectedColumn]) -> Result<(), Refusal> {
    check_name(name)?;
    let Some(rule) = rule_of(name, rules) else {
        return Ok(());
    };
    Err(refuse(format!(
        "{}.{} has a rule, which says its type; its values are authenticated with its name",
        rule.table, rule.column
    ))
    .with_hint("Add another column, copy the values by UPDATE, and drop this one."))
}

/// The names of the columns that an `ALTER TABLE` adds, and of those that it drops.
pub(in crate::dialect::mysql) fn changed(alter: &AlterTable) -> (Vec<String>, Vec<String>) {
    let (mut added, mut dropped) = (Vec::new(), Vec::new());
    for operation in &alter.operations {
        match operation {
            AlterTableOperation::AddColumn { column_def, .. } => {
                added.push(names::fold(&column_def.name));
            }
            AlterTableOperation::DropColumn { column_names, .. } => {
                dropped.extend(column_names.iter().map(names::fold));
            }
            _ => {}
        }
    }
    (added, dropped)
}
