//! The state of the schema that a session goes by.

use std::sync::Arc;

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

    /// What was read in a transaction may tell of its own changes, and was published to nobody.
    pub(super) fn drop_own_schema(&mut self) {
        let loaded = self.loaded.as_ref();
        if loaded.is_some_and(|loaded| loaded.generation == 0) {
            self.go_by(None);
            self.stale.path = true;
        }
    }
}
