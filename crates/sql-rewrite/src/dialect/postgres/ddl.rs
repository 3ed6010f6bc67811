//! DDL: statements that change the schema.
//!
//! Protected columns are `bytea` in the server. Keys, foreign keys and indexes over them are kept
//! where they work on ciphertext, and refused elsewhere: a check over ciphertext would silently
//! check nothing.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AlterIndexOperation, CreatePolicy, CreateTable, CreateTrigger, CreateView, Expr, ObjectName,
    ObjectNamePart, Query, Statement, Visit,
};
use sqlstate::SqlState;

use crate::dialect::lexeme::{lower, names_word};
use crate::dialect::marks;
use crate::dialect::postgres::names::{folded, quoted, split};
use crate::dialect::postgres::{forms, parse};
use crate::schema::is_of_temporaries;
use crate::schema::views::{View, shown_by_query};
use crate::walk;
use crate::{Effects, Piece, Plan, Refusal, RelationKind, Schema, Table, Template, Translated};

mod after;
mod alter;
mod checked;
mod constraint;
mod create;
mod drawn;
mod emptied;
mod grouped;
mod guarded;
mod index;
mod indexed;
mod renamed;

pub(crate) use after::after;

/// The plan of a statement that changes the schema; None: it is no such statement.
///
/// # Errors
/// What would not work on ciphertext, or would put plaintext into the server.
pub fn plan(statement: &Statement, schema: &Schema) -> Result<Option<Plan>, Refusal> {
    let plan = match statement {
        Statement::CreateTable(table) => create::plan(table, schema)?,
        Statement::CreateIndex(create_index) => index::plan(create_index, schema)?,
        Statement::AlterTable(alter_table) => alter::plan(alter_table, schema)?,
        Statement::CreateView(view) => plan_view(view, schema)?,
        Statement::AlterView { name, query, .. } => {
            refuse_named(name, "the view", schema)?;
            refuse_reading(query, "ALTER VIEW … AS", schema)?;
            pass()
        }
        Statement::CreateTrigger(trigger) => plan_trigger(trigger, schema)?,
        Statement::CreatePolicy(policy) => plan_policy(policy, schema)?,
        Statement::CreateFunction(_) | Statement::CreateProcedure { .. } => {
            plan_function(statement, schema)?
        }
        Statement::RenameTable(renames) => {
            for rename in renames {
                refuse_named(&rename.old_name, "a table to rename", schema)?;
                refuse_named(&rename.new_name, "the new name", schema)?;
            }
            pass()
        }
        Statement::AlterIndex { name, operation } => {
            // Relations share their names: of this statement the server takes any relation.
            let AlterIndexOperation::RenameIndex { index_name } = operation;
            refuse_named(name, "renamed", schema)?;
            refuse_named(index_name, "the new name", schema)?;
            pass()
        }
        Statement::CreateVirtualTable { .. } => return Err(unknown("CREATE VIRTUAL TABLE")),
        Statement::Truncate(_) => Plan::Pass(Effects {
            forgets_locks: true,
            ..Effects::default()
        }),
        // Names and comments; nothing of a row.
        Statement::Comment { .. }
        | Statement::Grant(_)
        | Statement::Revoke(_)
        | Statement::Drop { .. }
        | Statement::DropFunction(_)
        | Statement::DropProcedure { .. }
        | Statement::DropDomain(_)
        | Statement::DropExtension(_)
        | Statement::DropOperator(_)
        | Statement::DropOperatorFamily(_)
        | Statement::DropOperatorClass(_)
        | Statement::DropPolicy(_)
        | Statement::DropTrigger(_)
        | Statement::AlterSchema(_)
        | Statement::AlterRole { .. }
        | Statement::AlterType(_)
        | Statement::AlterPolicy(_)
        | Statement::CreateSchema { .. }
        | Statement::CreateDatabase { .. }
        | Statement::CreateSequence { .. }
        | Statement::CreateDomain(_)
        | Statement::CreateType { .. }
        | Statement::CreateExtension(_)
        | Statement::CreateCollation(_)
        | Statement::CreateOperator(_)
        | Statement::CreateOperatorFamily(_)
        | Statement::CreateOperatorClass(_)
        | Statement::CreateServer(_)
        | Statement::CreateRole(_) => plan_names(statement, schema)?,
        _ => return Ok(None),
    };
    Ok(Some(plan))
}

/// Passes the client's own text on; it changes the schema.
fn pass() -> Plan {
    Plan::Pass(changed())
}

fn changed() -> Effects {
    Effects {
        changes_schema: true,
        forgets_locks: true,
        ..Effects::default()
    }
}

