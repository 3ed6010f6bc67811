//! Trees of statements in the plain form.

#[cfg(all(test, unix))]
mod tests;

use std::any::TypeId;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, Insert, LimitClause, ObjectName,
    ObjectNamePart, Offset, OffsetRows, OnInsert, Parens, Query, SetExpr, Statement, TableFactor,
    TableObject, TableWithJoins, Values,
};
use sqlparser::dialect::{Dialect, MySqlDialect};
use sqlparser::parser::Parser;

use super::lexer::{self, Reading};
use super::{MySql, proposed, subset};
use crate::dialect::Unread;

/// The grammar of the plain form.
#[derive(Debug)]
struct Plain;

impl Dialect for Plain {
    fn dialect(&self) -> TypeId {
        TypeId::of::<MySqlDialect>()
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        // A user variable begins with `@`.
        letter.is_ascii_alphabetic() || letter == '_' || letter == '@'
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || letter == '_'
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        letter == '`'
    }

    fn identifier_quote_style(&self, _: &str) -> Option<char> {
        Some('`')
    }

    fn supports_comment_optimizer_hint(&self) -> bool {
        true
    }

    fn supports_select_modifiers(&self) -> bool {
        true
    }

    fn supports_limit_comma(&self) -> bool {
        true
    }

    fn supports_update_order_by(&self) -> bool {
        true
    }

    fn supports_insert_set(&self) -> bool {
        true
    }

    fn supports_key_column_option(&self) -> bool {
        true
    }

    fn supports_constraint_keyword_without_name(&self) -> bool {
        true
    }
}

/// The tree of a single statement, if it means the same to the server.
///
/// # Errors
/// It may mean something else, or is not understood.
pub(crate) fn parse(text: &str, dialect: MySql) -> Result<Statement, Unread> {
    let statement = tree(text, dialect, Reading::Tree)?;
    subset::check(&statement)?;
    Ok(statement)
}

/// The tree of a single statement as the parser reads it, in which the server may bind operators
/// otherwise: to find its parts, each of which has to be checked.
pub(crate) fn any_tree(text: &str, dialect: MySql) -> Option<Statement> {
    tree(text, dialect, Reading::Names).ok()
}

fn tree(text: &str, dialect: MySql, reading: Reading) -> Result<Statement, Unread> {
    let plain = lexer::plain(text, dialect, reading)?;
    let parsed = Parser::parse_sql(&Plain, &plain);
    let mut statements = parsed.map_err(|_| Unread::Syntax)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(in_common_forms(statement, dialect)),
        _ => Err(Unread::Syntax),
    }
}

/// Gives forms of MySQL alone the tree that all dialects share: `LIMIT offset, count`, a table
/// before the target of an assignment, and columns that get values in small letters.
fn in_common_forms(mut statement: Statement, dialect: MySql) -> Statement {
    match &mut statement {
        Statement::Query(query) => {
            if let Some(LimitClause::OffsetCommaLimit { offset, limit }) = &query.limit_clause {
                query.limit_clause = Some(LimitClause::LimitOffset {
                    limit: Some(limit.clone()),
                    offset: Some(Offset {
                        value: offset.clone(),
                        rows: OffsetRows::None,
                    }),
                    limit_by: Vec::new(),
                });
            }
        }
        Statement::Update(update) if update.table.joins.is_empty() => {
            let own = own_name(&update.table.relation);
            without_table(&mut update.assignments, own.as_ref());
            fold_targets(&mut update.assignments);
        }
        Statement::Update(update) => fold_targets(&mut update.assignments),
        Statement::Delete(delete) => deleted_in_common_forms(delete),
        Statement::Insert(insert) => {
            inserted_in_common_forms(insert);
            if dialect.is_mariadb
                && let Some(OnInsert::DuplicateKeyUpdate(assignments)) = &mut insert.on
            {
                proposed::in_the_shared_word(assignments);
            }
        }
        _ => {}
    }
    statement
}

