//! Columns of tables that are there: `ALTER TABLE … ADD`, `DROP`, `MODIFY`, `CHANGE` and the like.
//!
//! A column with a rule comes sealed, or goes. It keeps its name, which is part of what its values
//! are authenticated with, and its type. The server fills a column that comes in the rows that are
//! there: a sealed one with NULL, or with the default of its rule, sealed. It is the same value in
//! all rows, so only a mode in which equal values are alike has that. The server keeps no default
//! ([`behind`]).

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, ColumnOption,
    ColumnOptionDef, Ident,
};

use super::{check_name, check_option, defaults, names, seal};
use crate::analysis::template;
use crate::{
    Effects, Form, Hole, Literal, Mode, ProtectedColumn, Purpose, Refusal, Schema, Source,
    Translated,
};
use sql_plan::{refuse, unsupported};

/// Has one operation of an `ALTER TABLE` make sealed columns. Gives whether it is another one then.
/// `holes` gets the defaults that are to be sealed.
///
/// # Errors
/// It is not understood, or would change a column with a rule.
pub(super) fn take(
    operation: &mut AlterTableOperation,
    rules: &[&ProtectedColumn],
    schema: &Schema,
    holes: &mut Vec<Hole>,
) -> Result<bool, Refusal> {
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => {
            return add(column_def, rules, schema, holes);
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
    holes: &mut Vec<Hole>,
) -> Result<bool, Refusal> {
    check_name(&column.name)?;
    let Some(rule) = rule_of(&column.name, rules) else {
        check_options(column.options.iter().map(|own| &own.option), rules)?;
        return Ok(false);
    };
    check_alone(rule)?;
    let default = given_default(column, rule, schema)?;
    let is_filled = |option: &ColumnOption| match option {
        ColumnOption::NotNull => default.is_none(),
        ColumnOption::PrimaryKey(_) => true,
        _ => false,
    };
    if column.options.iter().any(|own| is_filled(&own.option)) {
        return Err(refuse(format!(
            "{}.{} would be NOT NULL, and the server fills rows that are there with a value in \
             clear",
            rule.table, rule.column
        ))
        .with_hint("Add it without NOT NULL, or with the default of its rule."));
    }
    seal(column, rule, schema)?;
    if let Some(default) = default {
        column.options.push(ColumnOptionDef {
            name: None,
            option: ColumnOption::Default(template::marker(holes.len())),
        });
        holes.push(Hole {
            source: Source::Literal(default),
            form: Form::Sealed(rule.id, Purpose::Store),
        });
    }
    Ok(true)
}

/// The default that rows get which are there. None: NULL.
fn given_default(
    column: &ColumnDef,
    rule: &ProtectedColumn,
    schema: &Schema,
) -> Result<Option<Literal>, Refusal> {
    if !defaults::has_any(column) {
        return Ok(None);
    }
    let title = format!("{}.{}", rule.table, rule.column);
    if rule.mode == Mode::Random {
        return Err(refuse(format!(
            "{title} would have a default: the rows that are there would have one sealed value, \
             which would tell from others those that have kept it"
        ))
        .with_hint(
            "Add it without DEFAULT, and set the values by an UPDATE for each row. New rows get \
             the default of its rule.",
        ));
    }
    defaults::check(column, rule, schema)?;
    match &rule.default {
        Some(Literal::TransactionTime) => Err(refuse(format!(
            "{title} would have a time as its default, in rows that are there, too"
        ))
        .with_hint("Add it without DEFAULT, and set the values by UPDATE.")),
        default => Ok(default.clone()),
    }
}

/// What the server is told once it has carried out a statement that gives columns sealed defaults:
/// that they have none for rows to come, which get theirs from the proxy. None: it is another
/// statement.
pub fn behind(translated: &Translated, effects: &Effects, schema: &Schema) -> Option<String> {
    let mut parts = Vec::new();
    let mut table = None;
    for hole in translated.holes.iter().filter(|_| effects.changes_schema) {
        let Form::Sealed(id, Purpose::Store) = hole.form else {
            return None;
        };
        let own = schema.column(id);
        table = Some((names::quote(&own.schema), names::quote(&own.table)));
        parts.push(format!(
            "ALTER COLUMN {} DROP DEFAULT",
            names::quote(&own.column)
        ));
    }
    let (database, table) = table?;
    Some(format!(
        "ALTER TABLE {database}.{table} {}",
        parts.join(", ")
    ))
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