/// A rewritten statement. Its text is parsed again, so that the server reads what was checked.
fn written(statement: &Statement) -> Result<Plan, Refusal> {
    written_as(statement.to_string(), statement)
}

/// The text for the server, if it says the same as the statement.
fn for_server(text: String, statement: &Statement) -> Option<String> {
    let text = forms::for_server(text);
    parse::reads_back(&text, statement).then_some(text)
}

fn written_as(text: String, statement: &Statement) -> Result<Plan, Refusal> {
    let Some(text) = for_server(text, statement) else {
        return Err(Refusal {
            sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
            message: "the statement on a protected table cannot be written anew for the server"
                .to_owned(),
            hint: Some("Split it into simpler statements.".to_owned()),
        });
    };
    let translated = Translated {
        template: Template {
            pieces: vec![Piece::Text(text)],
        },
        holes: Vec::new(),
        outputs: Vec::new(),
        parameter_types: Vec::new(),
        locks: None,
    };
    Ok(Plan::One(translated, changed()))
}

/// The same plan; the table may lack columns with rules afterwards.
fn reshaping(mut plan: Plan, table: &Table) -> Plan {
    if let Plan::Pass(effects) | Plan::One(_, effects) = &mut plan {
        let name = (table.schema.clone(), table.name.clone());
        effects.reshapes.push(name);
    }
    plan
}

fn unknown(what: &str) -> Refusal {
    Refusal {
        sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
        message: format!("{what} is not supported where columns are protected"),
        hint: None,
    }
}

/// A refusal that names the place. `subject` is a table, or table and column.
fn refusal(subject: &str, reason: &str, hint: &str) -> Refusal {
    Refusal {
        sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
        message: format!("{subject}: {reason}"),
        hint: (!hint.is_empty()).then(|| hint.to_owned()),
    }
}

fn subject_of(table: &Table, column: &str) -> String {
    format!("protected column {}.{}.{column}", table.schema, table.name)
}

/// Where a new object without a schema goes.
fn own_name(name: &ObjectName, schema: &Schema) -> Option<(String, String)> {
    let (own_schema, own) = split(name)?;
    Some((
        own_schema.or_else(|| schema.search_path.first().cloned())?,
        own,
    ))
}

/// Whether a new object is seen by its own connection only: it is not among what the catalogues are
/// asked for.
fn is_temporary(is_said: bool, name: &ObjectName, schema: &Schema) -> bool {
    is_said || own_name(name, schema).is_some_and(|(own_schema, _)| is_of_temporaries(&own_schema))
}

/// The relation that a statement means.
fn find<'a>(name: &ObjectName, schema: &'a Schema) -> Option<&'a Table> {
    let (own_schema, own) = split(name)?;
    schema.find(own_schema.as_deref(), &own)
}

/// A relation whose columns are known. One that has rules and is not there, as far as the proxy
/// has seen, is refused: another connection may have made it, or a statement before this one.
fn find_known<'a>(
    name: &ObjectName,
    what: &str,
    schema: &'a Schema,
) -> Result<Option<&'a Table>, Refusal> {
    let found = find(name, schema);
    if found.is_none_or(|table| table.oid == 0) {
        refuse_named(name, what, schema)?;
        // The server's search path may be another than the one that was seen last.
        if let Some((None, own)) = split(name)
            && schema.has_protected(&own)
        {
            return Err(refusal(
                &format!("protected table {own}"),
                "is not on the search path",
                "Qualify its name with its schema.",
            ));
        }
    }
    Ok(found)
}

/// Names the schema that a relation was found in, or goes into, so that no search path leads the
/// server elsewhere.
fn put_schema(name: &mut ObjectName, own_schema: &str) {
    let mark = usize::from(marks::is_marked(name));
    if name.0.len() == mark + 1 {
        let own_schema = quoted(own_schema);
        name.0.insert(mark, ObjectNamePart::Identifier(own_schema));
    }
}

/// The same of a relation that is looked up, if it is known.
fn put_found_schema(name: &mut ObjectName, schema: &Schema) {
    if let Some(table) = find(name, schema) {
        put_schema(name, &table.schema);
    }
}

/// Whether a name has rules, whatever it is now.
fn has_rules(name: &ObjectName, schema: &Schema) -> bool {
    own_name(name, schema).is_some_and(|(own_schema, own)| {
        let mut rules = schema.protected.iter();
        rules.any(|rule| rule.schema == own_schema && rule.table == own)
    })
}

