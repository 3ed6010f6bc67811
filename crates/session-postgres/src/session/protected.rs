//! The part of a session that applies plans: what the client's messages become, and what the
//! server's answers become.
//!
//! Invariants:
//! 1. Every message that the server answers has an entry in [`Answers`], in the order in which the
//!    messages were sent. An unexpected answer ends the session.
//! 2. A statement of the server is used with the plan it was parsed with. When unsure which
//!    statement the server has under a name, the name is forgotten, and Bind to it fails.
//! 3. While the rows of a statement determine what is sent next, the client's messages wait, so
//!    that the proxy's messages take the place of that statement.
//! 4. In place of a refused statement the server gets one on which it fails, so that the error
//!    comes in order and ends the transaction as the server's own would.

use std::sync::Arc;

use semantics_postgres::TextContext;
use session_core::counters::add;
use session_core::plans::TextPlan;
use session_core::{Announced, Database, LockedRows, Protection, StatementError, Watch};
use sql_plan::{Output, TransactionEffect};
use sql_rewrite::{may_fetch, scrolled};
use sqlstate::SqlState;
use wire_postgres::backend::{self, Failure};
use wire_postgres::frontend::{self, Bind, Execute, Parse, Target};

use super::answers::{Answers, Expected};
use super::copying::CopyState;
use super::own::OwnStatements;
use super::pipeline::{Gate, Pipeline};
use super::prepared::Statements;
use super::schema_view::SchemaView;
use super::settings::Settings;
use super::transaction::Transaction;
use super::{End, MessageAction};
use crate::finisher::FinisherRequest;
use crate::session::names::Names;
use crate::session::portals::{Portal, PortalState};

mod copies;
mod cursors;
mod described;
mod draws;
mod extended;
mod finisher;
mod forms;
mod held_copies;
mod loads;
mod merges;
mod queries;
mod reply;
mod session_objects;
mod shown;
mod simple;
mod steps;
mod synced;
mod upserts;

use session_objects::DeclaredObjects;
use simple::Script;

use reply::transaction_failed;

pub(super) use reply::is_fatal;

/// The name of the statement that the server fails on.
const REFUSED: &[u8] = b"strongroom_refused";
/// The text of that statement: not SQL, and without anything of the client's.
const REFUSED_TEXT: &[u8] = b"strongroom refused the statement that stood here";

/// The buffers for both sides.
pub(super) struct Outputs<'a> {
    pub to_client: &'a mut Vec<u8>,
    pub to_server: &'a mut Vec<u8>,
}

/// The state of a session with protected columns.
#[derive(Debug)]
pub(super) struct Protected {
    schema: SchemaView,
    transaction: Transaction,
    settings: Settings,
    /// What is prepared.
    statements: Statements,
    portals: Names<Portal>,
    /// What was declared by SQL.
    objects: DeclaredObjects,
    /// Statements that the proxy has prepared for itself.
    own: OwnStatements,
    locks: LockedRows,
    answers: Answers,
    pipeline: Pipeline,
    /// The rest of a Query in which a statement takes steps.
    script: Option<Script>,
    copy: CopyState,
}

impl Protected {
    pub(super) fn new(shared: Arc<Protection>, database: Database) -> Self {
        Self {
            schema: SchemaView::new(shared, database),
            transaction: Transaction::default(),
            settings: Settings::default(),
            statements: Statements::default(),
            portals: Names::default(),
            objects: DeclaredObjects::default(),
            own: OwnStatements::default(),
            locks: LockedRows::default(),
            answers: Answers::default(),
            pipeline: Pipeline::default(),
            script: None,
            copy: CopyState::default(),
        }
    }

    /// Notes that the server has accepted the client, with this transaction status.
    pub(super) fn begin(&mut self, status: u8) {
        self.transaction.note_ready(status);
        self.schema.begin();
    }

    /// See [`SchemaView::watch`].
    pub(super) fn watch(&self) -> Option<&Arc<Watch>> {
        self.schema.watch()
    }

    /// See [`Session::take_announced`](super::Session::take_announced).
    pub(super) fn take_announced(&mut self) -> Vec<Announced> {
        self.schema.take_announced()
    }

