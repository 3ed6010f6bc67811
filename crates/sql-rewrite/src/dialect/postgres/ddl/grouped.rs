//! Columns whose values are sealed together, in `CREATE TABLE` and `ALTER TABLE`.

use sqlparser::ast::{
    Action, AlterColumnOperation, AlterTableOperation, ColumnDef, ColumnOption, ColumnOptionDef,
    Grant, GrantObjects, Privileges,
};

use super::{refusal, subject_of};
use crate::analysis::grouped::GRANT_ON_TABLE;
use crate::dialect::postgres::names::{folded, split};
use crate::{ProtectedColumn, Refusal, Schema, Table};

/// Moves NOT NULL to the column that has the values of the group: there the server sees to it.
pub(super) fn put_not_null(
    definition: &mut ColumnDef,
    rule: &ProtectedColumn,
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    if rule.form.group.is_none() {
        return Ok(());
    }
    let is_not_null =
        |own: &ColumnOptionDef| matches!(own.option, ColumnOption::NotNull | ColumnOption::Null);
    let says = |own: &ColumnOptionDef| matches!(own.option, ColumnOption::NotNull);
    if definition.options.iter().any(says) != rule.not_null {
        let (own, other) = match rule.not_null {
            true => ("not_null = true", "does not say NOT NULL"),
            false => ("nothing of not_null", "says NOT NULL"),
        };
        return Err(refusal(
            &subject_of(table, &rule.column),
            &format!(
                "it is sealed with others, and its rule says {own}, while the statement {other}"
            ),
            "Write not_null = true into the rule of a column that is NOT NULL, and into no other.",
        ));
    }
    definition.options.retain(|own| !is_not_null(own));
    let is_holder = schema.holder_in(table, rule.id) == Some(rule.id);
    if is_holder && schema.holds_a_value(rule.form.group) {
        definition.options.push(ColumnOptionDef {
            name: None,
            option: ColumnOption::NotNull,
        });
    }
    Ok(())
}

/// Refuses to grant privileges on single columns where the holder's would stand for all members.
pub(super) fn check_grant(grant: &Grant, schema: &Schema) -> Result<(), Refusal> {
    let names_columns = |action: &Action| {
        use Action as A;
        matches!(
            action,
            A::Select { columns: Some(_) }
                | A::Insert { columns: Some(_) }
                | A::Update { columns: Some(_) }
                | A::References { columns: Some(_) }
        )
    };
    let Privileges::Actions(actions) = &grant.privileges else {
        return Ok(());
    };
    let Some(GrantObjects::Tables(tables)) = &grant.objects else {
        return Ok(());
    };
    if !actions.iter().any(names_columns) {
        return Ok(());
    }
    for name in tables {
        let found = split(name).and_then(|(own, table)| schema.find(own.as_deref(), &table));
        if let Some(table) = found.filter(|table| schema.has_groups(table)) {
            return Err(refusal(
                &format!("GRANT on columns of {}.{}", table.schema, table.name),
                "some of its columns are sealed together, and a privilege on one would be one on \
                 all of them",
                GRANT_ON_TABLE,
            ));
        }
    }
    Ok(())
}

/// Refuses what an `ALTER TABLE` would do to the values of others.
pub(super) fn check(
    operation: &AlterTableOperation,
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    use AlterTableOperation as Operation;
    let member = |name: &str| {
        let at = table.position(name)?;
        let id = table.columns[at].protected?;
        schema.is_member(id).then(|| schema.column(id))
    };
    match operation {
        Operation::AddColumn { column_def, .. } => match member(&folded(&column_def.name)) {
            Some(rule) => check_added(rule, table, schema),
            None => Ok(()),
        },
        Operation::DropColumn { column_names, .. } => {
            let mut names = column_names.iter().map(folded);
            match names.find(|name| member(name).is_some()) {
                None => Ok(()),
                Some(name) => Err(refusal(
                    &subject_of(table, &name),
                    "it is sealed with others, whose values would not open without it",
                    "Create a table without the column, and copy the rows through the proxy.",
                )),
            }
        }
        Operation::AlterColumn {
            column_name,
            op: AlterColumnOperation::SetNotNull | AlterColumnOperation::DropNotNull,
        } if member(&folded(column_name)).is_some() => Err(refusal(
            &subject_of(table, &folded(column_name)),
            "it is sealed with others, so that the server cannot tell which of them are NULL",
            "Create a table with the rule as it is to be, and copy the rows through the proxy.",
        )),
        _ => Ok(()),
    }
}

/// A column that comes behind the others: it is NULL in the values that are there.
fn check_added(rule: &ProtectedColumn, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    let problem = if schema.holder_of(rule.id).is_none() {
        "it is sealed with others, and the table has none of them"
    } else if rule.not_null {
        "it is sealed with others and is not to be NULL, as it is in the rows that are there"
    } else if schema.leaves_guards_out {
        return Err(refusal(
            &subject_of(table, &rule.column),
            "it is sealed with others, and without a guard the server would let proxies with \
             older rules take its values away",
            "Leave out `guard = false`, or create a table with all of them and copy the rows.",
        ));
    } else {
        return Ok(());
    };
    Err(refusal(
        &subject_of(table, &rule.column),
        problem,
        "Create a table with all of them, and copy the rows through the proxy.",
    ))
}
