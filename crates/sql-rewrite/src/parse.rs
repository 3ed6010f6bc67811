//! A text to the tree of a statement, where the server would read the same one.

use std::ops::ControlFlow;

use sqlparser::ast::{Ident, Statement, Visit, Visitor};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlstate::SqlState;

use crate::lexer::{has_doubtful_words, lexemes};
use crate::{Refusal, binding, forms};
use sql_plan::unsupported;

/// Whose SQL a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL's.
    #[default]
    Postgres,
}

/// Why a text has no tree that is the server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    Syntax,
    /// The server gives an operator other operands.
    Binding,
}

impl Unread {
    pub(crate) fn refusal(self) -> Refusal {
        match self {
            Self::Syntax => unsupported("SQL that is not understood")
                .with_state(SqlState::SYNTAX_ERROR)
                .with_hint("Write it in a plainer form: docs/columns.md has what is understood."),
            Self::Binding => unsupported(
                "an operator that takes other operands to the server than to the proxy (a sign \
                 before ^, an operator of a user's beside another)",
            )
            .with_hint("Put what belongs together in parentheses, as (-a) ^ 2."),
        }
    }
}

/// The tree of a single statement.
pub(crate) fn parse(statement: &str, dialect: Dialect) -> Result<Statement, Unread> {
    let lexemes = lexemes(statement);
    if has_doubtful_words(statement, &lexemes) {
        return Err(Unread::Syntax);
    }
    let parsed = match dialect {
        Dialect::Postgres => Parser::parse_sql(
            &PostgreSqlDialect {},
            &forms::of_lexemes(statement, &lexemes),
        ),
    };
    let mut statements = parsed.map_err(|_| Unread::Syntax)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) if has_constant_as_name(&statement) => Err(Unread::Syntax),
        (Some(statement), true) => match binding::is_that_of_the_server(&statement) {
            true => Ok(statement),
            false => Err(Unread::Binding),
        },
        _ => Err(Unread::Syntax),
    }
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
    (has_rows(statement) || holds_query) && statement.visit(&mut Names).is_break()
}

/// Whether a statement itself reads or writes rows.
pub(crate) fn has_rows(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Copy { .. }
    )
}