    /// Notes a setting that the server reports.
    pub(super) fn note_setting(&mut self, name: &[u8], value: &[u8]) {
        self.settings.note(name, value);
    }

    /// What to do with a message of the client.
    pub(super) fn client_action(&mut self, kind: u8) -> MessageAction {
        use frontend::kind;
        let is_waiting = self.pipeline.gate() == Gate::Waiting || self.awaits_finisher();
        if self.schema.is_loading() || is_waiting {
            return MessageAction::Wait;
        }
        let is_end = matches!(kind, kind::COPY_DONE | kind::COPY_FAIL);
        if self.copy.held().is_some() && is_end && self.schema.must_load(&self.transaction) {
            return MessageAction::Ask;
        }
        if self.copy.is_released() && kind != kind::TERMINATE {
            return MessageAction::Wait;
        }
        match kind {
            kind::TERMINATE => MessageAction::Pass,
            _ if self.pipeline.gate() == Gate::SyncExpected && kind != kind::SYNC => {
                MessageAction::Ask
            }
            kind::SYNC | kind::FLUSH if self.copy.is_in() => MessageAction::Drop,
            kind::SYNC => MessageAction::Read,
            _ if self.pipeline.gate() == Gate::Skipping => MessageAction::Drop,
            kind::PARSE | kind::BIND | kind::QUERY if self.schema.must_load(&self.transaction) => {
                MessageAction::Ask
            }
            kind::COPY_DATA | kind::COPY_DONE | kind::COPY_FAIL => {
                self.copy.client_action(kind, self.answers.is_empty())
            }
            _ => MessageAction::Read,
        }
    }

    /// Whether the finisher has been asked.
    pub(super) fn awaits_finisher(&self) -> bool {
        self.pipeline.awaits_finisher()
    }

    /// Whether the client's message that was processed last is processed again, once the finisher
    /// has answered.
    pub(super) fn wants_again(&mut self) -> bool {
        self.pipeline.finisher().wants_again()
            || self.schema.is_drawing()
            || self.copy.awaits_idle()
    }

    /// See [`Session::take_finisher_request`](super::Session::take_finisher_request).
    pub(super) fn take_finisher_request(&mut self) -> Option<FinisherRequest> {
        self.pipeline.finisher().take_request()
    }

    /// What to do with a message of the server.
    pub(super) fn server_action(&self, kind: u8) -> MessageAction {
        match kind {
            backend::kind::DATA_ROW if self.answers.rows_pass() => MessageAction::Pass,
            backend::kind::COPY_DATA if !self.copy.is_out() => MessageAction::Pass,
            backend::kind::NOTIFICATION => MessageAction::Pass,
            _ => MessageAction::Read,
        }
    }

    /// Whether the client may be read.
    pub(super) fn wants_client(&self) -> bool {
        !self.answers.are_crowded()
    }

    /// Sends Flush when so many answers are outstanding that the client is not read: without it the
    /// server might wait for a Sync that the client has not sent yet.
    fn flush_crowd(&mut self, outputs: &mut Outputs<'_>) {
        if self.pipeline.has_become_crowded(self.answers.are_crowded()) {
            backend::write_empty(frontend::kind::FLUSH, outputs.to_server);
            self.flush_proxy_replies(outputs);
        }
    }

