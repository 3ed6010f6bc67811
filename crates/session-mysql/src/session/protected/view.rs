//! The schema of a session: where it was read, and whether it is still valid.
//!
//! These servers have no version of their catalogue. It is read again behind each statement that
//! may change it, and at an interval, since somebody may change it without the proxy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use aws_lc_rs::digest::{SHA256, digest};
use column_value::{Collation, LogicalType};
use session_core::{Freshness, Loaded, Protection, Reading, StatementError};
use sql_rewrite::Answer;
use sql_rewrite::mysql::MySql;
use sql_rewrite::mysql::schema::{ASKED, build};

use super::settings::Settings;
use super::tokens;
use crate::session::terms::Among;

/// How often a schema is read that changes while it is read.
const ATTEMPTS_MAX: u8 = 8;

/// Has a node of Galera wait until it has what other nodes have committed: a change of the schema
/// through another one that a client was told of is seen.
const SYNCED: &str = "SET STATEMENT wsrep_sync_wait = 1 FOR ";

/// The schema in one session.
#[derive(Debug)]
pub(super) struct View {
    shared: Arc<Protection>,
    /// The server that it is of. Empty: there is only one.
    server: Box<str>,
    /// Whether it is a node of Galera.
    is_galera: Arc<AtomicBool>,
    /// Under what it is shared.
    key: String,
    loaded: Option<Arc<Loaded>>,
    freshness: Option<Arc<Freshness>>,
    /// While [`Protection::changes`] has this value, the schema is that of all sessions.
    unchanged: Option<u64>,
    load: Option<Load>,
    attempts: u8,
    /// The collation whose weights the server is asked for.
    weighs: Option<Collation>,
    has_zone: bool,
}

/// A reading under way.
#[derive(Debug)]
struct Load {
    /// As of the begin of a transaction.
    is_fixed: bool,
    answers: Vec<Answer>,
    /// [`Protection::forgets`] when it began.
    forgets: u64,
    began: Instant,
}

impl View {
    pub(super) fn new(shared: Arc<Protection>, among: Option<&Among<'_>>) -> Self {
        let columns = shared
            .rules()
            .tables
            .values()
            .flat_map(|table| table.values());
        let mut logical = columns.map(|rule| rule.logical);
        let has_zone = logical.any(|own| matches!(own, LogicalType::TimestampTz(_)));
        Self {
            has_zone,
            shared,
            server: among.map_or("", |among| among.server).into(),
            is_galera: among
                .map(|among| Arc::clone(&among.is_galera))
                .unwrap_or_default(),
            key: String::new(),
            loaded: None,
            freshness: None,
            unchanged: None,
            load: None,
            attempts: 0,
            weighs: None,
        }
    }

    pub(super) fn shared(&self) -> &Protection {
        &self.shared
    }

    /// The schema, once it is there.
    pub(super) fn loaded(&self) -> Option<&Arc<Loaded>> {
        self.loaded.as_ref()
    }

    /// The next question that has to be answered before a statement is planned. `is_fixed` says
    /// that the catalogues are seen as of the begin of the transaction: what is read then is of no
    /// other session, and of no later transaction. `may_wait` tells whether it is no time to look
    /// for changes of others.
    ///
    /// # Errors
    /// The schema changes too often.
    pub(super) fn question(
        &mut self,
        settings: &Settings,
        is_fixed: bool,
        may_wait: impl Fn() -> bool,
    ) -> Result<Option<String>, StatementError> {
        if !self.has_key_of(settings) {
            self.leave();
            // What one server says of its tables says nothing of those of another.
            self.key = format!("{}{}", self.server, settings.key);
            self.freshness = self.shared.freshness(&self.key);
        }
        let is_own = |own: &Arc<Loaded>| own.generation == 0;
        if !is_fixed && self.loaded.as_ref().is_some_and(is_own) {
            self.put(None, 0);
        }
        let changes = self.shared.changes();
        if self.load.is_none() && (self.loaded.is_none() || self.unchanged != Some(changes)) {
            let facts = settings.facts();
            let adopted = self.shared.adopt(&self.key, &facts, self.loaded.as_ref());
            self.put(adopted, changes);
        }
        let is_due = || {
            let freshness = self.freshness.as_ref().filter(|_| !is_fixed);
            freshness.is_some_and(|own| {
                let now = Instant::now();
                own.is_due(now) && !may_wait() && own.claim(now)
            })
        };
        if self.load.is_none() {
            if self.loaded.is_some() && !is_due() {
                self.attempts = 0;
                return Ok(self.weights_question(settings));
            }
            self.attempts += 1;
            if self.attempts > ATTEMPTS_MAX {
                self.attempts = 0;
                let message = "the tables of the server change faster than they can be read";
                return Err(StatementError::rules(message).hint("Try again."));
            }
            self.load = Some(Load {
                is_fixed,
                answers: Vec::new(),
                forgets: self.shared.forgets(&self.key),
                began: Instant::now(),
            });
        }
        let answered = self.load.as_ref().map_or(0, |load| load.answers.len());
        Ok(ASKED
            .get(answered)
            .map(|text| match text.starts_with("SELECT") {
                // A limit set by the session does not hold where there is another one.
                true => {
                    let is_galera = self.is_galera.load(Ordering::Relaxed);
                    let waits = if is_galera { SYNCED } else { "" };
                    format!("{waits}{text} LIMIT 18446744073709551615")
                }
                false => (*text).to_owned(),
            }))
    }

