//! A schema with a search path and the keys of its columns: what a plan is made for.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use sql_plan::{ColumnId, LockKey, Plan};
use sql_rewrite::{Schema, SessionFacts};

use crate::sealing::Sealer;

/// A schema with a search path: what a plan is made for.
pub struct Loaded {
    /// A number that no other has.
    pub version: u64,
    /// The number of the published schema, the same for all search paths. 0: one session alone sees
    /// it.
    pub generation: u64,
    /// Relations and columns.
    pub schema: Schema,
    /// Seals and opens.
    pub sealer: Arc<Sealer>,
    /// By schema and table: columns whose new values some statement computes from the old ones.
    pub(crate) incremented: RwLock<HashMap<(String, String), Vec<ColumnId>>>,
    /// Whether all sessions with its search path share it.
    pub(crate) is_shared: bool,
    /// Set when sessions stop using it.
    pub(crate) is_retired: AtomicBool,
}

impl Loaded {
    /// Whether sessions have stopped using it, so that plans for it need not be cached.
    pub fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }

    /// Whether it is the published schema of this number with the names of this session.
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
