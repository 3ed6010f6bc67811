//! Changes to what names mean that were sent, and that the server has not confirmed.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The kind of message or statement that changes a name. The server confirms each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangedBy {
    Parse,
    Close,
    Prepare,
    Deallocate,
    DeclareCursor,
    CloseCursor,
}

/// A change that was sent and is not confirmed.
#[derive(Debug)]
struct Change<K, M> {
    /// As of [`Answers::batch_sent`](super::answers::Answers::batch_sent).
    batch: u64,
    by: ChangedBy,
    /// It removes all names.
    is_all: bool,
    /// The previous meanings of its names.
    before: Vec<(K, Option<M>)>,
}

/// Changes to the meanings of names, in the order in which they were sent.
#[derive(Debug)]
pub(super) struct Unconfirmed<K, M> {
    changes: VecDeque<Change<K, M>>,
}

impl<K, M> Default for Unconfirmed<K, M> {
    fn default() -> Self {
        Self {
            changes: VecDeque::new(),
        }
    }
}

impl<K: Eq + Hash, M> Unconfirmed<K, M> {
    /// Notes that the change of a name is sent, and what it meant before.
    pub(super) fn note(&mut self, (batch, by): (u64, ChangedBy), name: K, before: Option<M>) {
        self.changes.push_back(Change {
            batch,
            by,
            is_all: false,
            before: vec![(name, before)],
        });
    }

    /// Notes that a change is sent that removes all names, and what they meant before.
    pub(super) fn note_all(
        &mut self,
        (batch, by): (u64, ChangedBy),
        before: impl Iterator<Item = (K, M)>,
    ) {
        self.changes.push_back(Change {
            batch,
            by,
            is_all: true,
            before: before.map(|(name, one)| (name, Some(one))).collect(),
        });
    }

    /// Notes that the server confirms the oldest change, if it is of this kind.
    pub(super) fn confirm(&mut self, by: ChangedBy) {
        let next = self.changes.front();
        if next.is_some_and(|next| next.by == by) {
            self.changes.pop_front();
        }
    }

    /// Notes that the oldest change has failed after what its names meant was removed.
    pub(super) fn fail_behind_removal(&mut self) {
        if let Some(next) = self.changes.front_mut() {
            for (_, before) in &mut next.before {
                *before = None;
            }
        }
    }

    /// Forgets the changes of this batch and earlier ones: the server has skipped them. Returns
    /// what their names mean again. Changes of later batches stand.
    pub(super) fn undo(&mut self, batch: u64) -> HashMap<K, Option<M>> {
        let sent = self.changes.iter();
        let count = sent.take_while(|change| change.batch <= batch).count();
        // In reverse, so that the meaning before the first change of a name wins.
        let mut undone: HashMap<K, Option<M>> = HashMap::new();
        for change in self.changes.drain(..count).rev() {
            undone.extend(change.before);
        }
        if undone.is_empty() {
            return undone;
        }
        for change in &mut self.changes {
            for (name, before) in &mut change.before {
                if let Some(known) = undone.remove(name) {
                    *before = known;
                }
            }
            if change.is_all {
                change.before.extend(undone.drain());
            }
        }
        undone
    }
}
