//! What all sessions share about protected columns: rules, schemas of databases, plans, keys.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use sql_plan::{Rules, RulesError};
use sql_rewrite::{Dialect, Objects, Schema, SessionFacts};
use sqlstate::SqlState;

use crate::counters::{Counters, add};
use crate::known_plans::KnownPlans;
use crate::loaded::Loaded;
use crate::plans::TextPlan;
use crate::sealing::{Root, Sealer};
use crate::statement_error::StatementError;
use crate::tokens::Weights;
use crate::watch::Watch;

mod freshness;
mod seen;
#[cfg(test)]
mod tests;

pub use freshness::Freshness;
use seen::Seen;

/// How many search paths of a database have plans that all sessions share.
const PATHS_MAX: usize = 64;
/// Default limit of the rows fetched to finish one statement.
const FINISH_ROWS_MAX: usize = 100_000;
/// Default limit of the bytes kept to finish one statement.
const FINISH_BYTES_MAX: usize = 128 << 20;
/// Default limit of a field of COPY, in bytes.
const FIELD_SIZE_MAX: usize = 256 << 20;
/// Default interval at which sessions check whether the catalogues were changed directly at the
/// server.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How many warnings are remembered, so that each is logged once.
const WARNINGS_MAX: usize = 1000;
/// Databases, or ways to read texts of one, that are remembered although no session has them.
const DATABASES_MAX: usize = 1000;

/// Whether there is a finisher for servers of a major version.
pub type OffersFinisher = Arc<dyn Fn(u16) -> bool + Send + Sync>;

/// Limits on what one statement may cost the proxy.
struct Limits {
    /// Rows fetched to finish one statement.
    finish_rows_max: usize,
    /// Bytes kept to finish one statement.
    finish_bytes_max: usize,
    /// Bytes of a field of COPY.
    field_size_max: usize,
}

/// How long a schema is taken for that of the server.
#[derive(Default)]
struct Intervals {
    /// How often sessions check it. None: never.
    check: Option<Duration>,
    /// How long it is valid after the server was last heard. None: no database is watched.
    lease: Option<Duration>,
}

/// What was noted of servers.
#[derive(Default)]
struct Noted {
    warnings: Mutex<HashSet<String>>,
    weights: Weights,
}

/// What all sessions share.
pub struct Protection {
    rules: Rules,
    root: Root,
    databases: Mutex<Databases>,
    /// Counts publications and invalidations of schemas, over all databases.
    changes: AtomicU64,
    plans: KnownPlans,
    counters: Counters,
    versions: AtomicU64,
    noted: Noted,
    limits: Limits,
    intervals: Intervals,
    offers_finisher: Option<OffersFinisher>,
    /// Microseconds since 2000-01-01.
    now: fn() -> i64,
}

/// All databases that are known.
#[derive(Default)]
struct Databases {
    by_name: HashMap<String, Database>,
    /// How many times some were dropped from memory.
    drops: u64,
}

/// The state of a database.
#[derive(Default)]
struct Database {
    /// How many times its schema was invalidated. It starts with a number that it never had before.
    forgets: u64,
    published: Option<Published>,
    seen: Seen,
    freshness: Option<Arc<Freshness>>,
    watch: Option<Arc<Watch>>,
}

/// What a session read from the catalogues of a database.
pub struct Reading {
    /// Relations and rules.
    pub schema: Schema,
    /// [`sql_rewrite::fingerprint_of`] the catalogues when they were read, or earlier. None: only
    /// some relations were read.
    pub fingerprint: Option<String>,
    /// The value of [`Protection::forgets`] before the reading began.
    pub forgets: u64,
}

/// The schema of a database that was published last.
struct Published {
    generation: u64,
    schema: Schema,
    fingerprint: Option<String>,
    sealer: Arc<Sealer>,
    by_path: HashMap<Vec<String>, Arc<Loaded>>,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protection")
    }
}

impl Protection {
    /// Finds rules that contradict themselves or each other, or need a finisher that is not there.
    ///
    /// # Errors
    /// All of them.
    pub fn check_rules(rules: &Rules, has_finisher: bool) -> Result<(), Vec<RulesError>> {
        sql_rewrite::check_rules(rules, has_finisher)
    }

