//! The schema of the database in one session: where it was read, whether it is still valid, and
//! what the session's own transaction has changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use session_core::plans::TextPlan;
use session_core::{
    Announced, Database, Freshness, Loaded, Protection, Reading, StatementError, Watch,
};
use sql_plan::Effects;
use sql_rewrite::{Answer, Schema, SchemaError, SessionFacts};
use sqlstate::SqlState;

use super::load::{Extent, Load};
use super::settings::{Settings, major_of};
use super::stale::{Change, Stale};
use super::transaction::Transaction;
use super::watching::Watching;

mod draws;

/// Until when the schema of a session is valid, and what it is read on top of.
#[derive(Debug, Default)]
struct Known {
    /// The value of [`Protection::forgets`] when the schema was read.
    forgets: u64,
    /// While [`Protection::changes`] has this value, the schema is valid. So most messages need not
    /// take the lock that all sessions share.
    unchanged: Option<u64>,
    /// The value of [`Protection::forgets`] up to which [`SchemaView::stale`] has all that changed
    /// since.
    until: u64,
    /// The schema of a transaction that has ended: what it changed is read again on top of it.
    ended: Option<Arc<Loaded>>,
}

/// The schema in one session.
#[derive(Debug)]
pub(super) struct SchemaView {
    shared: Arc<Protection>,
    /// The database that the client asked for.
    database: Database,
    /// The schema that plans are made for.
    loaded: Option<Arc<Loaded>>,
    /// Queries to the catalogues that are under way.
    load: Option<Load>,
    /// Why the schema could not be read. The next statement fails with this error.
    failure: Option<StatementError>,
    known: Known,
    freshness: Option<Arc<Freshness>>,
    watching: Watching,
    stale: Stale,
    /// What the transaction has invalidated. Its end invalidates it again.
    changed: Stale,
    /// The transaction block does not see later commits of others.
    sees_one_moment: bool,
    /// Tables of which the transaction may have dropped protected columns.
    reshaped: Vec<(String, String)>,
}

impl SchemaView {
    /// A session that asks for this database and has read nothing.
    pub(super) fn new(shared: Arc<Protection>, database: Database) -> Self {
        Self {
            shared,
            database,
            loaded: None,
            load: None,
            failure: None,
            known: Known::default(),
            freshness: None,
            watching: Watching::default(),
            stale: Stale {
                path: true,
                ..Stale::default()
            },
            changed: Stale::default(),
            sees_one_moment: false,
            reshaped: Vec::new(),
        }
    }

    /// What all sessions share.
    pub(super) fn shared(&self) -> &Protection {
        &self.shared
    }

    /// Notes that the server has accepted the client. Before that, the client may have asked for
    /// any database.
    pub(super) fn begin(&mut self) {
        let name = self.database.known_as();
        self.freshness = self.shared.freshness(name);
        self.watching.watch = self.shared.watch(self.database.name(), name);
    }

    /// The key under which the schema is shared.
    pub(super) fn database(&self) -> &str {
        self.database.known_as()
    }

    /// The watch over the database, once the server has accepted the client.
    pub(super) fn watch(&self) -> Option<&Arc<Watch>> {
        self.watching.watch.as_ref()
    }

