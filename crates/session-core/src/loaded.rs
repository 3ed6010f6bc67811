//! A schema with a search path and the sealer of its columns: what plans are made for.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use sql_plan::{ColumnId, Plan};
use sql_rewrite::{Schema, SessionFacts};

use crate::sealing::Sealer;

/// A schema with a search path, as plans are made for.
pub struct Loaded {
    /// No other has it.
    pub version: u64,
    /// The same for all search paths of one state of the database; 0: seen by one session only.
    pub generation: u64,
    /// Relations and columns.
    pub schema: Schema,
    /// Seals and opens.
    pub sealer: Arc<Sealer>,
    /// By schema and table: columns of which statements compute the new value from the old one.
    pub(crate) incremented: RwLock<HashMap<(String, String), Vec<ColumnId>>>,
    /// Whether every session with its search path has it; else one alone has.
    pub(crate) is_shared: bool,
    /// No session goes by it any more, or none will soon.
    pub(crate) is_retired: AtomicBool,
}

impl Loaded {
    /// Whether plans for it are worth keeping no more.
    pub fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }

    /// Whether names mean the same by it as in a session, with the database in that state.
    pub(crate) fn is_of(&self, generation: u64, session: &SessionFacts) -> bool {
        self.generation == generation
            && self.schema.search_path == session.search_path
            && self.schema.temporary == session.temporary
    }

    /// Columns that are worth reading when a row of a table is locked: they are computed from
    /// their old values later.
    pub fn incremented(&self, table: &(String, String)) -> Vec<ColumnId> {
        let incremented = self.incremented.read();
        let incremented = incremented.unwrap_or_else(PoisonError::into_inner);
        incremented.get(table).cloned().unwrap_or_default()
    }

    /// How many those are. They only become more.
    pub fn incremented_count(&self, table: &(String, String)) -> usize {
        let incremented = self.incremented.read();
        let incremented = incremented.unwrap_or_else(PoisonError::into_inner);
        incremented.get(table).map_or(0, Vec::len)
    }

    pub(crate) fn note_increments(&self, plan: &Plan) {
        let Plan::ReadModifyWrite(modify) = plan else {
            return;
        };
        let Some(locks) = &modify.locks else {
            return;
        };
        let incremented = self.incremented.write();
        let mut incremented = incremented.unwrap_or_else(PoisonError::into_inner);
        let known = incremented.entry(locks.table.clone()).or_default();
        for column in modify.current.iter().filter_map(|one| one.sealed()) {
            if !known.contains(&column) {
                known.push(column);
            }
        }
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({})", self.version)
    }
}
