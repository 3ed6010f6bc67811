//! What all sessions know of protected columns: rules, schemas of databases, plans, sealer.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use sql_plan::Rules;
use sql_rewrite::{Dialect, Objects, Schema, SessionFacts};

use crate::counters::{Counters, add};
use crate::loaded::Loaded;
use crate::plans::{PlanCache, TextPlan};
use crate::sealing::{Root, Sealer};
use crate::statement_error::StatementError;
use crate::watch::Watch;

mod freshness;
mod seen;
#[cfg(test)]
mod tests;

pub use freshness::Freshness;
use seen::Seen;

/// Search paths of a database whose plans all sessions share.
const PATHS_MAX: usize = 64;
/// Rows that are fetched at most to finish one statement, where nobody says otherwise.
const FINISH_ROWS_MAX: usize = 100_000;
/// Bytes that are kept at most to finish one statement, where nobody says otherwise.
const FINISH_BYTES_MAX: usize = 128 << 20;
/// What a field of COPY may have, where nobody says otherwise.
const FIELD_SIZE_MAX: usize = 256 << 20;
/// How often sessions look whether somebody changed the catalogues past them, where nobody says
/// otherwise.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Warnings that are remembered, so that each is logged once.
const WARNINGS_MAX: usize = 1000;

/// What statements may cost the proxy.
struct Limits {
    /// Rows that are fetched to finish one.
    finish_rows_max: usize,
    /// Bytes that are kept to finish one.
    finish_bytes_max: usize,
    /// Bytes of a field of COPY.
    field_size_max: usize,
}

/// What all sessions know.
pub struct Protection {
    rules: Rules,
    root: Root,
    databases: Mutex<HashMap<String, Database>>,
    /// Counts what is published and forgotten, of all databases.
    changes: AtomicU64,
    plans: PlanCache,
    counters: Counters,
    versions: AtomicU64,
    warnings: Mutex<HashSet<String>>,
    limits: Limits,
    check_interval: Option<Duration>,
    lease: Option<Duration>,
    /// Microseconds since 2000-01-01.
    now: fn() -> i64,
}

/// What is known of a database.
#[derive(Default)]
struct Database {
    /// How often its schema changed.
    forgets: u64,
    published: Option<Published>,
    seen: Seen,
    freshness: Option<Arc<Freshness>>,
    watch: Option<Arc<Watch>>,
}

/// What was read of a database.
pub struct Reading {
    /// Relations and rules.
    pub schema: Schema,
    /// What [`sql_rewrite::fingerprint_of`] the catalogues was, or before.
    pub fingerprint: String,
    /// What [`Protection::forgets`] was before it was read.
    pub forgets: u64,
}

/// What was last seen of a database.
struct Published {
    generation: u64,
    schema: Schema,
    fingerprint: String,
    sealer: Arc<Sealer>,
    by_path: HashMap<Vec<String>, Arc<Loaded>>,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protection")
    }
}

impl Protection {
    /// Rules, the key, and a clock.
    pub fn new(rules: Rules, root: Root, now: fn() -> i64) -> Self {
        Self {
            rules,
            root,
            databases: Mutex::default(),
            changes: AtomicU64::new(0),
            plans: PlanCache::default(),
            counters: Counters::default(),
            versions: AtomicU64::new(1),
            warnings: Mutex::default(),
            limits: Limits {
                finish_rows_max: FINISH_ROWS_MAX,
                finish_bytes_max: FINISH_BYTES_MAX,
                field_size_max: FIELD_SIZE_MAX,
            },
            check_interval: None,
            lease: None,
            now,
        }
    }

    /// Whether tables that are made get a check by which the server itself refuses plaintext; they
    /// do where nobody says otherwise.
    #[must_use]
    pub fn with_guards(mut self, guards: bool) -> Self {
        self.rules.leaves_guards_out = !guards;
        self
    }

    /// With another limit of the rows that are fetched to finish one statement.
    #[must_use]
    pub fn with_finish_rows_max(mut self, rows: usize) -> Self {
        self.limits.finish_rows_max = rows;
        self
    }

    /// With another limit of the bytes that are kept to finish one statement.
    #[must_use]
    pub fn with_finish_bytes_max(mut self, bytes: usize) -> Self {
        self.limits.finish_bytes_max = bytes;
        self
    }

    /// With another limit of a field of COPY.
    #[must_use]
    pub fn with_field_size_max(mut self, size: usize) -> Self {
        self.limits.field_size_max = size;
        self
    }

    /// With sessions that look, at most this often, whether the catalogues changed past them.
    #[must_use]
    pub fn with_check_interval(mut self, interval: Duration) -> Self {
        self.check_interval = Some(interval);
        self
    }

    /// With databases that are watched: what is known of them is good for so long.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// How many bytes are kept at most to finish one statement.
    pub fn finish_bytes_max(&self) -> usize {
        self.limits.finish_bytes_max
    }

    /// What a field of COPY may have.
    pub fn field_size_max(&self) -> usize {
        self.limits.field_size_max
    }

    /// How many rows are fetched at most to finish one statement.
    pub fn finish_rows_max(&self) -> usize {
        self.limits.finish_rows_max
    }

    /// The time, in microseconds since 2000-01-01.
    pub fn now(&self) -> i64 {
        (self.now)()
    }

