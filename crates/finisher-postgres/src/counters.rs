//! What finishers count.

use std::sync::atomic::{AtomicU64, Ordering};

use session_core::counters::{MetricKind, MetricRow};

/// Counters of all finishers of a proxy.
#[derive(Debug, Default)]
pub struct FinisherCounters {
    /// Questions.
    pub asked: AtomicU64,
    /// Those that got an error.
    pub failed: AtomicU64,
    /// Servers that were started.
    pub started: AtomicU64,
    /// Time between questions and their answers, summed.
    pub microseconds: AtomicU64,
}

impl FinisherCounters {
    /// All of them, as metrics.
    pub fn rows(&self) -> [MetricRow; 4] {
        use MetricKind::Counter;
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
                "finisher_microseconds_total",
                Counter,
                "Time that questions to the finisher took, waiting included.",
                of(&self.microseconds),
            ),
        ]
    }
}
