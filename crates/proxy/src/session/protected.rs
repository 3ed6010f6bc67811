//! The part of a session that applies plans: what the client's messages become, and what the
//! server's answers become.
//!
//! Invariants:
//! 1. Every message that the server answers has its entry in [`Answers`], in the order in which
//!    they went to the server. An answer that is not expected ends the session.
//! 2. A statement of the server goes by the plan that it was parsed by: where it is in doubt which
//!    one the server has under a name, the name is forgotten, and Bind to it fails.
//! 3. While a statement takes steps whose outcome decides what is sent next, the client's messages
//!    wait: so what the proxy sends then stands where that statement stood.
//! 4. What the proxy refuses becomes a statement on which the server fails, so that the failure
//!    comes in its order, and ends the transaction as the server's own would.

use std::sync::Arc;

use column_types::TextContext;
use sql_rewrite::{Objects, Output, TransactionEffect, may_fetch};
use sqlstate::SqlState;
use wire_postgres::Malformed;
use wire_postgres::backend::{self, Failure};
use wire_postgres::frontend::{self, Bind, Execute, Parse, Target};

use super::answers::{Answers, Expected};
use super::copying::Copying;
use super::database::Database;
use super::load::Load;
use super::locks::Locks;
use super::own::OwnStatements;
use super::prepared::Statements;
use super::settings::{self, Encoding};
use super::{End, Way};
use crate::counters::add;
use crate::loaded::Loaded;
use crate::plans::TextPlan;
use crate::protection::{Freshness, Protection};
use crate::session::names::Names;
use crate::session::portals::{Portal, PortalState};
use crate::statement_error::StatementError;
use crate::watch::{Announced, Watch};

mod copies;
mod extended;
mod fit;
mod given;
mod late;
mod queries;
mod reply;
mod schema;
mod simple;
mod steps;

use given::Ending;
use late::Late;
use simple::Script;

pub(super) use reply::is_fatal;

/// Names the statement that the server fails on.
const REFUSED: &[u8] = b"strongroom_refused";
/// What the server fails on: no SQL, and free of anything of the client's.
const REFUSED_TEXT: &[u8] = b"strongroom refused the statement that stood here";

/// What must be asked again before the next plan.
#[derive(Clone, Copy, Debug, Default)]
struct Stale {
    schema: bool,
    path: bool,
    /// Somebody else may have changed the catalogues.
    check: bool,
}

/// Where messages go.
pub(super) struct Ways<'a> {
    pub to_client: &'a mut Vec<u8>,
    pub to_server: &'a mut Vec<u8>,
}

/// The state of a session with protected columns.
#[derive(Debug)]
pub(super) struct Protected {
    shared: Arc<Protection>,
    /// By what its schema is known.
    database: String,
    /// The same as the client asked for it.
    asked: Database,
    loaded: Option<Arc<Loaded>>,
    /// What [`Protection::forgets`] was when that was asked for.
    forgets: u64,
    freshness: Option<Arc<Freshness>>,
    watch: Option<Arc<Watch>>,
    /// Other proxies are told that the schema changed: the client waits until they know.
    announced: Vec<Announced>,
    /// A statement of the transaction was executed that the server took a snapshot for.
    has_snapshot: bool,
    /// While [`Protection::changes`] is this, what is loaded holds: most messages need not ask,
    /// which all sessions would do one after the other.
    unchanged: Option<u64>,
    stale: Stale,
    /// What the transaction made stale: its end does so again.
    touched: Stale,
    context: Arc<TextContext>,
    /// When the transaction began, once that was asked: microseconds since 2000-01-01.
    began: Option<i64>,
    encoding: Encoding,
    statements: Statements,
    portals: Names<Portal>,
    /// What was declared by SQL.
    objects: Objects,
    ending: Ending,
    own: OwnStatements,
    locks: Locks,
    answers: Answers,
    /// Rows are awaited that decide what is sent next.
    is_waiting: bool,
    /// The rest of a Query of which a statement takes steps.
    script: Option<Script>,
    /// Types of parameters, while the parts of a statement are described.
    described: Vec<u32>,
    /// The server leaves out everything up to the next Sync.
    is_skipping: bool,
    /// Messages of the extended protocol came since the last Sync.
    in_pipeline: bool,
    /// There were many answers under way when the last message was sent.
    was_crowded: bool,
    /// Messages of it went to the server since the last Sync there.
    is_unsynced: bool,
    /// Writes that wait for the client's next message.
    late: Late,
    load: Option<Load>,
    /// A COPY is under way.
    copying: Option<Copying>,
    /// What the client is told in place of the server's error about it.
    copy_failure: Option<StatementError>,
    /// Why the schema is not known: told to the next statement.
    load_failure: Option<StatementError>,
    /// As the last ReadyForQuery said.
    status: u8,
    /// A statement under way ends the transaction, or a part of it.
    goes_back: bool,
    /// Tables that the transaction may have taken columns with rules from.
    reshaped: Vec<(String, String)>,
}