    /// What is asked of the server about collations by which texts are found.
    fn weights_question(&mut self, settings: &Settings) -> Option<String> {
        let loaded = self.loaded.as_ref();
        let loaded = loaded.filter(|own| own.schema.has_tokens())?;
        // Without its version, no statement is planned.
        let (own, _) = settings.own.as_ref().ok()?;
        // Where no statement goes by the rules, nothing is found.
        if loaded.schema.unfit.iter().any(|error| !error.is_own) {
            return None;
        }
        let server = self.server_name(*own);
        let (collation, text) = tokens::question(loaded, &server, self.shared.weights())?;
        self.weighs = Some(collation);
        Some(text)
    }

    /// The name under which the weights of the server are remembered.
    pub(super) fn server_name(&self, own: MySql) -> String {
        tokens::server_name(&self.server, own)
    }

    /// Whether rules have moments with a time zone.
    pub(super) fn has_zone(&self) -> bool {
        self.has_zone
    }

    /// Whether the server was asked for the weights of a collation.
    pub(super) fn weighs(&self) -> Option<Collation> {
        self.weighs
    }

    fn has_key_of(&self, settings: &Settings) -> bool {
        self.key.strip_prefix(&*self.server) == Some(&settings.key)
    }

    /// Takes the answer to the last question.
    ///
    /// # Errors
    /// There are no keys for the columns.
    pub(super) fn answered(
        &mut self,
        answer: Answer,
        settings: &Settings,
    ) -> Result<(), StatementError> {
        if let Some(collation) = self.weighs.take() {
            let digest = answer
                .first()
                .and_then(|row| row.first().cloned().flatten());
            if let (Some(digest), Ok((own, _))) = (digest, &settings.own) {
                let server = self.server_name(*own);
                self.shared.weights().note(&server, collation, digest);
                return Ok(());
            }
            return Err(StatementError::rules(format!(
                "the server does not tell the weights of {collation}"
            )));
        }
        let Some(load) = &mut self.load else {
            return Ok(());
        };
        load.answers.push(answer);
        if load.answers.len() < ASKED.len() {
            return Ok(());
        }
        let Some(load) = self.load.take() else {
            return Ok(());
        };
        if let Some(freshness) = self.freshness.as_ref().filter(|_| !load.is_fixed) {
            freshness.note_look(load.began, Instant::now());
        }
        let fingerprint = fingerprint(&load.answers);
        if self.loaded.is_some() {
            // Where nothing has changed, plans stay.
            self.shared.compare(&self.key, &fingerprint, load.forgets);
            return Ok(());
        }
        let own = match &settings.own {
            Ok((own, _)) => *own,
            // No statement is planned in this mode.
            Err(_) => sql_rewrite::mysql::MySql::default(),
        };
        let database = settings.database.as_deref();
        let mut schema = build(self.shared.rules(), &load.answers, own, database);
        let series = own.series();
        let finisher = &mut schema.catalogue.finisher;
        finisher.is_there = self.shared.has_finisher(series);
        finisher.lacking = self.shared.lacks_finisher(series).then_some(series);
        tokens::check_finisher(&mut schema);
        for unfit in &schema.unfit {
            let name = settings.database.as_deref().unwrap_or_default();
            self.shared.warn_once(name, unfit.to_string());
        }
        let reading = Reading {
            schema,
            fingerprint: Some(fingerprint),
            forgets: load.forgets,
        };
        let entered = self.shared.enter(&self.key, reading, !load.is_fixed)?;
        self.put(entered, self.shared.changes());
        Ok(())
    }

    /// Notes that the reading has failed.
    pub(super) fn failed(&mut self) {
        self.load = None;
        self.weighs = None;
        self.put(None, 0);
    }

    /// Notes that the server does not have the collation that it was asked for. Statements that
    /// need its tokens are refused, and no others.
    pub(super) fn lacks_collation(&mut self, settings: &Settings) {
        if let (Some(collation), Ok((own, _))) = (self.weighs.take(), &settings.own) {
            let server = self.server_name(*own);
            let none = tokens::NOT_THERE.to_owned();
            self.shared.weights().note(&server, collation, none);
        }
    }

    fn put(&mut self, loaded: Option<Arc<Loaded>>, changes: u64) {
        let before = std::mem::replace(&mut self.loaded, loaded);
        self.unchanged = self.loaded.is_some().then_some(changes);
        if let Some(before) = before
            && !self
                .loaded
                .as_ref()
                .is_some_and(|own| Arc::ptr_eq(own, &before))
        {
            self.shared.release(&before);
        }
    }

    fn leave(&mut self) {
        self.load = None;
        self.weighs = None;
        self.attempts = 0;
        self.put(None, 0);
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.leave();
    }
}

fn fingerprint(answers: &[Answer]) -> String {
    let hash = digest(&SHA256, format!("{answers:?}").as_bytes());
    hash.as_ref().escape_ascii().to_string()
}