/// Refuses a name that rules are for, or that is protected.
fn refuse_named(name: &ObjectName, what: &str, schema: &Schema) -> Result<(), Refusal> {
    let protected = find(name, schema).is_some_and(Table::is_protected);
    if protected || has_rules(name, schema) {
        return Err(refusal(
            &format!("protected table {name}"),
            &format!("cannot be {what} here"),
            "If the table has just been made, send CREATE TABLE by itself first; else change the \
             rules of the proxy.",
        ));
    }
    Ok(())
}

/// The first protected relation, or function that reads one, in a part of a statement.
fn reads_protected<V: Visit>(part: &V, schema: &Schema) -> Option<String> {
    let mut found = None;
    let is_suspect = |name: &String| schema.suspect_functions.contains(name);
    // A function may stand in the place of a relation, too.
    let _ = walk::relations(part, |name| {
        let is_function = split(name).is_some_and(|(_, own)| is_suspect(&own));
        if is_function || find(name, schema).is_some_and(Table::is_protected) {
            found = Some(name.to_string());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let _ = walk::expressions(part, |expr| {
        if let Expr::Function(function) = expr {
            let name = function
                .name
                .0
                .last()
                .and_then(|part| part.as_ident())
                .map(folded);
            if name.is_some_and(|name| is_suspect(&name)) {
                found = Some(function.name.to_string());
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    found
}

fn refuse_reading<V: Visit>(part: &V, what: &str, schema: &Schema) -> Result<(), Refusal> {
    match reads_protected(part, schema) {
        None => Ok(()),
        Some(name) => Err(stores_ciphertext(&name, what)),
    }
}

/// `CREATE TABLE … AS`. Forms of a relation that the parser takes for something else (`ONLY t`,
/// `TABLE t`) count as well: the name anywhere in the query is enough.
fn refuse_table_as(table: &CreateTable, query: &Query, schema: &Schema) -> Result<(), Refusal> {
    refuse_named(&table.name, "made by CREATE TABLE … AS", schema)?;
    let text = query.to_string();
    match named(&text, schema).or_else(|| suspect(&text, schema)) {
        None => Ok(()),
        Some(name) => Err(stores_ciphertext(&name, "CREATE TABLE … AS")),
    }
}

/// The first function in a text that reads a protected table, or runs texts.
fn suspect(text: &str, schema: &Schema) -> Option<String> {
    let text = lower(text);
    let mut suspects = schema.suspect_functions.iter();
    suspects
        .find(|function| names_word(&text, &lower(function)))
        .cloned()
}

fn stores_ciphertext(name: &str, what: &str) -> Refusal {
    refusal(
        &format!("protected table {name}"),
        &format!("{what} would store its ciphertext where no rule is"),
        "Create the table with its types, give it rules, then insert into it.",
    )
}

fn plan_view(view: &CreateView, schema: &Schema) -> Result<Plan, Refusal> {
    if is_temporary(view.temporary, &view.name, schema) {
        check_temporary_view(view, schema)?;
    }
    let is_view = find(&view.name, schema).is_some_and(|own| own.kind == RelationKind::View);
    if has_rules(&view.name, schema) || !is_view {
        refuse_named(&view.name, "a view", schema)?;
    }
    let Some(name) = reads_protected(&view.query, schema) else {
        return Ok(pass());
    };
    if shown_by_query(&view.query, schema).is_none() {
        return Err(refusal(
            &format!("protected table {name}"),
            "a view may select its protected columns, join them by equal domains and ask for NULL, \
             and nothing else: the server computes on ciphertext",
            "Leave conditions on protected columns to the query that reads the view.",
        ));
    }
    let mut anew = view.clone();
    let _: ControlFlow<()> = walk::relations_mut(&mut anew.query, |name| {
        put_found_schema(name, schema);
        ControlFlow::Continue(())
    });
    if let Some((own_schema, _)) = own_name(&view.name, schema) {
        put_schema(&mut anew.name, &own_schema);
    }
    written(&Statement::CreateView(anew))
}

/// A temporary view is written through and read as what is plain. Its name anywhere in the query is
/// enough, as in [`refuse_table_as`].
fn check_temporary_view(view: &CreateView, schema: &Schema) -> Result<(), Refusal> {
    let hidden = split(&view.name).filter(|(_, own)| schema.has_protected(own));
    if let Some((_, own)) = hidden {
        return Err(refusal(
            &format!("protected table {own}"),
            "a temporary view would hide it from one connection, and the proxy does not see it",
            "Give the temporary view another name.",
        ));
    }
    let read = reads_protected(&view.query, schema);
    let text = view.query.to_string();
    let by_text = || named(&text, schema).or_else(|| hides_defaults(&text, schema));
    match read.or_else(by_text) {
        None => Ok(()),
        Some(name) => Err(refusal(
            &format!("protected table {name}"),
            "a temporary view over it is seen by one connection only, not by the proxy",
            "Create a view that is not temporary, or write its query where it is read.",
        )),
    }
}

fn plan_trigger(trigger: &CreateTrigger, schema: &Schema) -> Result<Plan, Refusal> {
    let on_protected = find(&trigger.table_name, schema).is_some_and(Table::is_protected);
    let calls = reads_protected(trigger, schema).is_some()
        || suspect(&trigger.to_string(), schema).is_some();
    let problem = match (on_protected, calls) {
        (false, false) => return Ok(pass()),
        (true, _) => {
            "a trigger on a protected table sees ciphertext, and may copy it or write in clear"
        }
        (false, true) => {
            "it or its function reads a protected table, where it sees ciphertext, or runs texts \
             that may name one"
        }
    };
    Err(refusal(
        &format!("trigger {}", trigger.name),
        problem,
        "Do its work in the application, or create the trigger directly on the server.",
    ))
}

fn plan_policy(policy: &CreatePolicy, schema: &Schema) -> Result<Plan, Refusal> {
    let Some(table) = find(&policy.table_name, schema).filter(|table| table.is_protected()) else {
        refuse_reading(policy, "CREATE POLICY", schema)?;
        return Ok(pass());
    };
    let view = View::of_table(schema, table);
    let mut conditions = policy.using.iter().chain(&policy.with_check);
    if conditions.all(|condition| view.is_free(condition)) {
        let mut anew = policy.clone();
        put_schema(&mut anew.table_name, &table.schema);
        return written(&Statement::CreatePolicy(anew));
    }
    Err(refusal(
        &format!("protected table {}.{}", table.schema, table.name),
        "a policy over protected columns sees ciphertext",
        "Write the policy over other columns.",
    ))
}

/// A function's text is a string to the parser, and may be put together at run time: one that
/// names a protected table is not created, since calling it would be refused anyway. Nobody would
/// refuse a temporary one that calls what is refused.
fn plan_function(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    let own = match statement {
        Statement::CreateFunction(function) => Some(&function.name),
        Statement::CreateProcedure { name, .. } => Some(name),
        _ => None,
    };
    let text = statement.to_string();
    let called = || {
        let text = lower(&text);
        let mut suspects = schema.suspect_functions.iter();
        let found = suspects.find(|function| names_word(&text, &lower(function)));
        found.filter(|_| own.is_some_and(|own| is_temporary(false, own, schema)))
    };
    let read = named(&text, schema).or_else(|| hides_defaults(&text, schema));
    match read.or_else(|| called().cloned()) {
        None => Ok(pass()),
        Some(name) => Err(refusal(
            &format!("function over protected table {name}"),
            "the proxy does not look into functions, and the server sees ciphertext only",
            "Do its work in statements of the application.",
        )),
    }
}

/// Statements that hold names only. Should one hold an expression after all, it is found by the
/// tables that it would have to name.
fn plan_names(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    match statement {
        Statement::CreateSchema { .. } | Statement::CreateType { .. } => {
            refuse_reading(statement, "it", schema)?;
        }
        Statement::AlterPolicy(_) | Statement::CreateDomain(_) => {
            if let Some(name) = named(&statement.to_string(), schema) {
                return Err(refusal(
                    &format!("protected table {name}"),
                    "a policy or domain over it sees ciphertext",
                    "Drop the policy and create it over other columns.",
                ));
            }
        }
        Statement::Grant(grant) => grouped::check_grant(grant, schema)?,
        Statement::Comment { .. } => return Ok(Plan::Pass(Effects::default())),
        _ => {}
    }
    Ok(pass())
}

/// A protected relation whose name stands in a text.
fn named(text: &str, schema: &Schema) -> Option<String> {
    let text = lower(text);
    let rules = schema.protected.iter().map(|rule| &rule.table);
    let tables = schema.tables.values().filter(|table| table.is_protected());
    let mut names = rules.chain(tables.map(|table| &table.name));
    names.find(|name| names_word(&text, &lower(name))).cloned()
}

/// A view that hides defaults, whose name stands in a text.
fn hides_defaults(text: &str, schema: &Schema) -> Option<String> {
    let text = lower(text);
    let mut views = schema.hidden_defaults.keys().map(|(_, view)| view);
    views.find(|name| names_word(&text, &lower(name))).cloned()
}

#[cfg(test)]
mod tests;
