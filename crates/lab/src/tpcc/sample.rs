//! Results of a test of `tpcc`, as stored in the results file.

use serde::{Deserialize, Serialize};
use workloads::tpcc::Step;
use workloads::tpcc::transactions::Kind;

use crate::concurrent::sample::Latency;

/// Results of a test of `tpcc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpccSample {
    /// Size of the database after the test, as reported by the server, bytes.
    pub database_bytes: u64,
    /// Results of the terminals, unless the test is the one that fills the tables.
    pub run: Option<TpccRun>,
}

/// Results of the terminals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpccRun {
    /// The parameters.
    pub step: Step,
    /// The measured time, nanoseconds.
    pub measured_ns: u64,
    /// Transactions committed in it.
    pub committed: u64,
    /// NewOrders that were rolled back as the specification requires.
    pub rolled_back: u64,
    /// Statements of committed transactions, without those that begin and end them.
    pub statements: u64,
    /// Latencies of committed transactions.
    pub latency: Latency,
    /// The same for each kind that occurred.
    pub kinds: Vec<TpccKind>,
    /// How often a transaction failed to serialise.
    pub conflicts: u64,
    /// How often the server resolved a deadlock, or timed out a wait for a lock.
    pub deadlocks: u64,
    /// Transactions that were given up after [`RETRIES_MAX`](crate::concurrent::RETRIES_MAX)
    /// retries.
    pub given_up: u64,
    /// Processor time of the proxy, nanoseconds, if there is one. The test's sample counts it as
    /// part of the server's.
    pub proxy_cpu_ns: Option<u64>,
}

/// One kind of transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpccKind {
    /// The kind.
    pub kind: Kind,
    /// The number of commits.
    pub committed: u64,
    /// Their latencies.
    pub latency: Latency,
}

impl TpccRun {
    /// Committed transactions per second.
    pub fn throughput(&self) -> f64 {
        self.committed as f64 * 1e9 / (self.measured_ns.max(1) as f64)
    }

    /// The number of retries.
    pub fn retries(&self) -> u64 {
        self.conflicts + self.deadlocks
    }
}
