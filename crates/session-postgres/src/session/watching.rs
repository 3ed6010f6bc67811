//! The watch over the database of a session.

use std::sync::Arc;
use std::time::Instant;

use session_core::{Announced, StatementError, Watch};

/// The watch over the database of a session.
#[derive(Debug, Default)]
pub(super) struct Watching {
    pub(super) watch: Option<Arc<Watch>>,
    /// Whether the lease had ended when the session looked last whether its schema is valid.
    had_ended: bool,
    /// Announced changes of the schema. The client waits until other proxies have confirmed them.
    pub(super) announced: Vec<Announced>,
}

impl Watching {
    /// Notes whether the lease has ended, before the session looks whether its schema is valid.
    pub(super) fn note(&mut self, now: impl FnOnce() -> Instant) {
        let watch = self.watch.as_ref();
        self.had_ended = watch.is_some_and(|watch| watch.check(now()).is_err());
    }

    /// Checks the lease, which must have been valid already when the session looked at its schema.
    /// A watch that is back invalidates the schema first, and then the lease begins again: whoever
    /// looked before that, and asked for the lease alone after it, would go by an old schema.
    ///
    /// # Errors
    /// The lease has ended, or had.
    pub(super) fn check(&self, now: Instant) -> Result<(), StatementError> {
        match &self.watch {
            Some(_) if self.had_ended => Err(Watch::ended()),
            Some(watch) => watch.check(now),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_lease_that_begins_after_the_look_at_the_schema_does_not_count() {
        let watch = Arc::new(Watch::new(b"base", "base", Duration::from_secs(10)));
        let mut watching = Watching {
            watch: Some(Arc::clone(&watch)),
            ..Watching::default()
        };
        let now = Instant::now();
        watching.note(|| now);
        watch.note_heard(now);
        let error = watching.check(now).expect_err("the schema may be old");
        assert_eq!(error.sqlstate, "F0000");
        watching.note(|| now);
        assert_eq!(watching.check(now), Ok(()));
        let later = now + Duration::from_secs(11);
        assert!(watching.check(later).is_err());
    }
}
