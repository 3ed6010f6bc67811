//! What finishers count.

use std::sync::atomic::{AtomicU64, Ordering};

use session_core::counters::{MetricKind, MetricRow, add};

/// Counters of all finishers of a proxy.
#[derive(Debug, Default)]
pub struct FinisherCounters {
    /// Questions.
    pub asked: AtomicU64,
    /// Those that got an error.
    pub failed: AtomicU64,
    /// Servers that were started.
    pub started: AtomicU64,
    /// Those that were started in place of one that had ended.
    pub restarted: AtomicU64,
    /// Rows of answers.
    pub rows: AtomicU64,
    /// Bytes of values that were computed with, and of answers.
    pub bytes: AtomicU64,
    /// Questions that have a connection now.
    pub busy: AtomicU64,
    /// Time between questions and their answers, summed.
    pub microseconds: AtomicU64,
}

/// A question that has a connection, counted while it has.
pub struct Busy<'a>(&'a AtomicU64);

impl<'a> Busy<'a> {
    /// Counts it.
    pub fn new(counters: &'a FinisherCounters) -> Self {
        add(&counters.busy, 1);
        Self(&counters.busy)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl FinisherCounters {
    /// All of them, as metrics.
    pub fn rows(&self) -> [MetricRow; 8] {
        use MetricKind::{Counter, Gauge};
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (
                "finisher_asked_total",
                Counter,
                "Questions to the finisher.",
                of(&self.asked),
            ),
            (
                "finisher_failed_total",
                Counter,
                "Questions that the finisher answered with an error.",
                of(&self.failed),
            ),
            (
                "finisher_started_total",
                Counter,
                "Starts of finishers.",
                of(&self.started),
            ),
            (
                "finisher_restarted_total",
                Counter,
                "Starts of finishers in place of one that had ended.",
                of(&self.restarted),
            ),
            (
                "finisher_rows_total",
                Counter,
                "Rows of the finisher's answers.",
                of(&self.rows),
            ),
            (
                "finisher_bytes_total",
                Counter,
                "Bytes of values to the finisher, and of its answers.",
                of(&self.bytes),
            ),
            (
                "finisher_busy",
                Gauge,
                "Connections to the finisher that are in use.",
                of(&self.busy),
            ),
            (
                "finisher_microseconds_total",
                Counter,
                "Time that questions to the finisher took, waiting included.",
                of(&self.microseconds),
            ),
        ]
    }
}
