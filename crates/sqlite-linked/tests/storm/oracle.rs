//! The oracle: the committed states, and what each session must see of them.

use std::sync::Arc;

use crate::content::{Change, State};

/// The two databases of a storm: the main one and an attached one.
pub const SCHEMAS: [&str; 2] = ["main", "side"];

/// Both databases as one transaction sees them; `None` for one that it has not read yet.
pub type View = [Option<Arc<State>>; 2];

/// An open transaction.
#[derive(Clone, Default)]
pub struct Transaction {
    view: View,
    /// The view before the transaction's own changes.
    base: View,
    changed: [bool; 2],
    savepoints: Vec<(View, [bool; 2])>,
}

impl Transaction {
    /// What the transaction sees of a database, from its first read on.
    pub fn look(&mut self, database: usize, committed: &Arc<State>) -> Arc<State> {
        let seen = self.view[database].get_or_insert_with(|| committed.clone());
        self.base[database].get_or_insert_with(|| seen.clone());
        seen.clone()
    }

    /// What it sees of the main database, if it has read it.
    pub fn main(&self) -> Option<&Arc<State>> {
        self.view[0].as_ref()
    }

    pub fn change(&mut self, database: usize, committed: &Arc<State>, change: &Change) {
        let mut state = (*self.look(database, committed)).clone();
        state.apply(change);
        self.view[database] = Some(Arc::new(state));
        self.changed[database] = true;
    }

    pub fn savepoint(&mut self) {
        self.savepoints.push((self.view.clone(), self.changed));
    }

    pub fn savepoints(&self) -> usize {
        self.savepoints.len()
    }

    /// Rolls back to savepoint `index`, which remains. A snapshot taken since remains, too.
    pub fn roll_back_to(&mut self, index: usize) {
        self.savepoints.truncate(index + 1);
        let (view, changed) = self.savepoints[index].clone();
        let [main, side] = view;
        let [base_main, base_side] = self.base.clone();
        self.view = [main.or(base_main), side.or(base_side)];
        self.changed = changed;
    }

    pub fn release(&mut self, index: usize) {
        self.savepoints.truncate(index);
    }

    /// The content of the databases if the transaction is committed.
    pub fn outcome(&self, committed: &[Arc<State>; 2]) -> [Arc<State>; 2] {
        [0, 1].map(|database| match &self.view[database] {
            Some(state) if self.changed[database] => state.clone(),
            _ => committed[database].clone(),
        })
    }
}