    /// Makes it from rules, the root key and a clock.
    pub fn new(rules: Rules, root: Root, now: fn() -> i64) -> Self {
        Self {
            rules,
            root,
            databases: Mutex::default(),
            changes: AtomicU64::new(0),
            plans: KnownPlans::default(),
            counters: Counters::default(),
            versions: AtomicU64::new(1),
            noted: Noted::default(),
            limits: Limits {
                finish_rows_max: FINISH_ROWS_MAX,
                finish_bytes_max: FINISH_BYTES_MAX,
                field_size_max: FIELD_SIZE_MAX,
            },
            intervals: Intervals::default(),
            offers_finisher: None,
            now,
        }
    }

    /// Sets whether new tables get a check with which the server itself refuses plaintext. The
    /// default is yes.
    #[must_use]
    pub fn with_guards(mut self, guards: bool) -> Self {
        self.rules.leaves_guards_out = !guards;
        self
    }

    /// Sets the limit of the rows fetched to finish one statement.
    #[must_use]
    pub fn with_finish_rows_max(mut self, rows: usize) -> Self {
        self.limits.finish_rows_max = rows;
        self
    }

    /// Sets the limit of the bytes kept to finish one statement.
    #[must_use]
    pub fn with_finish_bytes_max(mut self, bytes: usize) -> Self {
        self.limits.finish_bytes_max = bytes;
        self
    }

    /// Sets the limit of a field of COPY, in bytes.
    #[must_use]
    pub fn with_field_size_max(mut self, size: usize) -> Self {
        self.limits.field_size_max = size;
        self
    }

    /// Makes sessions check, at most this often, whether the catalogues were changed directly at
    /// the server.
    #[must_use]
    pub fn with_check_interval(mut self, interval: Duration) -> Self {
        self.intervals.check = Some(interval);
        self
    }

