//! What a test of `tpcc` came to, as the results file has it.

use serde::{Deserialize, Serialize};
use workloads::tpcc::Step;
use workloads::tpcc::transactions::Kind;

use crate::concurrent::Latency;

/// What a test of `tpcc` came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpccSample {
    /// Size of the database after the test, as the server says, bytes.
    pub database_bytes: u64,
    /// What the terminals did, where the test is not that of the tables.
    pub run: Option<TpccRun>,
}

/// What terminals did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpccRun {
    /// What was asked for.
    pub step: Step,
    /// Time that counts, nanoseconds.
    pub measured_ns: u64,
    /// Transactions that were committed in it.
    pub committed: u64,
    /// NewOrders that ended as the specification says, without a commit.
    pub rolled_back: u64,
    /// Statements of the committed ones, without those that begin and end a transaction.
    pub statements: u64,
    /// Latencies of the committed ones.
    pub latency: Latency,
    /// The same for each kind that occurred.
    pub kinds: Vec<TpccKind>,
    /// Times a transaction could not be put in an order with others.
    pub conflicts: u64,
    /// Times the server ended a deadlock, or a wait for a lock.
    pub deadlocks: u64,
    /// Transactions that were given up after [`RETRIES_MAX`](crate::concurrent::RETRIES_MAX)
    /// repetitions.
    pub given_up: u64,
    /// Processor time of the proxy, nanoseconds, where there is one. It is a part of what the
    /// test's sample gives to the server.
    pub proxy_cpu_ns: Option<u64>,
}

/// One kind of transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpccKind {
    /// Which.
    pub kind: Kind,
    /// How many were committed.
    pub committed: u64,
    /// Their latencies.
    pub latency: Latency,
}

impl TpccRun {
    /// Committed transactions per second.
    pub fn throughput(&self) -> f64 {
        self.committed as f64 * 1e9 / (self.measured_ns.max(1) as f64)
    }

    /// Times a transaction was tried again.
    pub fn retries(&self) -> u64 {
        self.conflicts + self.deadlocks
    }
}
