//! The dialect of SQL that a server speaks: everything that differs between servers in reading SQL.
//!
//! Planner and verifier walk one syntax tree for all dialects. Where the tree does not say enough
//! they ask the [`Dialect`] of the [`Schema`](crate::Schema): how a text is read and written, what
//! names mean, which functions run texts as SQL, how to find a row again. Questions that need the
//! schema are in `plans`: effects, queries on catalogues, DDL and utility statements. The answers
//! of PostgreSQL are below `postgres`; no other module constructs its parser.
//!
//! A dialect is an enum rather than a trait, because it is data: the version of a MySQL server and
//! its SQL mode change the grammar, and plans are cached by them, so dialects are copied and
//! compared. Each question is a `match` without `_`, so the compiler lists what a new dialect has
//! to answer.

pub(crate) mod lexeme;
pub(crate) mod marks;
pub mod mysql;
mod plans;
pub(crate) mod postgres;
#[cfg(test)]
mod sample;

use std::fmt::Write as _;
use std::ops::Range;

use sqlparser::ast::{Expr, Ident, ObjectName, SetExpr, Statement};
use sqlstate::SqlState;

use crate::{Refusal, Template};
use lexeme::Lexeme;
use mysql::MySql;
use postgres::{functions, lexer, names, output_names, parse};
use sql_plan::unsupported;

/// Whose SQL a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL's.
    #[default]
    Postgres,
    /// That of MySQL or MariaDB.
    MySql(MySql),
    /// One that no server speaks: it differs from PostgreSQL's wherever a dialect may.
    #[cfg(test)]
    Sample,
}

/// Why a text has no tree that is the server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    Syntax,
    /// The server gives an operator other operands.
    Binding,
    /// A form of this kind.
    Form(&'static str),
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
            Self::Form(what) => unsupported(what),
        }
    }
}

/// Whether a statement itself reads or writes rows.
pub(crate) fn has_rows(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Copy { .. }
    )
}

/// Texts.
impl Dialect {
    /// The tree of a single statement, where the server would read the same one. In the trees of
    /// all dialects parameters are `$1`, `$2` and so on.
    pub(crate) fn parse(self, statement: &str) -> Result<Statement, Unread> {
        match self {
            Self::Postgres => parse::parse(statement),
            Self::MySql(own) => mysql::parse::parse(statement, own),
            #[cfg(test)]
            Self::Sample => sample::parse(statement),
        }
    }

    /// The trees of a text as the parser reads it, without a look at what the server would read;
    /// None: it reads nothing.
    pub fn statements(self, text: &str) -> Option<Vec<Statement>> {
        match self {
            Self::Postgres => parse::statements(text),
            Self::MySql(own) => mysql::parse::statements(text, own),
            #[cfg(test)]
            Self::Sample => sample::statements(text),
        }
    }

    /// Whether the server reads this statement in a text, and no other.
    pub(crate) fn reads_back(self, text: &str, statement: &Statement) -> bool {
        match self {
            Self::Postgres => parse::reads_back(text, statement),
            Self::MySql(own) => mysql::parse::reads_back(text, statement, own),
            #[cfg(test)]
            Self::Sample => sample::reads_back(text, statement),
        }
    }

    /// A part of a printed tree, for the server.
    pub(crate) fn for_server(self, text: String) -> String {
        match self {
            Self::Postgres => postgres::forms::for_server(text),
            Self::MySql(own) => mysql::lexer::for_server(text, own),
            #[cfg(test)]
            Self::Sample => text,
        }
    }

    /// The lexemes of a text with their spans; blanks and comments are left out.
    pub(crate) fn lexemes(self, text: &str) -> Vec<(Lexeme, Range<usize>)> {
        match self {
            Self::Postgres => lexer::lexemes(text),
            Self::MySql(own) => mysql::lexer::shared(text, own),
            #[cfg(test)]
            Self::Sample => lexer::lexemes(text),
        }
    }

    /// Whether a text, also given in small letters, may write a name so that its letters do not
    /// stand in the text.
    pub(crate) fn may_hide_names(self, text: &str, lower: &str) -> bool {
        match self {
            Self::Postgres => postgres::spelled::may_hide_names(text, lower),
            Self::MySql(_) => false,
            #[cfg(test)]
            Self::Sample => postgres::spelled::may_hide_names(text, lower),
        }
    }

    /// What a statement with this first word spells in such ways. None: it may mean more than that.
    pub(crate) fn readings(self, text: &str, first: &str) -> Option<Vec<String>> {
        match self {
            Self::Postgres => postgres::spelled::readings(text, first),
            Self::MySql(_) => None,
            #[cfg(test)]
            Self::Sample => postgres::spelled::readings(text, first),
        }
    }

    /// Writes the parameter that stands for the hole of an index.
    pub fn write_hole(self, index: usize, text: &mut String) {
        match self {
            Self::Postgres => write!(text, "${}", index + 1).expect("a String takes everything"),
            Self::MySql(_) => mysql::lexer::write_hole(index, text),
            #[cfg(test)]
            Self::Sample => sample::write_hole(index, text),
        }
    }