impl Protected {
    pub(super) fn new(shared: Arc<Protection>, asked: Database) -> Self {
        Self {
            shared,
            database: asked.known_as().to_owned(),
            asked,
            loaded: None,
            forgets: 0,
            freshness: None,
            watch: None,
            announced: Vec::new(),
            has_snapshot: false,
            unchanged: None,
            stale: Stale {
                path: true,
                ..Stale::default()
            },
            touched: Stale::default(),
            context: Arc::default(),
            began: None,
            encoding: Encoding::default(),
            statements: Statements::default(),
            portals: Names::default(),
            objects: Objects::default(),
            ending: Ending::default(),
            own: OwnStatements::default(),
            locks: Locks::default(),
            answers: Answers::default(),
            is_waiting: false,
            script: None,
            described: Vec::new(),
            is_skipping: false,
            in_pipeline: false,
            was_crowded: false,
            is_unsynced: false,
            late: Late::default(),
            load: None,
            copying: None,
            copy_failure: None,
            load_failure: None,
            status: b'I',
            goes_back: false,
            reshaped: Vec::new(),
        }
    }

    /// The watch over its database, once that is known.
    pub(super) fn watch(&self) -> Option<&Arc<Watch>> {
        self.watch.as_ref()
    }

    /// See [`Session::take_announced`](super::Session::take_announced).
    pub(super) fn take_announced(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.announced)
    }

    /// A setting that the server reports.
    pub(super) fn note_setting(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let (name, value) = backend::read_parameter_status(body)?;
        let context = Arc::make_mut(&mut self.context);
        settings::note(name, value, context, &mut self.encoding);
        Ok(())
    }

    /// What to do with a message of the client.
    pub(super) fn client_way(&mut self, kind: u8) -> Way {
        use frontend::kind;
        if self.load.is_some() || self.is_waiting {
            return Way::Wait;
        }
        match kind {
            kind::TERMINATE => Way::Pass,
            _ if self.late.awaits_sync && kind != kind::SYNC => Way::Ask,
            kind::SYNC | kind::FLUSH if self.copies_in() => Way::Drop,
            kind::SYNC => Way::Read,
            _ if self.is_skipping => Way::Drop,
            kind::PARSE | kind::BIND | kind::QUERY if self.must_load() => Way::Ask,
            kind::QUERY if !self.late.is_empty() => Way::Ask,
            kind::COPY_DATA | kind::COPY_DONE | kind::COPY_FAIL => self.copy_way(kind),
            _ => Way::Read,
        }
    }

    /// What to do with a message of the server.
    pub(super) fn server_way(&self, kind: u8) -> Way {
        match kind {
            backend::kind::DATA_ROW if self.answers.rows_pass() => Way::Pass,
            backend::kind::COPY_DATA if !self.copies_out() => Way::Pass,
            backend::kind::NOTIFICATION => Way::Pass,
            _ => Way::Read,
        }
    }

    /// Whether the client's messages may become more.
    pub(super) fn wants_client(&self) -> bool {
        !self.answers.are_crowded()
    }

    /// Has the server say what it owes, where that is so much that the client is not read until
    /// then: it may be waiting for a Sync that the client has not sent.
    fn flush_crowd(&mut self, ways: &mut Ways<'_>) {
        let is_crowded = self.answers.are_crowded();
        if is_crowded && !self.was_crowded {
            backend::write_empty(frontend::kind::FLUSH, ways.to_server);
            self.say_own(ways);
        }
        self.was_crowded = is_crowded;
    }

    /// Whether the server owes nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.answers.is_empty() && !self.in_pipeline && self.script.is_none()
    }

    /// Asks the server what must be known before the client's next message, which waits.
    pub(super) fn ask_first(&mut self, ways: &mut Ways<'_>) {
        if self.late.awaits_sync {
            self.await_step(ways);
        } else if self.must_load() {
            self.begin_load(ways);
        } else {
            self.settle(ways);
        }
    }

    /// The plan of a text.
    fn plan(&mut self, text: &[u8]) -> Result<(Arc<TextPlan>, Box<str>), StatementError> {
        if let Some(failure) = self.load_failure.take() {
            return Err(failure);
        }
        self.encoding.check()?;
        let text = std::str::from_utf8(text).map_err(|_| {
            StatementError::statement(
                SqlState::CHARACTER_NOT_IN_REPERTOIRE,
                "invalid byte sequence for encoding \"UTF8\"",
            )
        })?;
        let loaded = self.loaded.as_ref().ok_or_else(|| {
            StatementError::statement(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "the schema cannot be read in a transaction that has failed",
            )
        })?;
        let portals = self.portals_of(text);
        let plan = if self.objects.concern(text) || !portals.is_empty() {
            let mut objects = self.objects.including(self.statements.effects());
            objects.note_portals(portals);
            self.shared.plan_with(loaded, text, &objects)?
        } else {
            self.shared.plan(loaded, text)?
        };
        self.check_fit(&plan)?;
        self.check_lease(&plan)?;
        Ok((plan, text.into()))
    }

    /// Portals of the protocol that a text may fetch from, as it may from cursors, and the columns
    /// of their rows.
    fn portals_of(&self, text: &str) -> Vec<(String, Vec<Output>)> {
        if !may_fetch(text) {
            return Vec::new();
        }
        let sealed = self.portals.named().filter_map(|(name, portal)| {
            let PortalState::Bound { shape, .. } = &portal.state else {
                return None;
            };
            let outputs = shape.as_ref()?.outputs();
            let name = String::from_utf8_lossy(name).into_owned();
            (!outputs.is_empty()).then(|| (name, outputs.to_vec()))
        });
        sealed.collect()
    }

    /// Takes a message of the client.
    pub(super) fn client_message(
        &mut self,
        kind: u8,
        message: &[u8],
        ways: &mut Ways<'_>,
    ) -> Result<(), End> {
        self.translate(kind, message, ways)?;
        self.flush_crowd(ways);
        Ok(())
    }

    fn translate(&mut self, kind: u8, message: &[u8], ways: &mut Ways<'_>) -> Result<(), End> {
        use frontend::kind;
        let body = &message[wire_postgres::HEADER_SIZE..];
        if matches!(kind, kind::COPY_DONE | kind::COPY_FAIL) {
            self.end_rows(kind, message, ways);
            return Ok(());
        }
        if !matches!(kind, kind::SYNC | kind::QUERY) {
            self.in_pipeline = true;
        }
        let sent = ways.to_server.len();
        match kind {
            kind::PARSE => self.parse(&Parse::read(body)?, message, ways),
            kind::BIND => self.bind(&Bind::read(body)?, message, ways),
            kind::DESCRIBE => self.describe(Target::read(body)?, message, ways),
            kind::EXECUTE => self.execute(Execute::read(body)?, message, ways)?,
            kind::FLUSH => {
                ways.to_server.extend_from_slice(message);
                self.say_own(ways);
            }
            kind::CLOSE => {
                self.write_late(ways);
                let expected = match Target::read(body)? {
                    Target::Statement(name) => {
                        self.statements.close(name, self.answers.batch_sent());
                        Expected::CloseStatement
                    }
                    Target::Portal(name) => {
                        self.portals.remove(name);
                        Expected::Close
                    }
                };
                self.send(message, expected, ways);
            }
            kind::SYNC => {
                self.is_skipping = false;
                self.in_pipeline = false;
                self.note_sync();
                if !self.answer_sync(ways) {
                    self.write_late(ways);
                    self.sync_step();
                    self.send(message, Expected::Sync, ways);
                }
                self.is_unsynced = false;
                return Ok(());
            }
            kind::QUERY => self.query(frontend::read_query(body)?, message, ways)?,
            _ => {
                let message = "a message of this kind is refused before protected columns";
                let failure = Failure::fatal(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(End(failure.hint(
                    "Large objects by function calls need a direct \
                                             connection.",
                )));
            }
        }
        self.is_unsynced |= kind != kind::QUERY && ways.to_server.len() > sent;
        Ok(())
    }

    fn send(&mut self, message: &[u8], expected: Expected, ways: &mut Ways<'_>) {
        ways.to_server.extend_from_slice(message);
        self.answers.push(expected);
    }

    /// Makes the server fail in place of a message of the extended protocol.
    fn fail(&mut self, failure: StatementError, ways: &mut Ways<'_>) {
        self.refuse(failure, ways);
        if self.script.take().is_some() {
            self.end_script(ways);
        } else {
            self.is_skipping = true;
        }
    }

    /// Sends what the server fails on, and what the client is told for it.
    fn refuse(&mut self, failure: StatementError, ways: &mut Ways<'_>) {
        frontend::write_parse(REFUSED, REFUSED_TEXT, std::iter::empty(), ways.to_server);
        self.note_refusal(&failure);
        self.answers.push(Expected::Fail(failure));
    }

    /// Counts a refusal. The operator is told where rules and database do not fit.
    fn note_refusal(&mut self, failure: &StatementError) {
        if failure.sqlstate == SqlState::CONFIG_FILE_ERROR && !self.is_of_closed(failure) {
            self.warn(format!("a statement is refused: {}", failure.message));
        }
        if sql_rewrite::is_of_second_proof(&failure.message) {
            add(&self.shared.counters().plans_unproved, 1);
            self.warn(failure.message.clone());
        }
        add(&self.shared.counters().statements_refused, 1);
        self.locks.note_error();
    }

    /// The session ends by a failure.
    pub(super) fn note_end(&self, failure: &Failure) {
        if failure.sqlstate == SqlState::DATA_CORRUPTED {
            add(&self.shared.counters().values_damaged, 1);
            tracing::warn!(database = self.database.as_str(), "{}", failure.message);
        }
    }

    /// Says ReadyForQuery as the server did last.
    fn say_ready(&self, ways: &mut Ways<'_>) {
        backend::write(backend::kind::READY_FOR_QUERY, ways.to_client, |out| {
            out.push(self.status);
        });
    }

    /// Says what is the proxy's to say next.
    fn say_own(&mut self, ways: &mut Ways<'_>) {
        loop {
            match self.answers.front() {
                Some(Expected::Own(said)) => ways.to_client.append(said),
                Some(Expected::OwnBind(_)) => {
                    backend::write_empty(backend::kind::BIND_COMPLETE, ways.to_client);
                }
                _ => return,
            }
            self.answers.pop();
        }
    }

    /// A statement of a text is sent.
    fn apply_effects(&mut self, plan: &TextPlan, place: usize) {
        if let Some(effects) = plan.effects(place) {
            self.stale.schema |= effects.changes_schema;
            self.stale.path |= effects.changes_settings;
            self.touched.schema |= effects.changes_schema;
            self.touched.path |= effects.changes_settings;
            self.begin_reshaping(effects);
            if matches!(
                effects.transaction,
                Some(TransactionEffect::RollbackTo | TransactionEffect::End)
            ) {
                // What it changed may be undone by now; SET LOCAL surely is.
                self.stale.schema |= self.touched.schema;
                self.stale.path |= self.touched.path;
                self.goes_back = true;
            }
            self.note_objects(effects);
        }
        self.locks.note_statement(plan, place);
        let effects = plan.effects(place);
        match effects.and_then(|effects| effects.transaction.as_ref()) {
            Some(TransactionEffect::Begin) => drop(self.note_time()),
            Some(TransactionEffect::End) => self.began = None,
            Some(TransactionEffect::RollbackTo) | None => {}
        }
        if plan.forgets_statements {
            self.own.forget_all();
        }
    }

    /// When the transaction began, for those messages that are sent next.
    fn note_time(&mut self) -> Arc<TextContext> {
        let now = *self.began.get_or_insert_with(|| self.shared.now());
        if self.context.now != now {
            Arc::make_mut(&mut self.context).now = now;
        }
        Arc::clone(&self.context)
    }

    /// Sync is sent, or the end of a Query.
    fn note_sync(&mut self) {
        self.locks.note_sync();
        if self.status == b'I' && !self.locks.is_in_block() {
            self.began = None;
        }
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        // The server may have committed without that its answer was seen.
        self.publish_changes();
        self.go_by(None);
    }
}
