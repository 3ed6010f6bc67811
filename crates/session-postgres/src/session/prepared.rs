//! What is prepared at the server, by messages and by SQL: it has one set of names for both.
//!
//! Invariants:
//! 1. What a message or a statement does to names holds from when it is sent, for what is sent
//!    behind it. What was there before is kept until the server says that it was done.
//! 2. Where the server left it out, that is there again: `EXECUTE` of a name that is not known goes
//!    on as it came, so a statement that the server has over a protected table must be known.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use session_core::Statement;
use sql_plan::ObjectEffect;

use crate::session::names::{Names, kept};

/// What a name stands for. What SQL prepared over no protected table is not known.
#[derive(Debug)]
enum Prepared {
    Message(Arc<Statement>),
    /// The effect of the `PREPARE`.
    Sql(ObjectEffect),
}

/// By what names become others; the server tells of each that it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangedBy {
    Parse,
    Close,
    Prepare,
    Deallocate,
}

/// What was sent, and is not answered.
#[derive(Debug)]
struct Change {
    /// As of [`Answers::batch_sent`](super::answers::Answers::batch_sent).
    batch: u64,
    by: ChangedBy,
    /// No name stands for anything behind it.
    is_all: bool,
    /// What its names stood for before.
    before: Vec<(Box<[u8]>, Option<Prepared>)>,
}

/// What is prepared.
#[derive(Debug, Default)]
pub(super) struct Statements {
    names: Names<Prepared>,
    /// In the order in which they were sent.
    changes: VecDeque<Change>,
}

impl Statements {
    /// What a message has prepared.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Arc<Statement>> {
        match self.names.get(name)? {
            Prepared::Message(statement) => Some(statement),
            Prepared::Sql(_) => None,
        }
    }

    /// Those over protected tables that have names, each as the effect of preparing it by SQL.
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

    /// Parse is sent. A second one of a name fails, but where it has none: what was there is gone
    /// before the server looks at the new one.
    pub(super) fn parse(&mut self, name: &[u8], batch: u64, statement: Arc<Statement>) {
        if name.is_empty() {
            self.forget_unnamed();
        }
        self.parse_again(name, batch, statement);
    }

    /// Parse is sent for the same statement anew, which was closed before if it has a name.
    pub(super) fn parse_again(&mut self, name: &[u8], batch: u64, statement: Arc<Statement>) {
        let before = self.names.take(name);
        self.renew(name, batch, statement);
        self.push((batch, ChangedBy::Parse), name, before);
    }

    /// The server's statement stays, with another plan that means the same.
    pub(super) fn renew(&mut self, name: &[u8], batch: u64, statement: Arc<Statement>) {
        let prepared = Prepared::Message(statement);
        self.names.insert(name, batch, prepared);
    }

    /// Close is sent.
    pub(super) fn close(&mut self, name: &[u8], batch: u64) {
        let before = self.names.take(name);
        self.push((batch, ChangedBy::Close), name, before);
    }

    /// The server drops what has no name.
    pub(super) fn forget_unnamed(&mut self) {
        self.names.remove(b"");
    }

    /// A statement is sent that gives names or takes them back.
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
            ObjectEffect::Declares { .. } | ObjectEffect::Closes(_) => return,
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

    /// The server has done what is next to be answered.
    pub(super) fn confirm(&mut self, by: ChangedBy) {
        let next = self.changes.front();
        if next.is_some_and(|next| next.by == by) {
            self.changes.pop_front();
        }
    }

    /// What is next to be answered has failed, behind a Close that was done.
    pub(super) fn fail_behind_close(&mut self) {
        if let Some(next) = self.changes.front_mut() {
            for (_, before) in &mut next.before {
                *before = None;
            }
        }
    }

    /// The server leaves out what it has not done of this batch and those before.
    pub(super) fn undo(&mut self, batch: u64) {
        let sent = self.changes.iter();
        let count = sent.take_while(|change| change.batch <= batch).count();
        if count == 0 {
            return;
        }
        // What was there before the first change of a name is put in last.
        let mut undone: HashMap<Box<[u8]>, Option<Prepared>> = HashMap::new();
        for change in self.changes.drain(..count).rev() {
            undone.extend(change.before);
        }
        // Changes of later batches stand: they were to something else than was believed.
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
    fn what_the_server_left_out_has_not_been() {
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
    fn what_was_sent_later_stands() {
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
    fn a_name_is_what_the_server_keeps_of_it() {
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