    /// Has each database watched. A schema is valid for this long after the server was last heard.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.intervals.lease = Some(lease);
        self
    }

    /// Sets which servers, by their major versions, have a finisher: whoever drives the sessions
    /// answers their requests.
    #[must_use]
    pub fn with_finisher(mut self, offers: OffersFinisher) -> Self {
        self.offers_finisher = Some(offers);
        self
    }

    /// Whether queries to a server of this major version may be left to a finisher.
    pub fn has_finisher(&self, major: u16) -> bool {
        let offers = self.offers_finisher.as_ref();
        offers.is_some_and(|offers| offers(major))
    }

    /// Whether a finisher is wanted, and cannot be had for servers of this major version.
    pub fn lacks_finisher(&self, major: u16) -> bool {
        self.offers_finisher.is_some() && !self.has_finisher(major)
    }

    /// The limit of the bytes kept to finish one statement.
    pub fn finish_bytes_max(&self) -> usize {
        self.limits.finish_bytes_max
    }

    /// The limit of a field of COPY, in bytes.
    pub fn field_size_max(&self) -> usize {
        self.limits.field_size_max
    }

    /// The limit of the rows fetched to finish one statement.
    pub fn finish_rows_max(&self) -> usize {
        self.limits.finish_rows_max
    }

    /// The time, in microseconds since 2000-01-01.
    pub fn now(&self) -> i64 {
        (self.now)()
    }

    /// The counters of all sessions.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What is known of the weights of collations.
    pub fn weights(&self) -> &Weights {
        &self.noted.weights
    }

    /// How many plans are cached.
    pub fn plans_cached(&self) -> u64 {
        self.plans.count() as u64
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Logs a mismatch of rules and a database, each only once.
    pub fn warn_once(&self, database: &str, warning: String) {
        let warnings = self.noted.warnings.lock();
        let mut warnings = warnings.unwrap_or_else(PoisonError::into_inner);
        let key = format!("{database}\0{warning}");
        if warnings.len() < WARNINGS_MAX && warnings.insert(key) {
            tracing::warn!(database, "{warning}");
        }
    }

    /// The number of the published schema of a database. None: none has been read yet.
    pub fn generation(&self, database: &str) -> Option<u64> {
        let databases = self.lock();
        let published = databases.by_name.get(database)?.published.as_ref();
        published.map(|known| known.generation)
    }

    /// How many times the schema of a database was invalidated, from a start of its own. A reading
    /// during which this number changed may be outdated.
    pub fn forgets(&self, database: &str) -> u64 {
        let mut databases = self.lock();
        // Known from now on, so that `forget_all` counts for this reading.
        self.known(&mut databases, database).forgets
    }

    /// A number that grows with every change of [`Self::generation`] or [`Self::forgets`] of any
    /// database.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Invalidates the schema of a database: every session reads it again before its next plan.
    /// Returns the new value of [`Self::forgets`].
    pub fn forget(&self, database: &str) -> u64 {
        let mut databases = self.lock();
        let known = self.known(&mut databases, database);
        known.forgets += 1;
        let forgets = known.forgets;
        let published = known.published.take();
        drop(databases);
        self.changes.fetch_add(1, Ordering::Release);
        self.retire_all(published);
        forgets
    }

    /// Invalidates the schemas of all databases: a statement may have changed any of them.
    pub fn forget_all(&self) {
        let mut databases = self.lock();
        let mut published = Vec::new();
        for known in databases.by_name.values_mut() {
            known.forgets += 1;
            published.push(known.published.take());
        }
        drop(databases);
        self.changes.fetch_add(1, Ordering::Release);
        published.into_iter().for_each(|one| self.retire_all(one));
    }

    /// The schedule of checks of the catalogues of a database. None: there are no checks.
    pub fn freshness(&self, database: &str) -> Option<Arc<Freshness>> {
        let interval = self.intervals.check?;
        let mut databases = self.lock();
        let known = self.known(&mut databases, database);
        let freshness = known
            .freshness
            .get_or_insert_with(|| Arc::new(Freshness::new(interval)));
        Some(Arc::clone(freshness))
    }

    /// The watch over a database. None: databases are not watched.
    pub fn watch(&self, name: &[u8], database: &str) -> Option<Arc<Watch>> {
        let lease = self.intervals.lease?;
        let mut databases = self.lock();
        let known = self.known(&mut databases, database);
        let new = || Arc::new(Watch::new(name, database, lease));
        Some(Arc::clone(known.watch.get_or_insert_with(new)))
    }

    /// Compares a fingerprint of the catalogues with that of the published schema, and invalidates
    /// the schema if they differ. `forgets` is the value of [`Self::forgets`] before the catalogues
    /// were read: a fingerprint older than the published schema is ignored.
    pub fn compare(&self, database: &str, fingerprint: &str, forgets: u64) {
        let databases = self.lock();
        let known = databases
            .by_name
            .get(database)
            .filter(|known| known.forgets == forgets);
        let published = known.and_then(|known| known.published.as_ref());
        let known = published.map(|known| known.fingerprint.as_deref() == Some(fingerprint));
        // After changes through the proxy nobody knows yet what the fingerprint should be.
        let is_known = published.is_some_and(|known| known.fingerprint.is_some());
        drop(databases);
        if known == Some(false) {
            add(&self.counters.schema_changes_noticed, u64::from(is_known));
            self.forget(database);
        }
    }

    /// The published schema with the search path of a session. If the session's current one, `own`,
    /// is still right, it is returned, so that its plans stay valid.
    pub fn adopt(
        &self,
        database: &str,
        session: &SessionFacts,
        own: Option<&Arc<Loaded>>,
    ) -> Option<Arc<Loaded>> {
        let mut databases = self.lock();
        let known = databases.by_name.get_mut(database)?.published.as_mut()?;
        if let Some(own) = own
            && own.is_of(known.generation, session)
        {
            return Some(Arc::clone(own));
        }
        let path = &session.search_path;
        let has_none = session.temporary.is_empty();
        if has_none && let Some(loaded) = known.by_path.get(path) {
            return Some(Arc::clone(loaded));
        }
        // A client that keeps inventing search paths gets plans that are not shared.
        let is_shared = has_none && known.by_path.len() < PATHS_MAX;
        let mut schema = known.schema.clone();
        schema.search_path.clone_from(path);
        schema.temporary.clone_from(&session.temporary);
        let loaded = Arc::new(Loaded {
            version: self.next(),
            generation: known.generation,
            schema,
            sealer: Arc::clone(&known.sealer),
            incremented: RwLock::default(),
            is_shared,
            is_retired: AtomicBool::new(false),
        });
        if is_shared {
            known.by_path.insert(path.clone(), Arc::clone(&loaded));
        }
        Some(loaded)
    }

    /// A session no longer uses it. It is retired unless other sessions share it.
    pub fn release(&self, loaded: &Loaded) {
        if !loaded.is_shared {
            self.retire(loaded);
        }
    }

    /// Drops its plans from the cache: they would keep it alive, with all its relations.
    fn retire(&self, loaded: &Loaded) {
        // Before the cache is cleared: adding a plan checks this flag with the cache locked.
        loaded.is_retired.store(true, Ordering::Release);
        self.plans.forget(loaded.version);
    }

    fn retire_all(&self, published: Option<Published>) {
        let by_path = published.iter().flat_map(|known| known.by_path.values());
        for loaded in by_path {
            self.retire(loaded);
        }
    }

    /// Takes a schema that was just read, and publishes it to all sessions if `is_public`. None:
    /// the schema changed in the meantime and must be read again.
    ///
    /// # Errors
    /// There are no keys for its columns.
    pub fn enter(
        &self,
        database: &str,
        reading: Reading,
        is_public: bool,
    ) -> Result<Option<Arc<Loaded>>, StatementError> {
        let Reading {
            schema,
            fingerprint,
            forgets,
        } = reading;
        let sealer = self.root.sealer(&schema);
        let sealer = Arc::new(sealer.map_err(|error| StatementError::rules(error.to_string()))?);
        let mut databases = self.lock();
        let known = self.known(&mut databases, database);
        if known.forgets != forgets {
            return Ok(None);
        }
        if !is_public {
            return Ok(Some(Arc::new(Loaded {
                version: self.next(),
                generation: 0,
                schema,
                sealer,
                incremented: RwLock::default(),
                is_shared: false,
                is_retired: AtomicBool::new(false),
            })));
        }
        known.seen.note(&schema);
        let session = SessionFacts {
            search_path: schema.search_path.clone(),
            temporary: schema.temporary.clone(),
            ..SessionFacts::default()
        };
        let before = known.published.replace(Published {
            generation: self.next(),
            schema,
            fingerprint,
            sealer,
            by_path: HashMap::new(),
        });
        drop(databases);
        self.changes.fetch_add(1, Ordering::Release);
        self.retire_all(before);
        Ok(self.adopt(database, &session, None))
    }

    /// The plan of a text.
    ///
    /// # Errors
    /// It is refused.
    pub fn plan(&self, loaded: &Arc<Loaded>, text: &str) -> Result<Arc<TextPlan>, StatementError> {
        let make = || self.plan_with(loaded, text, &Objects::default());
        self.plans.plan(loaded, text, make)
    }

    /// The plan of a text that may name objects of its session, such as cursors. It is not cached.
    ///
    /// # Errors
    /// It is refused.
    pub fn plan_with(
        &self,
        loaded: &Arc<Loaded>,
        text: &str,
        objects: &Objects,
    ) -> Result<Arc<TextPlan>, StatementError> {
        let planned = sql_rewrite::plan_with(text, &loaded.schema, objects);
        let planned = planned.map_err(|refusal| remedied(refusal.into(), &loaded.schema))?;
        add(&self.counters.plans, 1);
        for one in &planned {
            loaded.note_increments(&one.plan);
        }
        Ok(Arc::new(TextPlan::new(text, planned, loaded)))
    }

    /// What is known of a database. Clients of MySQL can invent as many names as they want, since
    /// their SQL mode is a part of it: those that no session has are dropped once there are many.
    fn known<'d>(&self, databases: &'d mut Databases, name: &str) -> &'d mut Database {
        let by_name = &mut databases.by_name;
        if by_name.len() >= DATABASES_MAX && !by_name.contains_key(name) {
            let is_unused = |known: &Database| {
                let sessions = known.freshness.as_ref().map_or(1, Arc::strong_count);
                known.watch.is_none() && sessions == 1 && !known.seen.has_closed()
            };
            databases.drops += 1;
            for (_, known) in by_name.extract_if(|_, known| is_unused(known)) {
                self.retire_all(known.published);
            }
        }
        // No count of one that was dropped before comes this far.
        let forgets = databases.drops << 32;
        let new = || Database {
            forgets,
            ..Database::default()
        };
        by_name.entry(name.to_owned()).or_insert_with(new)
    }

    fn next(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Databases> {
        // Entries are put in whole.
        self.databases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A refusal, with how to get a finisher, where one is wanted and not there.
fn remedied(error: StatementError, schema: &Schema) -> StatementError {
    let major = schema.catalogue.finisher.lacking;
    let Some(major) = major.filter(|_| error.sqlstate == SqlState::FEATURE_NOT_SUPPORTED) else {
        return error;
    };
    let (product, engine) = match schema.dialect {
        Dialect::MySql(own) => {
            let (name, engine) = match own.is_mariadb {
                true => ("MariaDB", "mariadb"),
                false => ("MySQL", "mysql"),
            };
            (format!("{name} {}.{}", major / 100, major % 100), engine)
        }
        _ => (format!("PostgreSQL {major}"), "postgres"),
    };
    let remedy = format!(
        "The proxy has no finisher of the server's product and version, which answers more \
         statements: set [finish] engine = \"{engine}\" and install {product} on its machine, or \
         name the folder of its programs ([finish] programs)."
    );
    let hint = match &error.hint {
        Some(own) => format!("{own} {remedy}"),
        None => remedy,
    };
    error.hint(hint)
}
