//! A schema with a search path and the sealer of its columns: what plans are made for.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use sql_plan::{ColumnId, LockKey, Plan};
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

    /// Whether a locking `SELECT` should read the columns of its wider variant: one of them has
    /// been incremented, and the `SELECT` leaves it out. Once true for a plan, it stays true.
    pub fn prefers_wider(&self, locks: &LockKey) -> bool {
        let wider = locks.wider.as_ref().and_then(|wider| wider.locks.as_ref());
        wider.is_some_and(|wider| {
            let incremented = self.incremented.read();
            let incremented = incremented.unwrap_or_else(PoisonError::into_inner);
            let mut columns = incremented.get(&locks.table).into_iter().flatten();
            columns.any(|column| wider.reads(*column) && !locks.reads(*column))
        })
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
