//! Prepared statements of a session, made by messages or by SQL: the server has one set of names
//! for both.
//!
//! Invariants:
//! 1. A change to a name takes effect when its message is sent, for all later messages. The
//!    previous meaning is kept until the server confirms the change.
//! 2. If the server skips the change, the previous meaning is restored. `EXECUTE` of an unknown
//!    name is forwarded unchanged, so every statement must be known: one over plain tables may be
//!    over protected ones when it is executed.

use std::sync::Arc;

use session_core::Statement;
use sql_plan::ObjectEffect;

use crate::session::names::{Names, kept};
use crate::session::unconfirmed::{ChangedBy, Unconfirmed};

/// What a name stands for.
#[derive(Debug)]
enum Prepared {
    Message(Arc<Statement>),
    /// The effect of the `PREPARE`.
    Sql(ObjectEffect),
}

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(super) struct Statements {
    names: Names<Prepared>,
    changes: Unconfirmed<Box<[u8]>, Prepared>,
}

impl Statements {
    /// The statement of this name, if a message has prepared it.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Arc<Statement>> {
        match self.names.get(name)? {
            Prepared::Message(statement) => Some(statement),
            Prepared::Sql(_) => None,
        }
    }

    /// The named statements, each as the effect of a `PREPARE`.
    pub(super) fn effects(&self) -> impl Iterator<Item = ObjectEffect> {
        let named = self.names.named();
        named.map(|(name, prepared)| match prepared {
            Prepared::Message(statement) => {
                let name = String::from_utf8_lossy(name).into_owned();
                let text = statement.text.to_string();
                match statement.plan.passes() {
                    true => ObjectEffect::PreparesPlain { name, text },
                    false => ObjectEffect::Prepares {
                        name,
                        types: Vec::new(),
                        text,
                    },
                }
            }
            Prepared::Sql(effect) => effect.clone(),
        })
    }

    /// Notes that Parse is sent. The server drops the unnamed statement before it looks at a new
    /// one; Parse of a name that exists fails.
    pub(super) fn parse(&mut self, name: &[u8], batch: u64, statement: Arc<Statement>) {
        if name.is_empty() {
            self.forget_unnamed();
        }
        self.parse_again(name, batch, statement);
    }

    /// Notes that Parse of the same statement is sent again. If it has a name, it was closed
    /// before.
    pub(super) fn parse_again(&mut self, name: &[u8], batch: u64, statement: Arc<Statement>) {
        let before = self.names.take(name);
        self.renew(name, batch, statement);
        self.changes
            .note((batch, ChangedBy::Parse), kept(name).into(), before);
    }

    /// Replaces the plan of a statement by an equal one. The server keeps its statement.
    pub(super) fn renew(&mut self, name: &[u8], batch: u64, statement: Arc<Statement>) {
        let prepared = Prepared::Message(statement);
        self.names.insert(name, batch, prepared);
    }

    /// Notes that Close is sent.
    pub(super) fn close(&mut self, name: &[u8], batch: u64) {
        let before = self.names.take(name);
        self.changes
            .note((batch, ChangedBy::Close), kept(name).into(), before);
    }

    /// Notes that the server drops the unnamed statement.
    pub(super) fn forget_unnamed(&mut self) {
        self.names.remove(b"");
    }

    /// Notes that a statement is sent that prepares or deallocates statements.
    pub(super) fn note(&mut self, effect: &ObjectEffect, batch: u64) {
        let (name, by) = match effect {
            ObjectEffect::Prepares { name, .. } | ObjectEffect::PreparesPlain { name, .. } => {
                (name, ChangedBy::Prepare)
            }
            ObjectEffect::Deallocates(Some(name)) => (name, ChangedBy::Deallocate),
            ObjectEffect::Deallocates(None) => {
                let before = self.names.take_named();
                return self
                    .changes
                    .note_all((batch, ChangedBy::Deallocate), before);
            }
            ObjectEffect::Declares { .. }
            | ObjectEffect::Keeps(_)
            | ObjectEffect::Scrolls(_)
            | ObjectEffect::Closes(_) => return,
        };
        let name = name.as_bytes();
        let before = self.names.take(name);
        if by == ChangedBy::Prepare {
            let prepared = Prepared::Sql(effect.clone());
            self.names.insert(name, batch, prepared);
        }
        self.changes.note((batch, by), kept(name).into(), before);
    }

    /// Notes that the server confirms the oldest change, if it is of this kind.
    pub(super) fn confirm(&mut self, by: ChangedBy) {
        self.changes.confirm(by);
    }

    /// Notes that the oldest change has failed after its Close was executed.
    pub(super) fn fail_behind_close(&mut self) {
        self.changes.fail_behind_removal();
    }

    /// Undoes the unconfirmed changes of this batch and earlier ones: the server has skipped them.
    pub(super) fn undo(&mut self, batch: u64) {
        for (name, before) in self.changes.undo(batch) {
            match before {
                Some(prepared) => self.names.insert(&name, batch, prepared),
                None => self.names.remove(&name),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(statements: &mut Statements, name: &str, text: &str, batch: u64) {
        let effect = ObjectEffect::Prepares {
            name: name.to_owned(),
            types: Vec::new(),
            text: text.to_owned(),
        };
        statements.note(&effect, batch);
    }

    fn deallocate(statements: &mut Statements, name: Option<&str>, batch: u64) {
        let effect = ObjectEffect::Deallocates(name.map(str::to_owned));
        statements.note(&effect, batch);
    }

    fn known(statements: &Statements) -> Vec<(String, String)> {
        let effects = statements.effects();
        let known = effects.filter_map(|effect| match effect {
            ObjectEffect::Prepares { name, text, .. } => Some((name, text)),
            _ => None,
        });
        let mut known: Vec<(String, String)> = known.collect();
        known.sort();
        known
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn changes_that_the_server_skipped_are_undone() {
        let mut statements = Statements::default();
        prepare(&mut statements, "a", "1", 0);
        prepare(&mut statements, "b", "1", 0);
        statements.confirm(ChangedBy::Prepare);
        statements.confirm(ChangedBy::Prepare);
        deallocate(&mut statements, Some("a"), 1);
        prepare(&mut statements, "a", "2", 1);
        deallocate(&mut statements, None, 1);
        prepare(&mut statements, "c", "2", 1);
        assert_eq!(known(&statements), pairs(&[("c", "2")]));
        statements.undo(1);
        assert_eq!(known(&statements), pairs(&[("a", "1"), ("b", "1")]));
        deallocate(&mut statements, Some("a"), 2);
        prepare(&mut statements, "a", "2", 2);
        // The first was done, the second was not.
        statements.confirm(ChangedBy::Deallocate);
        statements.undo(2);
        assert_eq!(known(&statements), pairs(&[("b", "1")]));
    }

    #[test]
    fn changes_of_later_batches_stand() {
        let mut statements = Statements::default();
        prepare(&mut statements, "a", "1", 0);
        statements.confirm(ChangedBy::Prepare);
        deallocate(&mut statements, Some("a"), 1);
        prepare(&mut statements, "a", "2", 2);
        statements.undo(1);
        assert_eq!(known(&statements), pairs(&[("a", "2")]));
        statements.undo(2);
        assert_eq!(known(&statements), pairs(&[("a", "1")]));
        deallocate(&mut statements, Some("a"), 3);
        deallocate(&mut statements, None, 4);
        statements.undo(3);
        assert!(known(&statements).is_empty());
        statements.confirm(ChangedBy::Deallocate);
        statements.undo(4);
        assert!(known(&statements).is_empty());
    }

    #[test]
    fn a_name_is_truncated_as_by_the_server() {
        let mut statements = Statements::default();
        let long = "a".repeat(70);
        prepare(&mut statements, &long[..63], "1", 0);
        statements.confirm(ChangedBy::Prepare);
        statements.close(long.as_bytes(), 1);
        assert!(known(&statements).is_empty());
        statements.undo(1);
        assert_eq!(known(&statements), pairs(&[(&long[..63], "1")]));
    }
}
