//! Prepared statements of a session, made by messages or by SQL: the server has one set of names
//! for both.
//!
//! Invariants:
//! 1. A change to a name takes effect when its message is sent, for all later messages. The
//!    previous meaning is kept until the server confirms the change.
//! 2. If the server skips the change, the previous meaning is restored. `EXECUTE` of an unknown
//!    name is forwarded unchanged, so every statement over a protected table must be known.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use session_core::Statement;
use sql_plan::ObjectEffect;

use crate::session::names::{Names, kept};

/// What a name stands for. Statements that SQL prepared over plain tables are not recorded.
#[derive(Debug)]
enum Prepared {
    Message(Arc<Statement>),
    /// The effect of the `PREPARE`.
    Sql(ObjectEffect),
}

/// The kind of message or statement that changes a name. The server confirms each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangedBy {
    Parse,
    Close,
    Prepare,
    Deallocate,
}

/// A change that was sent and is not confirmed.
#[derive(Debug)]
struct Change {
    /// As of [`Answers::batch_sent`](super::answers::Answers::batch_sent).
    batch: u64,
    by: ChangedBy,
    /// It removes all names.
    is_all: bool,
    /// The previous meanings of its names.
    before: Vec<(Box<[u8]>, Option<Prepared>)>,
}

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(super) struct Statements {
    names: Names<Prepared>,
    /// In the order in which they were sent.
    changes: VecDeque<Change>,
}

impl Statements {
    /// The statement of this name, if a message has prepared it.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Arc<Statement>> {
        match self.names.get(name)? {
            Prepared::Message(statement) => Some(statement),
            Prepared::Sql(_) => None,
        }
    }

    /// The named statements over protected tables, each as the effect of a `PREPARE`.
    pub(super) fn effects(&self) -> impl Iterator<Item = ObjectEffect> {
        let named = self.names.named();
        named.filter_map(|(name, prepared)| match prepared {
            Prepared::Message(statement) if statement.plan.passes() => None,
            Prepared::Message(statement) => Some(ObjectEffect::Prepares {
                name: String::from_utf8_lossy(name).into_owned(),
                types: Vec::new(),
                text: statement.text.to_string(),
            }),
            Prepared::Sql(effect) => Some(effect.clone()),
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
        self.push((batch, ChangedBy::Parse), name, before);
    }

    /// Replaces the plan of a statement by an equal one. The server keeps its statement.
    pub(super) fn renew(&mut self, name: &[u8], batch: u64, statement: Arc<Statement>) {
        let prepared = Prepared::Message(statement);
        self.names.insert(name, batch, prepared);
    }

    /// Notes that Close is sent.
    pub(super) fn close(&mut self, name: &[u8], batch: u64) {
        let before = self.names.take(name);
        self.push((batch, ChangedBy::Close), name, before);
    }

    /// Notes that the server drops the unnamed statement.
    pub(super) fn forget_unnamed(&mut self) {
        self.names.remove(b"");
    }

    /// Notes that a statement is sent that prepares or deallocates statements.
    pub(super) fn note(&mut self, effect: &ObjectEffect, batch: u64) {
        let (name, by) = match effect {
            ObjectEffect::Prepares { name, .. } | ObjectEffect::PreparesPlain(name) => {
                (name, ChangedBy::Prepare)
            }
            ObjectEffect::Deallocates(Some(name)) => (name, ChangedBy::Deallocate),
            ObjectEffect::Deallocates(None) => {
                let before = self.names.take_named();
                return self.changes.push_back(Change {
                    batch,
                    by: ChangedBy::Deallocate,
                    is_all: true,
                    before: before.map(|(name, one)| (name, Some(one))).collect(),
                });
            }
            ObjectEffect::Declares { .. }
            | ObjectEffect::Keeps(_)
            | ObjectEffect::Scrolls(_)
            | ObjectEffect::Closes(_) => return,
        };
        let name = name.as_bytes();
        let before = self.names.take(name);
        if matches!(effect, ObjectEffect::Prepares { .. }) {
            let prepared = Prepared::Sql(effect.clone());
            self.names.insert(name, batch, prepared);
        }
        self.push((batch, by), name, before);
    }

    fn push(&mut self, (batch, by): (u64, ChangedBy), name: &[u8], before: Option<Prepared>) {
        self.changes.push_back(Change {
            batch,
            by,
            is_all: false,
            before: vec![(kept(name).into(), before)],
        });
    }

    /// Notes that the server confirms the oldest change, if it is of this kind.
    pub(super) fn confirm(&mut self, by: ChangedBy) {
        let next = self.changes.front();
        if next.is_some_and(|next| next.by == by) {
            self.changes.pop_front();
        }
    }

    /// Notes that the oldest change has failed after its Close was executed.
    pub(super) fn fail_behind_close(&mut self) {
        if let Some(next) = self.changes.front_mut() {
            for (_, before) in &mut next.before {
                *before = None;
            }
        }
    }

    /// Undoes the unconfirmed changes of this batch and earlier ones: the server has skipped them.
    pub(super) fn undo(&mut self, batch: u64) {
        let sent = self.changes.iter();
        let count = sent.take_while(|change| change.batch <= batch).count();
        if count == 0 {
            return;
        }
        // In reverse, so that the meaning before the first change of a name wins.
        let mut undone: HashMap<Box<[u8]>, Option<Prepared>> = HashMap::new();
        for change in self.changes.drain(..count).rev() {
            undone.extend(change.before);
        }
        // Changes of later batches stand; only the meanings before them are corrected.
        for change in &mut self.changes {
            for (name, before) in &mut change.before {
                if let Some(known) = undone.remove(&**name) {
                    *before = known;
                }
            }
            if change.is_all {
                change.before.extend(undone.drain());
            }
        }
        for (name, before) in undone {
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