    /// The text of a statement with parameters for its holes.
    pub(crate) fn with_parameters(self, template: &Template) -> String {
        template.render(|hole, text| self.write_hole(hole, text))
    }
}

/// Names.
impl Dialect {
    /// A name as the catalogue has it.
    pub(crate) fn fold(self, name: &Ident) -> String {
        match self {
            Self::Postgres => names::folded(name),
            Self::MySql(_) => mysql::names::fold(name),
            #[cfg(test)]
            Self::Sample => sample::fold(name),
        }
    }

    /// The alias of a relation as it has to be written.
    pub(crate) fn alias(self, name: &Ident) -> String {
        match self {
            // Whether letters of another case are the same is the server's choice.
            Self::MySql(_) => name.value.clone(),
            Self::Postgres => self.fold(name),
            #[cfg(test)]
            Self::Sample => self.fold(name),
        }
    }

    /// The name of a table in the form of a folded qualifier.
    pub(crate) fn fold_relation(self, name: String) -> String {
        match self {
            Self::MySql(_) => name.to_ascii_lowercase(),
            Self::Postgres => name,
            #[cfg(test)]
            Self::Sample => name,
        }
    }

    /// Whether a qualifier, which is folded, may mean a relation or schema of this name. MySQL's
    /// server may still tell them apart by the case of letters.
    pub(crate) fn qualifies(self, qualifier: Option<&str>, name: Option<&str>) -> bool {
        let Some(qualifier) = qualifier else {
            return true;
        };
        name.is_some_and(|name| match self {
            Self::Postgres => qualifier == name,
            Self::MySql(_) => qualifier.eq_ignore_ascii_case(name),
            #[cfg(test)]
            Self::Sample => qualifier == name,
        })
    }

    /// Whether a name is that of a variable of the session.
    pub(crate) fn is_variable(self, name: &Ident) -> bool {
        matches!(self, Self::MySql(_)) && mysql::names::is_variable(name)
    }

    /// Whether the server cuts a name, since it is too long.
    pub(crate) fn cuts(self, name: &str) -> bool {
        match self {
            Self::Postgres => name.len() > names::NAME_SIZE_MAX,
            Self::MySql(_) => false,
            #[cfg(test)]
            Self::Sample => false,
        }
    }

    /// What the server leaves of a name that is too long.
    pub(crate) fn cut(self, name: String) -> String {
        match self {
            Self::Postgres => names::cut(name),
            Self::MySql(_) => name,
            #[cfg(test)]
            Self::Sample => name,
        }
    }

    /// A name that means the same whatever word it is.
    pub(crate) fn quote(self, name: &str) -> Ident {
        match self {
            Self::Postgres => names::quoted(name),
            Self::MySql(_) => mysql::names::quote(name),
            #[cfg(test)]
            Self::Sample => sample::quote(name),
        }
    }

    /// Schema, if one is named, and name of an object; None: it has more parts, or is computed.
    pub(crate) fn split(self, name: &ObjectName) -> Option<(Option<String>, String)> {
        match self {
            Self::Postgres => names::split(name),
            Self::MySql(own) => mysql::names::split(name, own),
            #[cfg(test)]
            Self::Sample => sample::split(name),
        }
    }

    /// Whether every table has a column of this name, which is never sealed.
    pub(crate) fn is_system_column(self, name: &str) -> bool {
        match self {
            Self::Postgres => names::SYSTEM_COLUMNS.contains(&name),
            Self::MySql(_) => false,
            #[cfg(test)]
            Self::Sample => sample::ROW_LOCATOR.contains(&name),
        }
    }

    /// The name of a column of a query that has none; None: [`Self::unnamed_output`], or not known.
    pub(crate) fn output_name(self, expression: &Expr) -> Option<String> {
        match self {
            Self::Postgres => output_names::output_name(expression),
            Self::MySql(_) => mysql::names::output(expression),
            #[cfg(test)]
            Self::Sample => sample::output_name(expression),
        }
    }

    /// Whether an output column has a name to the server that is known only when `*` in it is
    /// written out.
    pub(crate) fn has_unknown_name(self, expression: &Expr) -> bool {
        matches!(self, Self::Postgres) && output_names::has_unknown_name(expression)
    }

    /// Gives the columns of a query in `FROM` or `WITH` the names that they have to the server.
    pub(crate) fn name_columns(self, body: &mut SetExpr) {
        match self {
            Self::Postgres => output_names::name_columns(body),
            Self::MySql(_) => {}
            #[cfg(test)]
            Self::Sample => sample::name_columns(body),
        }
    }

    /// What the server calls a column that has no name.
    pub(crate) fn unnamed_output(self) -> &'static str {
        match self {
            Self::Postgres => output_names::UNNAMED,
            Self::MySql(_) => "",
            #[cfg(test)]
            Self::Sample => sample::UNNAMED,
        }
    }
}

