//! `ALTER TABLE`

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, Ident, RenameTableNameKind, Statement,
};

use super::{
    checked, constraint, create, drawn, find, find_known, grouped, guarded, pass, put_schema,
    refusal, refuse_reading, renamed, reshaping, subject_of, unknown, written,
};
use crate::dialect::postgres::names::{folded, quoted};
use crate::{Piece, Plan, Refusal, Schema, Table, Template, Translated};
use sql_plan::ALTER_BLOCK_START;

pub(super) fn plan(alter: &AlterTable, schema: &Schema) -> Result<Plan, Refusal> {
    let is_known = find(&alter.name, schema).is_some_and(|table| table.oid != 0);
    if !is_known && only_drops_constraints(alter) {
        return Ok(pass());
    }
    let Some(found) = find_known(&alter.name, "altered before it is there", schema)? else {
        return Ok(pass());
    };
    let mut table = found.clone();
    // A column that is added may be used by a constraint that stands before it.
    for operation in &alter.operations {
        if let AlterTableOperation::AddColumn { column_def, .. } = operation {
            let name = (table.schema.as_str(), table.name.as_str());
            let column = create::described_column(column_def, table.columns.len(), name, schema);
            if table.position(&column.name).is_none() {
                table.columns.push(column);
            }
        }
    }
    let mut anew = alter.clone();
    let (checks, looks_at_rows) = checked::take_of_changed(&mut anew, &table, schema)?;
    for own in &mut anew.operations {
        operation(own, &table, schema)?;
    }
    anew.operations.extend(checks);
    anew.operations
        .extend(guarded::of_changed(alter, looks_at_rows, &table, schema)?);
    let plan = if anew == *alter && !table.is_protected() {
        pass()
    } else {
        if table.is_protected() {
            put_schema(&mut anew.name, &found.schema);
            put_schemas(&mut anew.operations, &table, schema);
        }
        match looks_at_rows {
            true => of_empty(anew, &table)?,
            false => written(&Statement::AlterTable(anew))?,
        }
    };
    let mut operations = alter.operations.iter();
    match operations.any(|own| drops_rule(own, &table, schema)) {
        true if alter.only => Err(refusal(
            &format!("protected table {}.{}", table.schema, table.name),
            "its children would keep a column that is dropped from it alone, without its rule",
            "Leave ONLY out.",
        )),
        true => Ok(reshaping(plan, &table)),
        false => Ok(plan),
    }
}

/// The plan of a statement that is good for a table without rows only: nobody has checked those
/// that are there. The server executes it as one block.
fn of_empty(alter: AlterTable, table: &Table) -> Result<Plan, Refusal> {
    let Plan::One(one, effects) = written(&Statement::AlterTable(alter))? else {
        return Ok(pass());
    };
    let own_text = one.template.render(|_, _| {});
    let name = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
    let (mut message, mut hint) = (String::new(), String::new());
    let says = format!(
        "protected table {}.{} has rows, which nobody has checked",
        table.schema, table.name
    );
    crate::Literal::Text(says).write(&mut message);
    crate::Literal::Text(
        "Create a table with the check, and copy the rows into it through the proxy.".to_owned(),
    )
    .write(&mut hint);
    let text = format!(
        "{ALTER_BLOCK_START} LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE; IF EXISTS (SELECT FROM \
         {name}) THEN RAISE USING ERRCODE = '0A000', MESSAGE = {message}, HINT = {hint}; END IF; \
         {own_text};{}",
        drawn::BLOCK_END
    );
    if own_text.contains("$strongroom$") || name.contains("$strongroom$") {
        return Err(unknown("a name or constant with $strongroom$"));
    }
    let template = Template {
        pieces: vec![Piece::Text(text)],
    };
    Ok(Plan::One(Translated { template, ..one }, effects))
}

/// Whether it changes nothing that the proxy relies on, whatever the table is when the server looks
/// for it. Hibernate begins so, before it drops the tables that it creates.
fn only_drops_constraints(alter: &AlterTable) -> bool {
    let mut operations = alter.operations.iter();
    alter.if_exists
        && operations.all(|own| match own {
            AlterTableOperation::DropConstraint { name, .. } => !guarded::is_name(name),
            _ => false,
        })
}

/// Names the schemas of what foreign keys refer to.
fn put_schemas(operations: &mut [AlterTableOperation], table: &Table, schema: &Schema) {
    for own in operations {
        match own {
            AlterTableOperation::AddConstraint { constraint, .. } => {
                constraint::put_schema(constraint, table, schema);
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                constraint::put_schemas(column_def, table, schema);
            }
            _ => {}
        }
    }
}

