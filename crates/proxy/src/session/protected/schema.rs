//! The state of the schema that a session goes by.

use std::sync::Arc;
use std::time::Instant;

use sql_rewrite::{Effects, SessionFacts};
use sqlstate::SqlState;

use super::{Protected, Stale, Ways};
use crate::loaded::Loaded;
use crate::plans::TextPlan;
use crate::protection::Reading;
use crate::session::answers::{Expected, Unseen};
use crate::session::load::{Extent, Load};
use crate::session::settings;
use crate::statement_error::StatementError;

impl Protected {
    pub(super) fn must_load(&mut self) -> bool {
        let has_failed = self.status == b'E' && !self.goes_back;
        if self.load_failure.is_some() || has_failed {
            return false;
        }
        self.stale.check = self.stale.check || self.is_check_due();
        if self.stale.path || self.stale.schema || self.stale.check {
            return true;
        }
        let changes = self.shared.changes();
        if self.unchanged == Some(changes) {
            return false;
        }
        let own = self.loaded.as_ref().map(|loaded| loaded.generation);
        let holds = match own {
            Some(0) => self.forgets == self.shared.forgets(&self.database),
            own => own == self.shared.generation(&self.database),
        };
        self.unchanged = holds.then_some(changes);
        !holds
    }

    /// Whether this session is to look whether the catalogues changed past all of them. In the
    /// midst of its own changes it could not tell. Before the first query of a transaction a look
    /// would take the snapshot that `SET TRANSACTION` and `LOCK` are to come before.
    fn is_check_due(&self) -> bool {
        let has_begun = self.status == b'I' || self.has_snapshot;
        let is_clear = has_begun && !self.in_pipeline && !self.touched.schema;
        let freshness = self.freshness.as_ref().filter(|_| is_clear);
        freshness.is_some_and(|freshness| freshness.claim(Instant::now()))
    }

    /// Asks the catalogues.
    pub(super) fn begin_load(&mut self, ways: &mut Ways<'_>) {
        // Only now: whoever asks for a database before its login may ask for any.
        if self.freshness.is_none() {
            self.freshness = self.shared.freshness(&self.database);
            self.watch = self.shared.watch(self.asked.name(), &self.database);
        }
        let published = self.shared.generation(&self.database);
        // What only this session sees is not what was published.
        let is_own = self
            .loaded
            .as_ref()
            .is_some_and(|loaded| loaded.generation == 0);
        let extent = if self.stale.schema || published.is_none() || is_own {
            Extent::Whole
        } else if self.stale.check {
            Extent::Check
        } else {
            Extent::Session
        };
        let forgets = self.shared.forgets(&self.database);
        let load = Load::begin(extent, !self.in_pipeline, forgets, ways.to_server);
        self.answers.push(Expected::Unseen(Unseen::Close));
        for _ in load.queries() {
            self.answers.push(Expected::Load { closed: 0 });
        }
        if load.has_sync {
            self.answers.push(Expected::LoadSync);
        }
        self.load = Some(load);
    }

    pub(super) fn end_load(&mut self) {
        let Some(load) = self.load.take() else {
            return;
        };
        if self.load_failure.is_some() {
            return;
        }
        let session = load.session();
        for (name, value) in &session.settings {
            // The server tells of them only before ReadyForQuery.
            let context = Arc::make_mut(&mut self.context);
            settings::note(
                name.as_bytes(),
                value.as_bytes(),
                context,
                &mut self.encoding,
            );
        }
        let is_asked = self.asked.check(&session);
        if let Err(failure) = is_asked.and_then(|()| self.check_snapshot(&load, &session)) {
            self.load_failure = Some(failure);
            return;
        }
        let forgets = load.forgets;
        self.note_look(&load, &session);
        match self.take_loaded(load, &session) {
            Ok(Some(loaded)) => {
                self.go_by(Some(loaded));
                self.forgets = forgets;
                self.unchanged = None;
                self.stale = Stale::default();
            }
            // The message that waits asks again, and for all.
            Ok(None) => {}
            Err(failure) => self.load_failure = Some(failure),
        }
    }

    /// What was asked for; None: another session has changed the schema meanwhile.
    fn take_loaded(
        &self,
        load: Load,
        session: &SessionFacts,
    ) -> Result<Option<Arc<Loaded>>, StatementError> {
        if load.extent != Extent::Whole {
            let own = self.loaded.as_ref();
            return Ok(self.shared.adopt(&self.database, session, own));
        }
        let reading = Reading {
            fingerprint: load.fingerprint().to_owned(),
            schema: self.fit(&sql_rewrite::answers_of(load.answers))?,
            forgets: load.forgets,
        };
        // What is not committed is nobody else's business.
        let is_public = !self.is_in_transaction();
        self.shared.enter(&self.database, reading, is_public)
    }

    /// Tells all sessions whether the catalogues are as they were.
    fn note_look(&self, load: &Load, session: &SessionFacts) {
        if load.extent == Extent::Session {
            return;
        }
        if let Some(freshness) = &self.freshness {
            freshness.note_look(load.began, Instant::now());
        }
        let is_of_now = self.status == b'I' || !sees_one_moment(session);
        if load.extent == Extent::Check && is_of_now {
            let fingerprint = load.fingerprint();
            self.shared
                .compare(&self.database, fingerprint, load.forgets);
        }
    }

    /// Refuses catalogues as a transaction saw them before another session changed them: the
    /// server finds names by those of now.
    fn check_snapshot(&self, load: &Load, session: &SessionFacts) -> Result<(), StatementError> {
        let is_whole = load.extent == Extent::Whole;
        let may_be_old = is_whole && self.is_in_transaction() && sees_one_moment(session);
        if !may_be_old || self.loaded.is_none() || self.forgets == load.forgets {
            return Ok(());
        }
        let message = "could not serialize access: another session has changed the schema";
        Err(
            StatementError::statement(SqlState::SERIALIZATION_FAILURE, message)
                .hint("The transaction might succeed if retried."),
        )
    }

    fn is_in_transaction(&self) -> bool {
        self.status != b'I' || self.in_pipeline
    }

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
            let announced = self.watch.as_ref().map(|watch| watch.announce());
            self.announced.extend(announced);
        }
    }

    /// Refuses to go by what is known where the watch over the database has gone silent. What
    /// begins and ends transactions goes by nothing.
    pub(super) fn check_lease(&self, plan: &TextPlan) -> Result<(), StatementError> {
        match &self.watch {
            Some(watch) if !plan.only_frames() => watch.check(Instant::now()),
            _ => Ok(()),
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

/// Whether a transaction does not see what others commit while it runs.
fn sees_one_moment(session: &SessionFacts) -> bool {
    let level = session.setting("transaction_isolation");
    level.is_some_and(|level| !level.starts_with("read"))
}
