//! The state of the schema that a session goes by.

use std::sync::Arc;

use sql_rewrite::Effects;

use super::Protected;
use crate::protection::Loaded;

impl Protected {
    /// Goes by another state, or by none. What no other session has ends with it.
    pub(super) fn go_by(&mut self, loaded: Option<Arc<Loaded>>) {
        let Some(before) = std::mem::replace(&mut self.loaded, loaded) else {
            return;
        };
        let now = self.loaded.as_ref();
        if now.is_none_or(|now| !Arc::ptr_eq(now, &before)) {
            self.shared.release(&before);
        }
    }

    /// What the transaction changed may be everybody's now.
    pub(super) fn publish_changes(&mut self) {
        let reshaped = std::mem::take(&mut self.reshaped);
        if !reshaped.is_empty() {
            self.shared.end_reshaping(&self.database, &reshaped);
        }
        if self.touched.schema {
            self.shared.forget(&self.database);
        }
    }

    /// A statement is sent that may take columns with rules from tables.
    pub(super) fn begin_reshaping(&mut self, effects: &Effects) {
        if !effects.reshapes.is_empty() {
            self.shared
                .begin_reshaping(&self.database, &effects.reshapes);
            self.reshaped.extend_from_slice(&effects.reshapes);
        }
    }

    /// What was read in a transaction may tell of its own changes, and was published to nobody.
    pub(super) fn drop_own_schema(&mut self) {
        let loaded = self.loaded.as_ref();
        if loaded.is_some_and(|loaded| loaded.generation == 0) {
            self.go_by(None);
            self.stale.path = true;
        }
    }
}
