//! What a [`Dialect`] plans over the schema: every statement except queries, `INSERT`, `UPDATE` and
//! `DELETE` on protected tables.

use std::borrow::Cow;

use sqlparser::ast::Statement;

use super::lexeme::Part;
use super::mysql;
use super::postgres::utility::Planner;
use super::postgres::{catalogue, ddl, effects, named_types, objects, utility};
use crate::{Dialect, Effects, Plan, Refusal, Schema};

impl Dialect {
    /// A statement with names that mean the same in every session, where a finisher may read it.
    pub(crate) fn spelled<'s>(
        self,
        statement: &'s Statement,
        schema: &Schema,
    ) -> Cow<'s, Statement> {
        match self {
            Self::Postgres => named_types::spelled(statement, schema),
            _ => Cow::Borrowed(statement),
        }
    }

    /// Refuses what would change the values of protected columns by their type.
    pub(crate) fn check_type_change(
        self,
        statement: &str,
        words: &[String],
        schema: &Schema,
    ) -> Result<(), Refusal> {
        match self {
            Self::Postgres => named_types::check_change(statement, words, schema),
            _ => Ok(()),
        }
    }

    /// The plan of a query on catalogues; None: the text is something else, or may be.
    pub(crate) fn catalogue(self, statement: &str, schema: &Schema) -> Option<Plan> {
        match self {
            Self::Postgres => catalogue::plan(statement, schema),
            Self::MySql(_) => None,
            #[cfg(test)]
            Self::Sample => None,
        }
    }

    /// The effects of a statement that names no protected table, by its words.
    pub(crate) fn effects(self, words: &[String], schema: &Schema) -> Effects {
        match self {
            Self::Postgres => effects::of_words(words, schema),
            Self::MySql(_) => mysql::statement::effects(words),
            #[cfg(test)]
            Self::Sample => effects::of_words(words, schema),
        }
    }

    /// Notes the effects that the text of a statement shows, for any plan.
    pub(crate) fn note_text(self, effects: &mut Effects, statement: &str) {
        match self {
            Self::Postgres => effects::note_text(effects, statement),
            Self::MySql(_) => {}
            #[cfg(test)]
            Self::Sample => effects::note_text(effects, statement),
        }
    }

    /// Whether a statement changes settings through a function or view, so that its text need not
    /// name the setting.
    pub(crate) fn sets_by_rows(self, words: &[String]) -> bool {
        match self {
            Self::Postgres => effects::sets_by_rows(words),
            Self::MySql(_) => false,
            #[cfg(test)]
            Self::Sample => effects::sets_by_rows(words),
        }
    }

    /// The effects of a statement that reads and writes no row, whatever names it has; None: it
    /// may.
    pub(crate) fn passes(self, text: &str, part: &Part) -> Option<Effects> {
        match self {
            Self::Postgres => utility::passes(text, part),
            Self::MySql(_) => None,
            #[cfg(test)]
            Self::Sample => utility::passes(text, part),
        }
    }

    /// Notes what a statement does to prepared statements and cursors of its session.
    pub(crate) fn note_objects(self, effects: &mut Effects, text: &str, part: &Part) {
        match self {
            Self::Postgres => effects.objects = objects::effects(text, part),
            Self::MySql(_) => {}
            #[cfg(test)]
            Self::Sample => effects.objects = objects::effects(text, part),
        }
    }

    /// The plan of any other statement that names a protected table.
    pub(crate) fn other(
        self,
        statement: &Statement,
        schema: &Schema,
        inner: Planner,
    ) -> Result<Plan, Refusal> {
        match self {
            Self::Postgres => utility::plan(statement, schema, inner),
            Self::MySql(own) => mysql::ddl::plan(statement, schema, own),
            #[cfg(test)]
            Self::Sample => utility::plan(statement, schema, inner),
        }
    }

    /// The schema after a statement of a text; None: it makes names that are not known.
    pub(crate) fn after<'s>(
        self,
        statement: &Statement,
        schema: &Cow<'s, Schema>,
    ) -> Option<Cow<'s, Schema>> {
        match self {
            Self::Postgres => ddl::after(statement, schema),
            Self::MySql(_) => None,
            #[cfg(test)]
            Self::Sample => ddl::after(statement, schema),
        }
    }
}
