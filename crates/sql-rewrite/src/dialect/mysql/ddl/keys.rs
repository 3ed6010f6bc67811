//! Changes of tables that are there: `CREATE INDEX`, `DROP INDEX`, and `ALTER TABLE`. A statement
//! about keys goes to the server as it came, since a sealed column has the name of the declared
//! one.

use sqlparser::ast::{
    AlterTable, AlterTableOperation, CreateIndex, ObjectName, ObjectType, Statement,
    TableConstraint,
};

use super::{
    changes, check_columns, check_constraint, check_foreign_key, columns, guards, sent_as, tokens,
};
use crate::analysis::template;
use crate::dialect::mysql::{MySql, lexer, names, parse};
use crate::{Hole, Piece, Plan, ProtectedColumn, Refusal, Schema, Translated};
use sql_plan::unsupported;

/// The plan of a statement that changes a table or its keys. None: it is another one.
pub(super) fn plan(
    statement: &Statement,
    schema: &Schema,
    own: MySql,
) -> Option<Result<Plan, Refusal>> {
    let checked = match statement {
        Statement::CreateIndex(create) => of_index(create, schema, own),
        Statement::AlterTable(alter) => of_alter(alter, schema, own),
        Statement::Drop {
            object_type: ObjectType::Index,
            table: Some(_),
            ..
        } => Ok(None),
        _ => return None,
    };
    Some(checked.and_then(|changed| match changed {
        None => Ok(Plan::Pass(changes())),
        Some(changed) => sent(changed, schema, own),
    }))
}

/// The plan of a statement that is sent in the place of the client's.
fn sent(changed: Sent, schema: &Schema, own: MySql) -> Result<Plan, Refusal> {
    let Sent {
        mut statement,
        holes,
        behind,
    } = changed;
    if !holes.is_empty() {
        let mut template = template::of(&mut statement, schema.dialect)?;
        template.pieces.push(Piece::Text(behind));
        let translated = Translated {
            template,
            holes,
            outputs: Vec::new(),
            parameter_types: Vec::new(),
            locks: None,
        };
        return Ok(Plan::One(translated, changes()));
    }
    let text = lexer::for_server(statement.to_string(), own);
    match parse::reads_back(&text, &statement, own) {
        true => Ok(sent_as(text + &behind)),
        false => Err(
            unsupported("a statement of this form, which has to be written anew,")
                .with_hint("Split it into simpler statements."),
        ),
    }
}

/// A statement that is sent in the place of the client's: over tokens, or with sealed columns.
struct Sent {
    statement: Statement,
    /// Values that are to be sealed.
    holes: Vec<Hole>,
    /// What stands behind it.
    behind: String,
}

/// None: the client's is sent.
type Changed = Option<Sent>;

fn of_index(create: &CreateIndex, schema: &Schema, own: MySql) -> Result<Changed, Refusal> {
    let CreateIndex {
        name: Some(_),
        table_name,
        using: _,
        columns,
        unique: _,
        concurrently: false,
        r#async: false,
        if_not_exists: _,
        include,
        nulls_distinct: None,
        with,
        predicate: None,
        index_options: _,
        alter_options,
    } = create
    else {
        return Err(unsupported("CREATE INDEX of this form"));
    };
    if !include.is_empty() || !with.is_empty() || !alter_options.is_empty() {
        return Err(unsupported("CREATE INDEX of this form"));
    }
    let (_, rules) = rules_of(table_name, schema, own)?;
    check_columns(columns, &rules)?;
    let mut changed = create.clone();
    let is_changed = tokens::shorten_columns(&mut changed.columns, &rules);
    Ok(is_changed.then_some(Sent {
        statement: Statement::CreateIndex(changed),
        holes: Vec::new(),
        behind: String::new(),
    }))
}

fn of_alter(alter: &AlterTable, schema: &Schema, own: MySql) -> Result<Changed, Refusal> {
    let AlterTable {
        name,
        if_exists: false,
        only: false,
        operations: _,
        location: None,
        on_cluster: None,
        table_type: None,
        end_token: _,
    } = alter
    else {
        return Err(unsupported("ALTER TABLE of this form"));
    };
    let (database, rules) = rules_of(name, schema, own)?;
    let behind = match rules.first() {
        Some(rule) => guards::behind(alter, (&database, &rule.table), schema, own)?,
        None => String::new(),
    };
    let (mut changed, mut is_changed) = (alter.clone(), !behind.is_empty());
    let mut holes = Vec::new();
    for operation in &mut changed.operations {
        is_changed |= match operation {
            AlterTableOperation::AddConstraint {
                constraint,
                not_valid: false,
            } => {
                match &*constraint {
                    TableConstraint::ForeignKey(key) => {
                        check_foreign_key(key, &rules, &database, schema, own)?;
                    }
                    constraint @ (TableConstraint::Unique(_) | TableConstraint::Index(_)) => {
                        check_constraint(constraint, &rules)?;
                    }
                    _ => return Err(columns::other()),
                }
                tokens::shorten(constraint, &rules)
            }
            AlterTableOperation::DropIndex { .. }
            | AlterTableOperation::DropForeignKey {
                drop_behavior: None,
                ..
            } => false,
            other => columns::take(other, &rules, schema, &mut holes)?,
        };
    }
    Ok(is_changed.then_some(Sent {
        statement: Statement::AlterTable(changed),
        holes,
        behind,
    }))
}

/// The database of a table, and its rules.
fn rules_of<'s>(
    name: &ObjectName,
    schema: &'s Schema,
    own: MySql,
) -> Result<(String, Vec<&'s ProtectedColumn>), Refusal> {
    let (database, table) =
        names::split(name, own).ok_or_else(|| unsupported("a computed name"))?;
    let database = database.or_else(|| schema.search_path.first().cloned());
    let database = database.ok_or_else(|| unsupported("a table without a database"))?;
    let rules = schema.protected.iter();
    let rules = rules.filter(|rule| rule.schema == database && rule.table == table);
    let rules = rules.collect();
    Ok((database, rules))
}
