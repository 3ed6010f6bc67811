//! What the proxy counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the whole proxy.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Connections that were accepted.
    pub connections: AtomicU64,
    /// Those that are open now.
    pub connections_open: AtomicU64,
    /// Those that were turned away, or did not become a session.
    pub connections_refused: AtomicU64,
    /// Sessions that the server let in.
    pub sessions: AtomicU64,
    /// Those that go on.
    pub sessions_open: AtomicU64,
    /// Clients that were not let in.
    pub logins_failed: AtomicU64,
    /// Requests to cancel.
    pub cancels: AtomicU64,
    /// Bytes read from clients.
    pub client_bytes: AtomicU64,
    /// Bytes read from the server.
    pub server_bytes: AtomicU64,
}

/// A session that was let in, counted while it lives.
pub struct OpenSession(Arc<Metrics>);

impl OpenSession {
    /// One more.
    pub fn new(metrics: &Arc<Metrics>) -> Self {
        add(&metrics.sessions, 1);
        add(&metrics.sessions_open, 1);
        Self(Arc::clone(metrics))
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        subtract(&self.0.sessions_open, 1);
    }
}

/// Adds to a counter.
pub fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// Takes from a counter.
pub fn subtract(counter: &AtomicU64, count: u64) {
    counter.fetch_sub(count, Ordering::Relaxed);
}

/// What a number is to Prometheus.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// It only grows.
    Counter,
    /// It comes and goes.
    Gauge,
}

/// Name, kind, what it counts, and the count.
pub(crate) type Row = (&'static str, Kind, &'static str, u64);

impl Metrics {
    pub(crate) fn rows(&self) -> [Row; 9] {
        use Kind::{Counter, Gauge};
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (
                "connections_total",
                Counter,
                "Connections accepted.",
                of(&self.connections),
            ),
            (
                "connections_open",
                Gauge,
                "Connections open.",
                of(&self.connections_open),
            ),
            (
                "connections_refused_total",
                Counter,
                "Connections turned away by the proxy.",
                of(&self.connections_refused),
            ),
            (
                "sessions_total",
                Counter,
                "Sessions begun.",
                of(&self.sessions),
            ),
            (
                "sessions_open",
                Gauge,
                "Sessions that go on.",
                of(&self.sessions_open),
            ),
            (
                "logins_failed_total",
                Counter,
                "Clients that were not let in, by the server or by the proxy.",
                of(&self.logins_failed),
            ),
            (
                "cancels_total",
                Counter,
                "Requests to cancel.",
                of(&self.cancels),
            ),
            (
                "client_bytes_total",
                Counter,
                "Bytes from clients.",
                of(&self.client_bytes),
            ),
            (
                "server_bytes_total",
                Counter,
                "Bytes from the server.",
                of(&self.server_bytes),
            ),
        ]
    }
}

/// What protection did. All sessions count here, so only what is seldom is counted.
#[derive(Debug, Default)]
pub struct Counters {
    /// Plans that were made, since none was kept.
    pub plans: AtomicU64,
    /// Statements that the proxy failed in place of the server.
    pub statements_refused: AtomicU64,
    /// Those of them that had a plan, which the second proof refused.
    pub plans_unproved: AtomicU64,
    /// Looks that found the catalogues changed past all sessions.
    pub schema_changes_noticed: AtomicU64,
    /// Queries whose rows the proxy fetched to finish them.
    pub queries_finished: AtomicU64,
    /// Those rows.
    pub rows_finished: AtomicU64,
    /// Sessions that ended by a value that does not open.
    pub values_damaged: AtomicU64,
}

impl Counters {
    pub(crate) fn rows(&self, plans_cached: u64) -> [Row; 8] {
        use Kind::{Counter, Gauge};
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (
                "plans_total",
                Counter,
                "Plans made for texts of statements.",
                of(&self.plans),
            ),
            (
                "plans_cached",
                Gauge,
                "Plans kept for the next time.",
                plans_cached,
            ),
            (
                "statements_refused_total",
                Counter,
                "Statements that the proxy failed in place of the server.",
                of(&self.statements_refused),
            ),
            (
                "plans_unproved_total",
                Counter,
                "Statements refused because the second proof refused their plan: a defect.",
                of(&self.plans_unproved),
            ),
            (
                "schema_changes_noticed_total",
                Counter,
                "Changes of a schema that were not made through this proxy, as it noticed them.",
                of(&self.schema_changes_noticed),
            ),
            (
                "queries_finished_total",
                Counter,
                "Queries that the proxy finished.",
                of(&self.queries_finished),
            ),
            (
                "rows_finished_total",
                Counter,
                "Rows fetched to finish queries.",
                of(&self.rows_finished),
            ),
            (
                "values_damaged_total",
                Counter,
                "Sessions that ended by a value that does not open.",
                of(&self.values_damaged),
            ),
        ]
    }
}
