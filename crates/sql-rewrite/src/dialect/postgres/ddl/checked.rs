//! Check constraints that a rule names too: what stands for them in the server is written in their
//! place. See [`crate::dialect::postgres::table_checks`].

use std::ops::ControlFlow;

use sqlparser::ast::{
    AlterTable, AlterTableOperation, CheckConstraint, ColumnDef, ColumnOption, CreateTable, Expr,
    Ident, TableConstraint,
};

use super::{refusal, subject_of, unknown};
use crate::dialect::postgres::names::{folded, quoted};
use crate::dialect::postgres::{parse, table_checks};
use crate::schema::ColumnCheck;
use crate::walk;
use crate::{ProtectedColumn, Refusal, Schema, Table};

/// Takes the checks over protected columns out of a `CREATE TABLE`.
pub(super) fn take_of_new(
    create: &mut CreateTable,
    table: &Table,
    schema: &Schema,
) -> Result<Vec<TableConstraint>, Refusal> {
    let mut taken = Vec::new();
    for definition in &mut create.columns {
        taken.extend(take_of_column(definition, table, schema)?);
    }
    let mut kept = Vec::new();
    for constraint in std::mem::take(&mut create.constraints) {
        match stand_in(&constraint, table, schema)? {
            Some(own) => taken.push(own),
            None => kept.push(constraint),
        }
    }
    create.constraints = kept;
    Ok(taken)
}

/// The same of an `ALTER TABLE`: operations of their own add them. The second value says whether
/// rows that are there would have to be checked.
pub(super) fn take_of_changed(
    alter: &mut AlterTable,
    table: &Table,
    schema: &Schema,
) -> Result<(Vec<AlterTableOperation>, bool), Refusal> {
    let mut looks_at_rows = false;
    let mut operations = Vec::new();
    let mut added = Vec::new();
    for mut operation in std::mem::take(&mut alter.operations) {
        match &mut operation {
            AlterTableOperation::AddConstraint {
                constraint,
                not_valid,
            } => {
                if let Some(own) = stand_in(constraint, table, schema)? {
                    looks_at_rows = true;
                    added.push((own, *not_valid));
                    continue;
                }
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                let own = take_of_column(column_def, table, schema)?;
                added.extend(own.into_iter().map(|constraint| (constraint, false)));
            }
            _ => {}
        }
        operations.push(operation);
    }
    alter.operations = operations;
    let added =
        added.into_iter().map(
            |(constraint, not_valid)| AlterTableOperation::AddConstraint {
                constraint,
                not_valid,
            },
        );
    Ok((added.collect(), looks_at_rows))
}

/// Takes the checks out of the definition of a column.
fn take_of_column(
    definition: &mut ColumnDef,
    table: &Table,
    schema: &Schema,
) -> Result<Vec<TableConstraint>, Refusal> {
    let mut taken = Vec::new();
    let mut kept = Vec::new();
    for option in std::mem::take(&mut definition.options) {
        let own = match &option.option {
            ColumnOption::Check(check) => {
                let mut check = check.clone();
                check.name = check.name.or_else(|| option.name.clone());
                stand_in(&TableConstraint::Check(check), table, schema)?
            }
            _ => None,
        };
        match own {
            Some(own) => taken.push(own),
            None => kept.push(option),
        }
    }
    definition.options = kept;
    Ok(taken)
}

/// What stands for a constraint in the server. None: it is no check of a rule.
fn stand_in(
    constraint: &TableConstraint,
    table: &Table,
    schema: &Schema,
) -> Result<Option<TableConstraint>, Refusal> {
    let TableConstraint::Check(check) = constraint else {
        return Ok(None);
    };
    let Some((column, rule)) = meant(check, table, schema)? else {
        return Ok(None);
    };
    if check.no_inherit || check.enforced == Some(false) {
        return Err(refusal(
            &subject_of(table, &column.column),
            "a check of a rule is one of partitions and children too, and is enforced",
            "Leave NO INHERIT and NOT ENFORCED out.",
        ));
    }
    let text = table_checks::condition(rule, &column.column);
    let condition = parse::expression(&text);
    let Some(condition) = condition.filter(|own| own.to_string() == text) else {
        return Err(unknown("a check over a column of such a name"));
    };
    Ok(Some(TableConstraint::Check(CheckConstraint {
        name: Some(quoted(&rule.name)),
        expr: Box::new(condition),
        no_inherit: false,
        enforced: None,
    })))
}