    /// Whether the server owes nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.answers.is_empty()
            && !self.transaction.in_pipeline()
            && self.script.is_none()
            && !self.copy.has_held()
            && !self.awaits_finisher()
    }

    /// Whether the server owes nothing, and no transaction block is open.
    pub(super) fn is_between_transactions(&self) -> bool {
        self.is_idle() && self.transaction.is_outside_block()
    }

    /// Sends what must be answered before the client's next message, which waits.
    pub(super) fn ask_first(&mut self, outputs: &mut Outputs<'_>) {
        if self.pipeline.gate() == Gate::SyncExpected {
            self.await_step(outputs);
        } else {
            self.begin_load(outputs);
        }
    }

    /// The plan of a text.
    fn plan(&mut self, text: &[u8]) -> Result<(Arc<TextPlan>, Box<str>), StatementError> {
        let unread = self.schema.take_failure_of_transaction();
        self.schema.check_load()?;
        let bytes = text;
        let text = self.settings.encoding().read(bytes)?;
        let loaded = Arc::clone(self.schema.loaded()?);
        self.check_portals(&text)?;
        let portals = self.portals_of(&text);
        let plan = if self.objects.concern(&text) || !portals.is_empty() {
            let mut objects = self.objects.including(self.statements.effects());
            objects.note_portals(portals);
            self.schema.shared().plan_with(&loaded, &text, &objects)?
        } else {
            self.schema.shared().plan(&loaded, &text)?
        };
        self.settings.encoding().check_plan(bytes, &plan)?;
        self.schema.check_fit(&plan)?;
        self.schema.check_lease(&plan)?;
        self.check_failed(&plan)?;
        match unread {
            // The transaction had failed when the catalogues were to be read. Its end needs none.
            Some(failure) if !plan.only_frames() => Err(failure),
            _ => Ok((plan, text.into())),
        }
    }

    /// Refuses what would go by a schema that has changed, in a transaction that has failed and can
    /// no longer read it. The server would not execute it, and would see its values in clear.
    fn check_failed(&mut self, plan: &TextPlan) -> Result<(), StatementError> {
        if !self.transaction.has_failed() || plan.only_frames() || !self.schema.is_outdated() {
            return Ok(());
        }
        if !plan.goes_on_behind_an_end() {
            return Err(transaction_failed());
        }
        let message = "a statement behind the end of a transaction that has failed, in one text, \
                       is refused: the schema has changed meanwhile, and has to be read first";
        Err(StatementError::unsupported(message).hint("Send the statements one by one."))
    }

    /// Refuses a text that may fetch from a portal of the protocol, or close it, where the server
    /// does not have its rows: the proxy answers its statement.
    fn check_portals(&self, text: &str) -> Result<(), StatementError> {
        let answered = self.portals.named().filter(|(_, portal)| {
            portal.statement.plan.takes_steps()
                && !matches!(portal.state, PortalState::Bound { .. })
        });
        let mut answered = answered.peekable();
        if answered.peek().is_none() {
            return Ok(());
        }
        let scrolled = scrolled(text);
        let mut names = answered.map(|(name, _)| String::from_utf8_lossy(name));
        match names.find(|name| scrolled.iter().any(|own| own == name)) {
            None => Ok(()),
            Some(name) => {
                let message = format!(
                    "FETCH, MOVE or CLOSE of portal \"{name}\", whose statement the proxy answers, \
                     is not supported"
                );
                Err(StatementError::unsupported(message)
                    .hint("Execute and close the portal by messages, or DECLARE a cursor."))
            }
        }
    }

    /// The portals that a text may fetch from, as from cursors, and the columns of their rows.
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
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        self.translate(kind, message, outputs)?;
        if !self.schema.is_loading() && !self.awaits_finisher() {
            self.settings.context().drawn.clear();
        }
        self.flush_crowd(outputs);
        Ok(())
    }

    fn translate(
        &mut self,
        kind: u8,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        use frontend::kind;
        let body = &message[wire_postgres::HEADER_SIZE..];
        if self.take_while_held(kind, outputs)? {
            return Ok(());
        }
        if matches!(kind, kind::COPY_DONE | kind::COPY_FAIL) {
            if kind == kind::COPY_DONE && self.ask_of_copy(None) {
                return Ok(());
            }
            self.end_rows(kind, message, outputs);
            return Ok(());
        }
        if !matches!(kind, kind::SYNC | kind::QUERY | kind::FUNCTION_CALL) {
            self.transaction.set_in_pipeline(true);
        }
        match kind {
            kind::PARSE => self.parse(&Parse::read(body)?, message, outputs),
            kind::BIND => self.bind(&Bind::read(body)?, message, outputs),
            kind::DESCRIBE => self.describe(Target::read(body)?, message, outputs),
            kind::EXECUTE => self.execute(Execute::read(body)?, message, outputs)?,
            kind::FLUSH => {
                outputs.to_server.extend_from_slice(message);
                self.flush_proxy_replies(outputs);
            }
            kind::CLOSE => {
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
                self.send(message, expected, outputs);
            }
            kind::SYNC => {
                if self.pipeline.gate() == Gate::Skipping {
                    self.pipeline.open();
                }
                self.transaction.set_in_pipeline(false);
                self.note_sync();
                self.sync_step();
                self.send(message, Expected::Sync, outputs);
            }
            kind::QUERY => self.query(frontend::read_query(body)?, message, outputs)?,
            kind::FUNCTION_CALL => {
                let function = frontend::read_called_function(body)?;
                self.function_call(function, message, outputs);
            }
            _ => {
                let message = "a message of this kind is refused before protected columns";
                let failure = Failure::fatal(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(End(failure));
            }
        }
        Ok(())
    }

    fn send(&mut self, message: &[u8], expected: Expected, outputs: &mut Outputs<'_>) {
        outputs.to_server.extend_from_slice(message);
        self.answers.push(expected);
    }

    /// Makes the server fail in place of a message of the extended protocol.
    fn fail(&mut self, failure: StatementError, outputs: &mut Outputs<'_>) {
        self.refuse(failure, outputs);
        if self.script.take().is_some() {
            self.end_script(outputs);
        } else {
            self.pipeline.skip();
        }
    }

    /// Sends the statement on which the server fails, and notes the error for the client.
    fn refuse(&mut self, failure: StatementError, outputs: &mut Outputs<'_>) {
        frontend::write_parse(REFUSED, REFUSED_TEXT, std::iter::empty(), outputs.to_server);
        self.note_refusal(&failure);
        self.answers.push(Expected::Fail(failure));
    }

    /// Counts a refusal. Logs it if rules and database do not match.
    fn note_refusal(&mut self, failure: &StatementError) {
        if failure.sqlstate == SqlState::CONFIG_FILE_ERROR && !self.schema.is_of_closed(failure) {
            self.schema
                .warn(format!("a statement is refused: {}", failure.message));
        }
        if sql_rewrite::is_of_second_proof(&failure.message) {
            add(&self.schema.shared().counters().plans_unproved, 1);
            self.schema.warn(failure.message.clone());
        }
        add(&self.schema.shared().counters().statements_refused, 1);
        self.locks.note_error();
    }

    /// Notes that the session ends with an error.
    pub(super) fn note_end(&self, failure: &Failure) {
        if failure.sqlstate == SqlState::DATA_CORRUPTED {
            add(&self.schema.shared().counters().values_damaged, 1);
            tracing::warn!(database = self.schema.database(), "{}", failure.message);
        }
    }

    /// Writes replies of the proxy's own that are next in order.
    fn flush_proxy_replies(&mut self, outputs: &mut Outputs<'_>) {
        loop {
            match self.answers.front() {
                Some(Expected::ProxyReply(said)) => outputs.to_client.append(said),
                Some(Expected::ProxyBindReply(_)) => {
                    backend::write_empty(backend::kind::BIND_COMPLETE, outputs.to_client);
                }
                _ => return,
            }
            self.answers.pop();
        }
    }

    /// Notes the effects of a statement that is sent.
    fn apply_effects(&mut self, plan: &TextPlan, index: usize) {
        if let Some(effects) = plan.effects(index) {
            self.schema.note_effects(effects);
            if matches!(
                effects.transaction,
                Some(TransactionEffect::RollbackTo | TransactionEffect::End)
            ) {
                self.schema.doubt_changes();
                self.transaction.note_ending();
            }
            self.note_objects(effects);
        }
        self.locks.note_statement(plan, index);
        let effects = plan.effects(index);
        match effects.and_then(|effects| effects.transaction.as_ref()) {
            Some(TransactionEffect::Begin) => drop(self.note_time()),
            Some(TransactionEffect::End) => self.settings.end_transaction(),
            Some(TransactionEffect::RollbackTo) | None => {}
        }
        if plan.forgets_statements {
            self.own.forget_all();
        }
    }

    /// The settings for the next messages, with the time at which the transaction began.
    fn note_time(&mut self) -> Arc<TextContext> {
        let shared = self.schema.shared();
        self.settings.context_now(|| shared.now())
    }

    /// Notes that Sync is sent, or the end of a Query.
    fn note_sync(&mut self) {
        self.locks.note_sync();
        if self.transaction.is_outside_block() && !self.locks.is_in_block() {
            self.settings.end_transaction();
        }
    }
}
