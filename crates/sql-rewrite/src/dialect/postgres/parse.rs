//! Parses a statement, if the server would read the same tree. No other file constructs the parser.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Statement, Visitor};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::lexer::{has_doubtful_words, lexemes};
use super::{binding, forms};
use crate::dialect::{Unread, has_rows};
use crate::walk;

/// The tree of a single statement.
pub(crate) fn parse(statement: &str) -> Result<Statement, Unread> {
    let lexemes = lexemes(statement);
    if has_doubtful_words(statement, &lexemes) {
        return Err(Unread::Syntax);
    }
    let parsed = statements(&forms::of_lexemes(statement, &lexemes));
    let mut statements = parsed.ok_or(Unread::Syntax)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) if has_constant_as_name(&statement) => Err(Unread::Syntax),
        (Some(statement), true) => match binding::is_that_of_the_server(&statement) {
            true => Ok(statement),
            false => Err(Unread::Binding),
        },
        _ => Err(Unread::Syntax),
    }
}

/// The trees of a text as the parser reads it.
pub(crate) fn statements(text: &str) -> Option<Vec<Statement>> {
    Parser::parse_sql(&PostgreSqlDialect {}, text).ok()
}

/// The tree of an expression that is all of a text.
pub(crate) fn expression(text: &str) -> Option<Expr> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).ok()?;
    let expression = parser.parse_expr().ok()?;
    parser.expect_token(&Token::EOF).ok()?;
    Some(expression)
}

/// Whether a text is read as this one statement.
pub(crate) fn reads_back(text: &str, statement: &Statement) -> bool {
    let again = statements(&forms::for_parser(text));
    again.is_some_and(|again| again.as_slice() == std::slice::from_ref(statement))
}

/// Whether a constant was taken for a name: `citext 'x'` is a constant with its type, and the
/// parser reads a column with an alias.
fn has_constant_as_name(statement: &Statement) -> bool {
    struct Names;

    impl Visitor for Names {
        type Break = ();

        fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
            match ident.quote_style {
                Some('\'') => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    let holds_query = matches!(
        statement,
        Statement::Explain { .. }
            | Statement::Prepare { .. }
            | Statement::Declare { .. }
            | Statement::CreateView(_)
            | Statement::CreateTable(_)
    );
    (has_rows(statement) || holds_query) && walk::visit(statement, &mut Names).is_break()
}