/// Rows.
impl Dialect {
    /// Whether a statement that the server cannot execute as one is refused: the proxy computes no
    /// values of this dialect.
    pub(crate) fn leaves_all_to_the_server(self) -> bool {
        match self {
            Self::Postgres => false,
            Self::MySql(_) => true,
            #[cfg(test)]
            Self::Sample => false,
        }
    }

    /// The columns of a table by which a row that was read and locked is found again.
    pub(crate) fn row_locator(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &names::ROW_LOCATOR,
            Self::MySql(_) => &[],
            #[cfg(test)]
            Self::Sample => &sample::ROW_LOCATOR,
        }
    }

    /// The types of [`Self::row_locator`]. Empty: rows are written one by one.
    pub(crate) fn locator_types(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &names::LOCATOR_TYPES,
            Self::MySql(_) => &[],
            #[cfg(test)]
            Self::Sample => &[],
        }
    }

    /// The columns of a table by which a row that was read without a lock is found again, unless it
    /// has changed.
    pub(crate) fn row_version(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &names::ROW_VERSION,
            Self::MySql(_) => &[],
            #[cfg(test)]
            Self::Sample => &sample::ROW_LOCATOR,
        }
    }

    /// Columns that the server returns at most
    /// (<https://www.postgresql.org/docs/current/limits.html>,
    /// <https://dev.mysql.com/doc/refman/8.0/en/column-count-limit.html>).
    pub(crate) fn output_columns_max(self) -> usize {
        match self {
            Self::Postgres => 1664,
            Self::MySql(_) => 4096,
            #[cfg(test)]
            Self::Sample => 1664,
        }
    }

    /// The clause of a query that locks rows as `UPDATE` of other columns than keys does.
    pub(crate) fn lock_of_update(self) -> &'static str {
        match self {
            // Rows that refer to such a row by a foreign key do not wait for it.
            Self::Postgres => "FOR NO KEY UPDATE",
            Self::MySql(_) => "FOR UPDATE",
            #[cfg(test)]
            Self::Sample => "FOR UPDATE",
        }
    }
}

/// Functions.
impl Dialect {
    /// Whether a word without quotes is a function though it looks like a name.
    pub(crate) fn is_function_word(self, name: &str) -> bool {
        match self {
            Self::Postgres => names::FUNCTION_WORDS.contains(&name),
            Self::MySql(_) => matches!(name, "current_date" | "current_timestamp"),
            #[cfg(test)]
            Self::Sample => false,
        }
    }

    /// The name of a function that may be the server's own.
    pub(crate) fn builtin(self, name: &ObjectName) -> Option<String> {
        match self {
            Self::Postgres => names::builtin(name),
            Self::MySql(own) => mysql::names::builtin(name, own),
            #[cfg(test)]
            Self::Sample => sample::builtin(name),
        }
    }

    /// The name of a function as tables of functions have it.
    pub(crate) fn fold_function(self, name: String) -> String {
        match self {
            Self::Postgres => name,
            Self::MySql(_) => name.to_ascii_lowercase(),
            #[cfg(test)]
            Self::Sample => name,
        }
    }

    /// Whether a function runs SQL out of a text.
    pub(crate) fn runs_text(self, schema: Option<&str>, name: &str, path: &[String]) -> bool {
        match self {
            Self::Postgres => functions::runs_text(schema, name, path),
            Self::MySql(_) => false,
            #[cfg(test)]
            Self::Sample => functions::runs_text(schema, name, path),
        }
    }

    /// The names of functions that run SQL out of a text.
    pub(crate) fn running_functions(self) -> Vec<&'static str> {
        match self {
            Self::Postgres => functions::running_functions().collect(),
            Self::MySql(_) => mysql::lexer::RUNNING_FUNCTIONS.to_vec(),
            #[cfg(test)]
            Self::Sample => functions::running_functions().collect(),
        }
    }

    /// Whether the text of a function or block, in small letters, runs other texts as SQL.
    pub(crate) fn runs_texts(self, body: &str) -> bool {
        match self {
            Self::Postgres => functions::runs_texts(body),
            Self::MySql(_) => true,
            #[cfg(test)]
            Self::Sample => functions::runs_texts(body),
        }
    }

    /// The aggregate that puts sealed values of a group into an array.
    pub(crate) fn gathering_function(self) -> ObjectName {
        match self {
            Self::Postgres => functions::array_agg(),
            Self::MySql(_) => mysql::names::gathering_function(),
            #[cfg(test)]
            Self::Sample => sample::gathering_function(),
        }
    }

    /// Writes `MIN` or `MAX` of a sealed column as the server can compute it.
    pub(crate) fn write_extreme(self, call: &mut Expr, is_maximum: bool) {
        match self {
            Self::Postgres => functions::first_of_sorted(call, is_maximum),
            // The server sorts bytes as they are.
            Self::MySql(_) => {}
            #[cfg(test)]
            Self::Sample => functions::first_of_sorted(call, is_maximum),
        }
    }
}
