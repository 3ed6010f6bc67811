//! What several connections at work at once came to, as the results file has it.

use serde::{Deserialize, Serialize};
use workloads::concurrent::{Kind, Step};

/// What a step of several connections came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrentSample {
    /// What was asked for.
    pub step: Step,
    /// From the end of the warm-up to the end of the last operation that counts, nanoseconds.
    pub measured_ns: u64,
    /// Operations that counted and were committed.
    pub completed: u64,
    /// Latencies of all of them, and of those that were never begun.
    pub latency: Latency,
    /// The same for each kind that occurred.
    pub kinds: Vec<KindSample>,
    /// Times an engine said that something is locked.
    pub busy: u64,
    /// Times an engine ended a deadlock, or a transaction that could not be put in an order.
    pub deadlocks: u64,
    /// Times an operation was tried again.
    pub retries: u64,
    /// Operations that were given up after [`RETRIES_MAX`](super::RETRIES_MAX) repetitions.
    pub given_up: u64,
    /// Operations that were due and never begun.
    pub not_begun: u64,
}

/// One kind of operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindSample {
    /// Which.
    pub kind: Kind,
    /// How many counted and were committed.
    pub completed: u64,
    /// Their latencies.
    pub latency: Latency,
}

/// A distribution of times, nanoseconds, to three digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of them are at most this.
    pub p50_ns: u64,
    /// 90 of 100.
    pub p90_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl ConcurrentSample {
    /// Committed operations per second.
    pub fn throughput(&self) -> f64 {
        self.completed as f64 * 1e9 / (self.measured_ns.max(1) as f64)
    }
}
