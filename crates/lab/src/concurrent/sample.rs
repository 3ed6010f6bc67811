//! Measurements of several concurrent connections, as stored in the results file.

use serde::{Deserialize, Serialize};
use workloads::concurrent::{Kind, Step};

/// Measurements of a step with several connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrentSample {
    /// The parameters of the step.
    pub step: Step,
    /// From the end of the warm-up to the end of the last counted operation, nanoseconds.
    pub measured_ns: u64,
    /// Counted operations that were committed.
    pub completed: u64,
    /// Latencies of all of them, and of those that were never started.
    pub latency: Latency,
    /// The same for each kind that occurred.
    pub kinds: Vec<KindSample>,
    /// How often the engine reported that something is locked.
    pub busy: u64,
    /// How often the engine resolved a deadlock, or a transaction failed to serialise.
    pub deadlocks: u64,
    /// How often an operation was retried.
    pub retries: u64,
    /// Operations that were given up after [`RETRIES_MAX`](super::RETRIES_MAX) retries.
    pub given_up: u64,
    /// Operations that were due and never started.
    pub not_begun: u64,
}

/// One kind of operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindSample {
    /// The kind.
    pub kind: Kind,
    /// Counted operations that were committed.
    pub completed: u64,
    /// Their latencies.
    pub latency: Latency,
}

/// Latency percentiles, in nanoseconds with three significant digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

impl ConcurrentSample {
    /// Committed operations per second.
    pub fn throughput(&self) -> f64 {
        self.completed as f64 * 1e9 / (self.measured_ns.max(1) as f64)
    }
}