fn drops_rule(own: &AlterTableOperation, table: &Table, schema: &Schema) -> bool {
    let AlterTableOperation::DropColumn { column_names, .. } = own else {
        return false;
    };
    let rule = |name| schema.rule(&table.schema, &table.name, &folded(name));
    column_names.iter().any(|name| rule(name).is_some())
}

/// Checks one operation, and rewrites it if it creates a protected column.
fn operation(own: &mut AlterTableOperation, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    use AlterTableOperation as Operation;
    grouped::check(own, table, schema)?;
    match own {
        Operation::AddConstraint { constraint, .. } => constraint::check(constraint, table, schema),
        Operation::AddColumn { column_def, .. } => {
            // That takes the default out.
            let added = create::check_added(column_def, table);
            match create::column(column_def, table, schema)? {
                Some(_) => Err(drawn::refuse_added(&subject_of(
                    table,
                    &folded(&column_def.name),
                ))),
                None => added,
            }
        }
        Operation::AlterColumn { column_name, op } => alter_column(column_name, op, table, schema),
        Operation::RenameColumn {
            old_column_name,
            new_column_name,
        } => {
            let (old, new) = (folded(old_column_name), folded(new_column_name));
            renamed::check_column(&old, table, schema)?;
            renamed::check_column(&new, table, schema)
        }
        Operation::RenameTable { table_name } => {
            let (RenameTableNameKind::As(new) | RenameTableNameKind::To(new)) = table_name;
            renamed::check_table(table, new, schema)
        }
        Operation::DropConstraint { name, .. } => guarded::refuse_name(name, table),
        Operation::RenameConstraint { old_name, new_name } => {
            guarded::refuse_name(old_name, table)?;
            checked::refuse_renaming(old_name, table, schema)?;
            guarded::refuse_name(new_name, table)
        }
        // Names, and switches that do not look into a row.
        Operation::DropColumn { .. }
        | Operation::ValidateConstraint { .. }
        | Operation::DisableRowLevelSecurity
        | Operation::EnableRowLevelSecurity
        | Operation::ForceRowLevelSecurity
        | Operation::NoForceRowLevelSecurity
        | Operation::DisableRule { .. }
        | Operation::DisableTrigger { .. }
        | Operation::EnableAlwaysRule { .. }
        | Operation::EnableAlwaysTrigger { .. }
        | Operation::EnableReplicaRule { .. }
        | Operation::EnableReplicaTrigger { .. }
        | Operation::EnableRule { .. }
        | Operation::EnableTrigger { .. }
        | Operation::ReplicaIdentity { .. }
        | Operation::SetLogged
        | Operation::SetUnlogged
        | Operation::SetOptionsParens { .. }
        | Operation::OwnerTo { .. } => Ok(()),
        other if table.is_protected() => Err(refusal(
            &format!("protected table {}.{}", table.schema, table.name),
            &format!("ALTER TABLE … {other} is not supported"),
            "Do it directly on the server, if it does not read or write rows.",
        )),
        _ => Ok(()),
    }
}

/// What the server computes for a column that is not protected.
fn plain_column(own: &AlterColumnOperation, table: &Table, schema: &Schema) -> Result<(), Refusal> {
    match own {
        AlterColumnOperation::SetDataType {
            using: Some(expr), ..
        } => constraint::check_expression(expr, "USING", table, schema),
        AlterColumnOperation::SetDefault { value } => refuse_reading(value, "DEFAULT", schema),
        AlterColumnOperation::SetDataType { using: None, .. }
        | AlterColumnOperation::SetNotNull
        | AlterColumnOperation::DropNotNull
        | AlterColumnOperation::DropDefault
        | AlterColumnOperation::AddGenerated { .. } => Ok(()),
    }
}

fn alter_column(
    name: &Ident,
    own: &mut AlterColumnOperation,
    table: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    let name = folded(name);
    let at = table.position(&name);
    let Some(id) = at.and_then(|at| table.columns[at].protected) else {
        return plain_column(own, table, schema);
    };
    let subject = subject_of(table, &name);
    match own {
        AlterColumnOperation::SetNotNull
        | AlterColumnOperation::DropNotNull
        | AlterColumnOperation::DropDefault => Ok(()),
        AlterColumnOperation::SetDefault { value } => {
            create::check_default(value, schema.column(id), &subject)?;
            // The rule has it, and the server has none. Prisma and others, which see none, set it
            // whenever they look.
            *own = AlterColumnOperation::DropDefault;
            Ok(())
        }
        AlterColumnOperation::SetDataType { .. } => Err(refusal(
            &subject,
            "the server cannot convert ciphertext",
            "Add a column of the new type with its rule, copy the values through the proxy, and \
             drop the old one.",
        )),
        AlterColumnOperation::AddGenerated { .. } => Err(refusal(
            &subject,
            "the server cannot make a value that it must not know",
            "Let the application make the value.",
        )),
    }
}