/// The check of a rule that DDL means. None: it reads no protected column.
fn meant<'s>(
    check: &CheckConstraint,
    table: &Table,
    schema: &'s Schema,
) -> Result<Option<(&'s ProtectedColumn, &'s ColumnCheck)>, Refusal> {
    let columns = read_columns(&check.expr, table);
    let protected = |name: &String| {
        let id = table.columns[table.position(name)?].protected?;
        Some(schema.column(id))
    };
    let own: Vec<&ProtectedColumn> = columns.iter().filter_map(protected).collect();
    let name = check.name.as_ref().map(folded);
    let is_named = |rule: &ColumnCheck| name.as_ref().is_none_or(|name| *name == rule.name);
    for column in &own {
        for rule in column.checks.own.iter().filter(|rule| is_named(rule)) {
            let is_same = parse::expression(&rule.expression)
                .is_some_and(|ruled| table_checks::is_same(&ruled, &check.expr, column))
                || table_checks::is_printed(rule, column, &check.expr);
            if is_same {
                check_shadows(rule, schema)?;
                return Ok(Some((column, rule)));
            }
        }
    }
    match (own.as_slice(), columns.len()) {
        ([], _) => Ok(None),
        ([column], 1) => Err(unruled(check, column, table, schema)),
        _ => Err(refusal(
            &format!("protected table {}.{}", table.schema, table.name),
            "a check over a protected column and others would compute on ciphertext",
            "Write one check for each protected column, or check the values in the application.",
        )),
    }
}

/// Refuses a check that the server may take for another: it calls what users have made.
fn check_shadows(rule: &ColumnCheck, schema: &Schema) -> Result<(), Refusal> {
    match parse::expression(&rule.expression) {
        Some(own) => crate::dialect::postgres::finisher::check_expression(&own, schema),
        None => Ok(()),
    }
}

/// The refusal of a check that no rule names.
fn unruled(
    check: &CheckConstraint,
    column: &ProtectedColumn,
    table: &Table,
    schema: &Schema,
) -> Refusal {
    let subject = subject_of(table, &column.column);
    let automatic = || format!("{}_{}_check", table.name, column.column);
    let name = check.name.as_ref().map_or_else(automatic, folded);
    let text = check.expr.to_string();
    if let Some(rule) = column.checks.own.iter().find(|rule| rule.name == name) {
        return refusal(
            &subject,
            &format!(
                "the check {name} of its rule is `{}`, and it is not clear that this is the same",
                rule.expression
            ),
            "Write the same expression in both places.",
        );
    }
    match table_checks::read((&column.column, column.logical), &name, &text) {
        Err(wrong) => refusal(
            &subject,
            &format!("the check {name} cannot be evaluated for the server: {wrong}"),
            "Leave the check out, and check the values in the application.",
        ),
        Ok(_) => refusal(
            &subject,
            &format!(
                "its rule does not have the check {name}, which the proxy would have to evaluate"
            ),
            &format!(
                "Write it into the rule: `checks = {{ {} = {} }}`{}.",
                toml_key(&name),
                toml_string(&text),
                match schema.has_finisher() {
                    true => "",
                    false => ", and set [finish] engine = \"postgres\"",
                }
            ),
        ),
    }
}

fn toml_key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match !name.is_empty() && name.bytes().all(is_bare) {
        true => name.to_owned(),
        false => toml_string(name),
    }
}

fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The columns of a table that an expression reads.
fn read_columns(expression: &Expr, table: &Table) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    let _: ControlFlow<()> = walk::expressions(expression, |part| {
        let name: Option<&Ident> = match part {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        if let Some(name) = name.map(folded)
            && table.position(&name).is_some()
            && !columns.contains(&name)
        {
            columns.push(name);
        }
        ControlFlow::Continue(())
    });
    columns
}

/// Notes which checks of rules a table has that a statement makes.
pub(super) fn note_made(create: &CreateTable, table: &Table, schema: &mut Schema) {
    let taken = take_of_new(&mut create.clone(), table, schema).unwrap_or_default();
    let names: Vec<String> = taken
        .iter()
        .filter_map(|own| match own {
            TableConstraint::Check(check) => check.name.as_ref().map(folded),
            _ => None,
        })
        .collect();
    schema.note_checks((&table.schema, &table.name), |_, check| {
        names.contains(&check.name)
    });
}

/// Whether a constraint may be a check of a rule.
pub(super) fn may_be(constraint: &TableConstraint) -> bool {
    matches!(constraint, TableConstraint::Check(_))
}

/// Refuses to rename a check of a rule: the rule, and the marks of values, have its name.
pub(super) fn refuse_renaming(name: &Ident, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    let name = folded(name);
    let ids = table.columns.iter().filter_map(|column| column.protected);
    let mut columns = ids.map(|id| schema.column(id));
    let own = columns.find(|column| column.checks.own.iter().any(|check| check.name == name));
    match own {
        None => Ok(()),
        Some(column) => Err(refusal(
            &subject_of(table, &column.column),
            &format!("the check {name} of its rule would have another name than the rule says"),
            "Drop the constraint, rename it in the rule, and add it while the table is empty.",
        )),
    }
}