    /// See [`Session::take_announced`](super::Session::take_announced).
    pub(super) fn take_announced(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.watching.announced)
    }

    /// The number of the schema that plans are made for.
    pub(super) fn version(&self) -> Option<u64> {
        self.loaded.as_ref().map(|loaded| loaded.version)
    }

    /// The error for a text that is planned although the transaction has failed, so that the
    /// catalogues could not be read. Returned once.
    pub(super) fn take_failure_of_transaction(&mut self) -> Option<StatementError> {
        let state = SqlState::IN_FAILED_SQL_TRANSACTION;
        self.failure.take_if(|failure| failure.sqlstate == state)
    }

    /// Checks that the catalogues could be read. The error is returned once.
    ///
    /// # Errors
    /// They could not be read.
    pub(super) fn check_load(&mut self) -> Result<(), StatementError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The schema that plans are made for.
    ///
    /// # Errors
    /// It has not been read, and cannot be read now.
    pub(super) fn loaded(&self) -> Result<&Arc<Loaded>, StatementError> {
        self.loaded.as_ref().ok_or_else(|| {
            StatementError::statement(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "the schema cannot be read in a transaction that has failed",
            )
        })
    }

    /// The queries to the catalogues that are under way.
    pub(super) fn load_mut(&mut self) -> Option<&mut Load> {
        self.load.as_mut()
    }

    /// Whether queries to the catalogues are under way.
    pub(super) fn is_loading(&self) -> bool {
        self.load.is_some()
    }

    /// Notes that the queries have failed. Returns the error if the client must get it at once.
    pub(super) fn fail_load(&mut self, failure: StatementError) -> Option<StatementError> {
        if self.load.take().is_some_and(|load| load.has_sync) {
            self.failure = Some(failure);
            return None;
        }
        Some(failure)
    }

    /// Notes that the server skips the queries.
    pub(super) fn drop_load(&mut self) {
        self.load = None;
    }

    /// Notes the effects of a statement that is sent.
    pub(super) fn note_effects(&mut self, effects: &Effects) {
        self.stale.note(effects);
        self.changed.note(effects);
        self.begin_reshaping(effects);
    }

    /// Notes that changes of the transaction may be undone. `SET LOCAL` always is.
    pub(super) fn doubt_changes(&mut self) {
        self.stale.schema.add(&self.changed.schema);
        self.stale.path |= self.changed.path;
    }

    /// Whether the transaction has changed what names mean.
    pub(super) fn has_changes(&self) -> bool {
        self.changed.schema.is_any() || self.changed.path
    }

    /// Notes that a transaction has ended, and with it what it saw.
    pub(super) fn forget_moment(&mut self) {
        self.sees_one_moment = false;
    }

    /// Notes that no transaction is open and everything is answered.
    pub(super) fn settle_changes(&mut self) {
        self.changed = Stale::default();
    }

    /// Whether the catalogues must be read before the next plan.
    pub(super) fn must_load(&mut self, transaction: &Transaction) -> bool {
        self.watching.note(Instant::now);
        if self.failure.is_some() || transaction.has_failed() {
            return false;
        }
        if transaction.is_outside_block() {
            self.sees_one_moment = false;
        }
        self.stale.check = self.stale.check || self.is_check_due(transaction);
        self.stale.check || self.is_outdated()
    }

    /// Whether the schema may be another one by now, by what the proxy knows.
    pub(super) fn is_outdated(&mut self) -> bool {
        if self.stale.path || self.stale.schema.is_any() {
            return true;
        }
        let changes = self.shared.changes();
        if self.known.unchanged == Some(changes) {
            return false;
        }
        let own = self.loaded.as_ref().map(|loaded| loaded.generation);
        let holds = match own {
            Some(0) => self.known.forgets == self.shared.forgets(self.database.known_as()),
            own => own == self.shared.generation(self.database.known_as()),
        };
        self.known.unchanged = holds.then_some(changes);
        !holds
    }

    /// Whether this session is to check for changes made directly at the server. After changes of
    /// its own it could not tell them apart. Before the first query of a transaction a check would
    /// take the snapshot, which `SET TRANSACTION` and `LOCK` must precede. A transaction that sees
    /// one moment would find nothing new, and use up the check of a session that would.
    fn is_check_due(&self, transaction: &Transaction) -> bool {
        let is_clear =
            transaction.may_be_asked() && !self.changed.schema.is_any() && !self.sees_one_moment;
        let freshness = self.freshness.as_ref().filter(|_| is_clear);
        freshness.is_some_and(|freshness| freshness.claim(Instant::now()))
    }

    /// Writes the queries to the catalogues.
    pub(super) fn begin_load(
        &mut self,
        transaction: &Transaction,
        to_server: &mut Vec<u8>,
    ) -> &Load {
        let published = self.shared.generation(self.database.known_as());
        // A schema that only this session sees is not the published one.
        let is_own = self
            .loaded
            .as_ref()
            .is_some_and(|loaded| loaded.generation == 0);
        let forgets = self.shared.forgets(self.database.known_as());
        let extent = if self.stale.schema.is_any() || published.is_none() || is_own {
            self.changed_extent(forgets).unwrap_or(Extent::Whole)
        } else if self.stale.check {
            Extent::Check
        } else {
            Extent::Session
        };
        let load = Load::begin(extent, !transaction.in_pipeline(), forgets, to_server);
        self.load.insert(load)
    }

    /// What to read where only this session has changed the schema, and it is known which
    /// relations. None: everything. When it is time to check for changes of others, that is done by
    /// reading everything: a fingerprint would not tell them apart.
    fn changed_extent(&self, forgets: u64) -> Option<Extent> {
        let has_base = self.base().is_some() && self.known.until == forgets;
        match &self.stale.schema {
            _ if !has_base || self.stale.check => None,
            Change::Nothing => Some(Extent::Changed(BTreeSet::new())),
            Change::Named(names) => Some(Extent::Changed(names.clone())),
            Change::Anything => None,
        }
    }

    /// The schema on top of which changes are read.
    fn base(&self) -> Option<&Arc<Loaded>> {
        self.loaded.as_ref().or(self.known.ended.as_ref())
    }

    /// Takes the complete answers.
    pub(super) fn end_load(&mut self, transaction: &Transaction, settings: &mut Settings) {
        let Some(load) = self.load.take() else {
            return;
        };
        if self.failure.is_some() || self.end_draw(&load, settings) {
            return;
        }
        let session = load.session();
        settings.note_session(&session);
        let is_asked = self.database.check(&session);
        let is_read = is_asked.and_then(|()| settings.encoding().check_names(&session));
        if let Err(failure) =
            is_read.and_then(|()| self.check_snapshot(&load, &session, transaction))
        {
            self.failure = Some(failure);
            return;
        }
        let forgets = load.forgets;
        self.sees_one_moment = !transaction.is_outside_block() && sees_one_moment(&session);
        self.note_look(&load);
        match self.take_loaded(load, &session, transaction) {
            Ok(Some(loaded)) => {
                settings.note_schema(&loaded.schema);
                self.go_by(Some(loaded));
                self.known = Known {
                    forgets,
                    until: forgets,
                    ..Known::default()
                };
                self.stale = Stale::default();
            }
            // The message that waits causes a complete reading.
            Ok(None) => self.stale.schema = Change::Anything,
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// The schema that was read. None: another session has changed it in the meantime.
    fn take_loaded(
        &self,
        load: Load,
        session: &SessionFacts,
        transaction: &Transaction,
    ) -> Result<Option<Arc<Loaded>>, StatementError> {
        let forgets = load.forgets;
        let (fingerprint, schema) = match load.extent {
            Extent::Session | Extent::Check | Extent::Draw(_) => {
                let own = self.loaded.as_ref();
                return Ok(self.shared.adopt(self.database.known_as(), session, own));
            }
            Extent::Changed(names) => match self.changed(&names, load.answers, session) {
                Some(schema) => (None, schema),
                None => return Ok(None),
            },
            Extent::Whole => {
                let fingerprint = load.fingerprint().to_owned();
                let mut schema = self.fit(&sql_rewrite::answers_of(load.answers))?;
                let major = major_of(session);
                let finisher = &mut schema.catalogue.finisher;
                finisher.is_there = self.shared.has_finisher(major);
                finisher.lacking = self.shared.lacks_finisher(major).then_some(major);
                (Some(fingerprint), schema)
            }
        };
        let reading = Reading {
            fingerprint,
            schema,
            forgets,
        };
        // Uncommitted changes are not published.
        let is_public = !transaction.may_be_open();
        self.shared
            .enter(self.database.known_as(), reading, is_public)
    }

    /// Reports to all sessions whether the catalogues have changed.
    fn note_look(&self, load: &Load) {
        // What a transaction sees of an earlier moment says nothing of now: another session looks.
        if matches!(load.extent, Extent::Session | Extent::Changed(_)) || self.sees_one_moment {
            return;
        }
        if let Some(freshness) = &self.freshness {
            let answered = Instant::now();
            // How long everything takes says nothing of how long a check takes.
            let is_check = load.extent == Extent::Check;
            let asked = if is_check { load.began } else { answered };
            freshness.note_look(asked, answered);
        }
        if load.extent == Extent::Check {
            let fingerprint = load.fingerprint();
            self.shared
                .compare(self.database.known_as(), fingerprint, load.forgets);
        }
    }

    /// Refuses catalogues that a transaction read before another session changed them: the server
    /// resolves names by the current ones.
    fn check_snapshot(
        &self,
        load: &Load,
        session: &SessionFacts,
        transaction: &Transaction,
    ) -> Result<(), StatementError> {
        let is_whole = matches!(load.extent, Extent::Whole | Extent::Changed(_));
        let may_be_old = is_whole && transaction.may_be_open() && sees_one_moment(session);
        if !may_be_old || self.loaded.is_none() || self.known.forgets == load.forgets {
            return Ok(());
        }
        let message = "could not serialize access: another session has changed the schema";
        Err(
            StatementError::statement(SqlState::SERIALIZATION_FAILURE, message)
                .hint("The transaction might succeed if retried."),
        )
    }

    /// Replaces the schema. One that no other session shares is released.
    fn go_by(&mut self, loaded: Option<Arc<Loaded>>) {
        let Some(before) = std::mem::replace(&mut self.loaded, loaded) else {
            return;
        };
        let now = self.loaded.as_ref();
        if now.is_none_or(|now| !Arc::ptr_eq(now, &before)) {
            self.shared.release(&before);
        }
    }

    /// Publishes that the transaction may have changed the schema for all sessions.
    pub(super) fn publish_changes(&mut self) {
        let reshaped = std::mem::take(&mut self.reshaped);
        if !reshaped.is_empty() {
            self.shared
                .end_reshaping(self.database.known_as(), &reshaped);
        }
        if self.changed.schema.is_any() {
            let forgets = self.shared.forget(self.database.known_as());
            // Nobody else has changed anything in between. The change of one's own is no reason to
            // doubt what the transaction sees.
            if forgets == self.known.until + 1 {
                self.known.until = forgets;
            }
            if forgets == self.known.forgets + 1 {
                self.known.forgets = forgets;
            }
            let announced = self.watching.watch.as_ref().map(|watch| watch.announce());
            self.watching.announced.extend(announced);
        }
    }

    /// Checks the lease of the watch over the database. Statements that only begin and end
    /// transactions do not depend on the schema.
    pub(super) fn check_lease(&self, plan: &TextPlan) -> Result<(), StatementError> {
        match plan.only_frames() {
            true => Ok(()),
            false => self.watching.check(Instant::now()),
        }
    }

    /// Notes that a statement is sent that may drop protected columns of tables.
    fn begin_reshaping(&mut self, effects: &Effects) {
        if !effects.reshapes.is_empty() {
            self.shared
                .begin_reshaping(self.database.known_as(), &effects.reshapes);
            self.reshaped.extend_from_slice(&effects.reshapes);
        }
    }

    /// Drops a schema that was read in a transaction: it may include uncommitted changes.
    pub(super) fn drop_own_schema(&mut self) {
        let loaded = self.loaded.as_ref();
        if loaded.is_some_and(|loaded| loaded.generation == 0) {
            self.known.ended = self.loaded.clone();
            self.go_by(None);
            self.stale.path = true;
        }
    }
    /// The schema of the database.
    ///
    /// # Errors
    /// The rules do not match it, so no statement is safe.
    fn fit(&self, answers: &[Answer]) -> Result<Schema, StatementError> {
        let seen = self.shared.seen(self.database.known_as());
        let schema = Schema::build_with_unfit(self.shared.rules(), answers, &seen);
        let schema = schema.map_err(|errors| {
            let failure = unfit(&errors);
            self.warn(format!("every statement is refused: {}", failure.message));
            failure
        })?;
        self.warn_of(&schema);
        Ok(schema)
    }

    /// The schema before, with what was read of relations that have changed. None: everything must
    /// be read.
    fn changed(
        &self,
        names: &BTreeSet<String>,
        answers: Vec<Answer>,
        session: &SessionFacts,
    ) -> Option<Schema> {
        let answers = sql_rewrite::changed_of(answers)?;
        let seen = self.shared.seen(self.database.known_as());
        let names = names.iter().map(String::as_str);
        let base = &self.base()?.schema;
        let mut schema = base.with_changed(self.shared.rules(), names, &answers, &seen)?;
        schema.search_path.clone_from(&session.search_path);
        schema.temporary.clone_from(&session.temporary);
        self.warn_of(&schema);
        Some(schema)
    }

    /// Logs where rules and database do not fit.
    fn warn_of(&self, schema: &Schema) {
        for text in schema.closed.values() {
            self.warn(text.clone());
        }
        for column in schema.missing_columns() {
            let name = (column.schema.clone(), column.table.clone());
            if !schema.closed.contains_key(&name) {
                self.warn(column.missing_text());
            }
        }
        for error in &schema.unfit {
            self.warn(format!(
                "statements over protected columns are refused: {error}"
            ));
        }
    }

    /// Refuses statements on protected columns while a column with a rule is in clear.
    pub(super) fn check_fit(&mut self, plan: &TextPlan) -> Result<(), StatementError> {
        let errors = &plan.loaded.schema.unfit;
        if errors.is_empty() || plan.passes() {
            return Ok(());
        }
        // It may have been repaired directly at the server.
        self.stale.schema = Change::Anything;
        Err(unfit(errors))
    }

    /// Whether a refusal is about a table that lost a column. It has been logged before. The schema
    /// is read again, since the table may have been repaired directly at the server.
    pub(super) fn is_of_closed(&mut self, failure: &StatementError) -> bool {
        let mut schemas = self.loaded.iter().map(|loaded| &loaded.schema);
        let is_of_closed = schemas.any(|schema| {
            let mut texts = schema.closed.values();
            texts.any(|text| *text == failure.message)
        });
        if is_of_closed {
            self.stale.schema = Change::Anything;
        }
        is_of_closed
    }

    pub(super) fn warn(&self, warning: String) {
        self.shared.warn_once(self.database.known_as(), warning);
    }
}

impl Drop for SchemaView {
    fn drop(&mut self) {
        // The server may have committed although its answer did not arrive.
        self.publish_changes();
        self.go_by(None);
    }
}

fn unfit(errors: &[SchemaError]) -> StatementError {
    let first = errors.first().map(ToString::to_string).unwrap_or_default();
    let more = match errors.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!("rules and database do not fit: {first}{more}");
    let hint = "Run `strongroom columns check`. What it names is mended at the server itself.";
    StatementError::rules(message).hint(hint)
}

/// Whether a transaction at this isolation does not see later commits of others.
fn sees_one_moment(session: &SessionFacts) -> bool {
    let level = session.setting("transaction_isolation");
    level.is_some_and(|level| !level.starts_with("read"))
}
