//! A dialect for tests that differs from PostgreSQL's wherever a dialect may: names fold to
//! capitals and are quoted by backquotes, holes are `?1`, parameters of clients are `?`, and a row
//! is found again by `ROW_KEY`. Planner and verifier work with it only as long as they ask the
//! dialect. What is not about rows (settings, DDL) is PostgreSQL's.

mod tests;

use std::fmt::Write as _;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, SelectItem, SetExpr, Statement, Value, ValueWithSpan, VisitorMut,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::Unread;
use crate::walk;

/// What a column without a name is called.
pub(super) const UNNAMED: &str = "EXPRESSION";

pub(super) const ROW_LOCATOR: [&str; 1] = ["ROW_KEY"];

pub(super) fn parse(text: &str) -> Result<Statement, Unread> {
    let mut statements = statements(text).ok_or(Unread::Syntax)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(Unread::Syntax),
    }
}

pub(super) fn statements(text: &str) -> Option<Vec<Statement>> {
    let mut statements = Parser::parse_sql(&GenericDialect {}, text).ok()?;
    let mut numbering = Numbering(0);
    for statement in &mut statements {
        let _ = walk::visit_mut(statement, &mut numbering);
    }
    Some(statements)
}

pub(super) fn reads_back(text: &str, statement: &Statement) -> bool {
    statements(text).is_some_and(|again| again.as_slice() == std::slice::from_ref(statement))
}

/// Gives parameters the numbers that the tree has for all dialects.
struct Numbering(usize);

impl VisitorMut for Numbering {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &mut value.value
            && let Some(digits) = name.strip_prefix('?')
        {
            *name = match digits {
                "" => {
                    self.0 += 1;
                    format!("${}", self.0)
                }
                digits => format!("${digits}"),
            };
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn write_hole(index: usize, text: &mut String) {
    write!(text, "?{}", index + 1).expect("a String takes everything");
}

pub(super) fn fold(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_uppercase(),
    }
}

pub(super) fn quote(name: &str) -> Ident {
    Ident::with_quote('`', name)
}

pub(super) fn split(name: &ObjectName) -> Option<(Option<String>, String)> {
    let parts: Option<Vec<String>> = name
        .0
        .iter()
        .map(|part| part.as_ident().map(fold))
        .collect();
    match parts?.as_slice() {
        [table] => Some((None, table.clone())),
        [schema, table] => Some((Some(schema.clone()), table.clone())),
        _ => None,
    }
}

/// Functions have small letters in the tables that all dialects share.
pub(super) fn builtin(name: &ObjectName) -> Option<String> {
    match split(name)? {
        (None, name) => Some(name.to_ascii_lowercase()),
        (Some(_), _) => None,
    }
}

pub(super) fn gathering_function() -> ObjectName {
    ObjectName::from(vec![Ident::new("array_agg")])
}

pub(super) fn output_name(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(fold(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        _ => None,
    }
}

pub(super) fn name_columns(body: &mut SetExpr) {
    let SetExpr::Select(select) = body else {
        return;
    };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expression) = &*item
            && output_name(expression).is_none()
        {
            *item = SelectItem::ExprWithAlias {
                expr: expression.clone(),
                alias: quote(UNNAMED),
            };
        }
    }
}