/// `DELETE FROM a USING a JOIN b` as `DELETE a FROM a JOIN b`.
fn deleted_in_common_forms(delete: &mut Delete) {
    let FromTable::WithFromKeyword(from) = &mut delete.from else {
        return;
    };
    let name = |one: &TableWithJoins| match &one.relation {
        TableFactor::Table { name, .. } if one.to_string() == name.to_string() => {
            Some(name.clone())
        }
        _ => None,
    };
    let names: Option<Vec<ObjectName>> = from.iter().map(name).collect();
    if let (true, Some(names)) = (delete.tables.is_empty(), names)
        && let Some(using) = delete.using.take()
    {
        delete.tables = names;
        *from = using;
    }
}

/// `INSERT` without `INTO`, and `INSERT … SET`.
fn inserted_in_common_forms(insert: &mut Insert) {
    insert.into = true;
    if insert.source.is_none() && insert.columns.is_empty() && !insert.assignments.is_empty() {
        let assignments = std::mem::take(&mut insert.assignments);
        let (mut columns, mut row) = (Vec::new(), Vec::new());
        for assignment in &assignments {
            if let AssignmentTarget::ColumnName(name) = &assignment.target {
                columns.push(name.clone());
                row.push(assignment.value.clone());
            }
        }
        match columns.len() == assignments.len() {
            true => {
                insert.columns = columns;
                insert.source = Some(Box::new(values(row)));
            }
            false => insert.assignments = assignments,
        }
    }
    let own = match &insert.table {
        TableObject::TableName(name) => name.0.last().and_then(|last| last.as_ident()),
        _ => None,
    };
    let own = own.map(|own| own.value.clone());
    for column in &mut insert.columns {
        column_without_table(column, own.as_ref());
        fold_column(column);
    }
    if let Some(OnInsert::DuplicateKeyUpdate(assignments)) = &mut insert.on {
        without_table(assignments, own.as_ref());
        fold_targets(assignments);
    }
}

/// Writes the columns that get values in small letters, as the schema has them. No answer has the
/// names that the statement has.
fn fold_targets(assignments: &mut [Assignment]) {
    for assignment in assignments {
        match &mut assignment.target {
            AssignmentTarget::ColumnName(name) => fold_column(name),
            AssignmentTarget::Tuple(names) => names.iter_mut().for_each(fold_column),
        }
    }
}

fn fold_column(name: &mut ObjectName) {
    if let Some(ObjectNamePart::Identifier(last)) = name.0.last_mut() {
        last.value.make_ascii_lowercase();
    }
}

/// `VALUES (…)` with one row.
fn values(row: Vec<Expr>) -> Query {
    Query {
        with: None,
        body: Box::new(SetExpr::Values(Values {
            explicit_row: false,
            value_keyword: false,
            rows: vec![Parens {
                opening_token: AttachedToken::empty(),
                content: row,
                closing_token: AttachedToken::empty(),
            }],
        })),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// Assignments without the name of the table that they write.
fn without_table(assignments: &mut [Assignment], own: Option<&String>) {
    for assignment in assignments {
        if let AssignmentTarget::ColumnName(name) = &mut assignment.target {
            column_without_table(name, own);
        }
    }
}

fn column_without_table(name: &mut ObjectName, own: Option<&String>) {
    if name.0.len() == 2 && name.0[0].as_ident().map(|part| &part.value) == own {
        name.0.remove(0);
    }
}

/// The name that a table has in its statement.
fn own_name(factor: &TableFactor) -> Option<String> {
    let TableFactor::Table { name, alias, .. } = factor else {
        return None;
    };
    let last = name.0.last().and_then(|part| part.as_ident());
    let own = alias.as_ref().map(|alias| &alias.name).or(last);
    own.map(|own| own.value.clone())
}

/// The trees of a text.
pub(crate) fn statements(text: &str, dialect: MySql) -> Option<Vec<Statement>> {
    let statement = tree(text, dialect, Reading::Tree).ok();
    statement.map(|statement| vec![statement])
}

/// Whether a text is read as this one statement.
pub(crate) fn reads_back(text: &str, statement: &Statement, dialect: MySql) -> bool {
    tree(text, dialect, Reading::Tree).is_ok_and(|again| again == *statement)
}
