//! What is said of workload `tpcc`.

use serde::{Deserialize, Serialize};
use workloads::tpcc::Isolation;
use workloads::tpcc::transactions::Kind;

use super::{seconds, server_cpu_ns, server_usage, to_float};
use crate::concurrent::Latency;
use crate::results::TestSample;
use crate::statistics::median;
use crate::tpcc::{TpccRun, TpccSample};

/// A test of workload `tpcc`, medians over the rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TpccCell {
    /// Size of the database after the test, bytes.
    pub database_bytes: f64,
    /// What terminals did, where the test is not that of the tables.
    pub run: Option<TpccRunCell>,
}

/// What terminals did, medians over the rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TpccRunCell {
    /// How many terminals there were.
    pub terminals: u32,
    /// What the server promised them.
    pub isolation: Isolation,
    /// Committed transactions per second.
    pub throughput: f64,
    /// The same of each round.
    pub throughputs: Vec<f64>,
    /// Statements per second in them.
    pub statements: f64,
    /// Latency, seconds: 50, 90, 99 and 99.9 of 100 transactions took at most this, and all.
    pub latency_s: [f64; 5],
    /// Each kind that occurred.
    pub kinds: Vec<TpccKindCell>,
    /// Processor time of the client for a committed transaction, seconds.
    pub client_cpu_s: f64,
    /// That of the proxy, where there is one.
    pub proxy_cpu_s: Option<f64>,
    /// That of the server, where it was measured.
    pub server_cpu_s: Option<f64>,
    /// Times that transactions could not be put in an order.
    pub conflicts: f64,
    /// Times that the server ended a deadlock or a wait.
    pub deadlocks: f64,
    /// Transactions that were given up.
    pub given_up: f64,
    /// Orders that were rolled back as the specification says.
    pub rolled_back: f64,
}

/// One kind of transaction, medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TpccKindCell {
    /// Which.
    pub kind: Kind,
    /// How many were committed.
    pub committed: f64,
    /// As [`TpccRunCell::latency_s`].
    pub latency_s: [f64; 5],
}

impl TpccRunCell {
    /// Times that transactions were tried again, for each that was committed.
    pub fn retries_share(&self, seconds: f64) -> f64 {
        (self.conflicts + self.deadlocks) / (self.throughput * seconds).max(1.0)
    }
}

pub(super) fn cell(samples: &[&TestSample]) -> Option<TpccCell> {
    let tests: Vec<&TpccSample> = samples
        .iter()
        .filter_map(|one| one.tpcc.as_deref())
        .collect();
    let bytes: Vec<f64> = tests
        .iter()
        .map(|one| to_float(one.database_bytes))
        .collect();
    Some(TpccCell {
        database_bytes: median(&bytes)?,
        run: run_of(samples),
    })
}

fn run_of(samples: &[&TestSample]) -> Option<TpccRunCell> {
    let runs: Vec<(&TestSample, &TpccRun)> = samples
        .iter()
        .filter_map(|sample| Some((*sample, sample.terminals()?)))
        .collect();
    let (_, first) = runs.first()?;
    let of = |pick: &dyn Fn(&TestSample, &TpccRun) -> Option<f64>| {
        let values = runs.iter().filter_map(|(sample, run)| pick(sample, run));
        median(&values.collect::<Vec<f64>>())
    };
    let count = |pick: fn(&TpccRun) -> u64| of(&|_, run| Some(to_float(pick(run))));
    let each = |run: &TpccRun, ns: u64| seconds(ns) / to_float(run.committed.max(1));
    let proxy = |run: &TpccRun| run.proxy_cpu_ns.unwrap_or(0);
    let kind = |kind: Kind| {
        let own = |run: &TpccRun| run.kinds.iter().find(|one| one.kind == kind).cloned();
        Some(TpccKindCell {
            kind,
            committed: of(&|_, run| Some(to_float(own(run)?.committed)))?,
            latency_s: latencies(&|pick| of(&|_, run| Some(seconds(pick(&own(run)?.latency)))))?,
        })
    };
    Some(TpccRunCell {
        terminals: first.step.terminals,
        isolation: first.step.isolation,
        throughput: of(&|_, run| Some(run.throughput()))?,
        throughputs: runs.iter().map(|(_, run)| run.throughput()).collect(),
        statements: of(&|_, run| Some(to_float(run.statements) / seconds(run.measured_ns)))?,
        latency_s: latencies(&|pick| of(&|_, run| Some(seconds(pick(&run.latency)))))?,
        kinds: Kind::ALL.into_iter().filter_map(kind).collect(),
        client_cpu_s: of(&|sample, run| Some(each(run, sample.sample.client_cpu_ns())))?,
        proxy_cpu_s: of(&|_, run| Some(each(run, run.proxy_cpu_ns?))),
        server_cpu_s: of(&|sample, run| {
            let usage = server_usage(&sample.sample)?;
            Some(each(run, server_cpu_ns(usage).saturating_sub(proxy(run))))
        }),
        conflicts: count(|run| run.conflicts)?,
        deadlocks: count(|run| run.deadlocks)?,
        given_up: count(|run| run.given_up)?,
        rolled_back: count(|run| run.rolled_back)?,
    })
}

/// The five figures of a latency, each a median.
fn latencies(of: &dyn Fn(fn(&Latency) -> u64) -> Option<f64>) -> Option<[f64; 5]> {
    Some([
        of(|latency| latency.p50_ns)?,
        of(|latency| latency.p90_ns)?,
        of(|latency| latency.p99_ns)?,
        of(|latency| latency.p999_ns)?,
        of(|latency| latency.max_ns)?,
    ])
}
