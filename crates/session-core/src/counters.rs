//! What sessions count.

use std::sync::atomic::{AtomicU64, Ordering};

/// Adds to a counter.
#[inline]
pub fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

/// What a number is to Prometheus.
#[derive(Clone, Copy)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It comes and goes.
    Gauge,
}

/// Name, kind, what it counts, and the count.
pub type MetricRow = (&'static str, MetricKind, &'static str, u64);

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
    /// All of them, and how many plans are kept.
    pub fn rows(&self, plans_cached: u64) -> [MetricRow; 8] {
        use MetricKind::{Counter, Gauge};
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