    /// What was done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many plans are kept.
    pub fn plans_cached(&self) -> u64 {
        self.plans.count() as u64
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Tells the log of a fault between rules and a database, unless it has been told of it.
    pub fn warn_once(&self, database: &str, warning: String) {
        let warnings = self.warnings.lock();
        let mut warnings = warnings.unwrap_or_else(PoisonError::into_inner);
        let key = format!("{database}\0{warning}");
        if warnings.len() < WARNINGS_MAX && warnings.insert(key) {
            tracing::warn!(database, "{warning}");
        }
    }

    /// The state of a database that was published last; None: nobody looked yet.
    pub fn generation(&self, database: &str) -> Option<u64> {
        let databases = self.lock();
        let published = databases.get(database)?.published.as_ref();
        published.map(|known| known.generation)
    }

    /// How often the schema of a database changed: what was read while this grew may be old.
    pub fn forgets(&self, database: &str) -> u64 {
        self.lock().get(database).map_or(0, |known| known.forgets)
    }

    /// While this is the same, so is every [`Self::generation`], and every [`Self::forgets`], that
    /// was asked for after it.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The schema of a database changed: every session looks again before its next plan.
    pub fn forget(&self, database: &str) {
        let mut databases = self.lock();
        let known = databases.entry(database.to_owned()).or_default();
        known.forgets += 1;
        let published = known.published.take();
        drop(databases);
        self.changes.fetch_add(1, Ordering::Release);
        self.retire_all(published);
    }

    /// When the catalogues of a database are looked at next; None: nobody looks.
    pub fn freshness(&self, database: &str) -> Option<Arc<Freshness>> {
        let interval = self.check_interval?;
        let mut databases = self.lock();
        let known = databases.entry(database.to_owned()).or_default();
        let freshness = known
            .freshness
            .get_or_insert_with(|| Arc::new(Freshness::new(interval)));
        Some(Arc::clone(freshness))
    }

    /// The watch over a database; None: nobody watches.
    pub fn watch(&self, name: &[u8], database: &str) -> Option<Arc<Watch>> {
        let lease = self.lease?;
        let mut databases = self.lock();
        let known = databases.entry(database.to_owned()).or_default();
        let new = || Arc::new(Watch::new(name, database, lease));
        Some(Arc::clone(known.watch.get_or_insert_with(new)))
    }

    /// Compares the catalogues as somebody saw them with those that were published, and forgets
    /// these where they changed. `forgets` is what [`Self::forgets`] was before they were looked
    /// at: who looked earlier than what is published was read tells nothing of it.
    pub fn compare(&self, database: &str, fingerprint: &str, forgets: u64) {
        let databases = self.lock();
        let known = databases
            .get(database)
            .filter(|known| known.forgets == forgets);
        let published = known.and_then(|known| known.published.as_ref());
        let has_changed = published.is_some_and(|known| known.fingerprint != fingerprint);
        drop(databases);
        if has_changed {
            add(&self.counters.schema_changes_noticed, 1);
            self.forget(database);
        }
    }

    /// What was published last, as names mean it in a session: what that goes by, `own`, where it
    /// is the same, so that its plans hold.
    pub fn adopt(
        &self,
        database: &str,
        session: &SessionFacts,
        own: Option<&Arc<Loaded>>,
    ) -> Option<Arc<Loaded>> {
        let mut databases = self.lock();
        let known = databases.get_mut(database)?.published.as_mut()?;
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
        // Whoever makes up search paths without end gets plans of his own each time.
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

    /// A session goes by it no more. What no other has is retired.
    pub fn release(&self, loaded: &Loaded) {
        if !loaded.is_shared {
            self.retire(loaded);
        }
    }

    /// Plans that are kept would keep it, with all its relations.
    fn retire(&self, loaded: &Loaded) {
        // First this: who keeps a plan looks at it with the cache locked.
        loaded.is_retired.store(true, Ordering::Release);
        self.plans.forget(loaded.version);
    }

    fn retire_all(&self, published: Option<Published>) {
        let by_path = published.iter().flat_map(|known| known.by_path.values());
        for loaded in by_path {
            self.retire(loaded);
        }
    }

    /// What was just read; for all sessions where `is_public`. None: it changed meanwhile, and is
    /// to be read again.
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
        let sealer = self.root.sealer(&schema.protected);
        let sealer = Arc::new(sealer.map_err(|error| StatementError::rules(error.to_string()))?);
        let mut databases = self.lock();
        let known = databases.entry(database.to_owned()).or_default();
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
        if let Some(plan) = self.plans.find(loaded.version, text)
            && !plan.is_narrow()
        {
            return Ok(plan);
        }
        let plan = self.plan_with(loaded, text, &Objects::default())?;
        self.plans.keep(text, &plan);
        Ok(plan)
    }

    /// The plan of a text that names concern which its session has given: it is kept for nobody.
    ///
    /// # Errors
    /// It is refused.
    pub fn plan_with(
        &self,
        loaded: &Arc<Loaded>,
        text: &str,
        objects: &Objects,
    ) -> Result<Arc<TextPlan>, StatementError> {
        let planned = sql_rewrite::plan_with(text, &loaded.schema, Dialect::Postgres, objects)?;
        add(&self.counters.plans, 1);
        for one in &planned {
            loaded.note_increments(&one.plan);
        }
        Ok(Arc::new(TextPlan::new(text, planned, loaded)))
    }

    fn next(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Database>> {
        // Entries are put in whole.
        self.databases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
