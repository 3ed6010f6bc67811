//! Evaluation of workload `tpcc`.

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
    /// Results of the terminals, unless the test is the one that fills the tables.
    pub run: Option<TpccRunCell>,
}

/// Results of the terminals, medians over the rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TpccRunCell {
    /// How many terminals there were.
    pub terminals: u32,
    /// The isolation level.
    pub isolation: Isolation,
    /// Committed transactions per second.
    pub throughput: f64,
    /// The throughput of each round.
    pub throughputs: Vec<f64>,
    /// Statements per second in committed transactions.
    pub statements: f64,
    /// Latency, seconds: the 50th, 90th, 99th and 99.9th percentile of the transactions, and the
    /// maximum.
    pub latency_s: [f64; 5],
    /// Each kind of transaction that occurred.
    pub kinds: Vec<TpccKindCell>,
    /// Processor time of the client per committed transaction, seconds.
    pub client_cpu_s: f64,
    /// That of the proxy, if there is one.
    pub proxy_cpu_s: Option<f64>,
    /// That of the server, if it was measured.
    pub server_cpu_s: Option<f64>,
    /// How often transactions failed to serialise.
    pub conflicts: f64,
    /// How often the server resolved a deadlock or timed out a wait.
    pub deadlocks: f64,
    /// Transactions that were given up.
    pub given_up: f64,
    /// Orders that were rolled back as the specification requires.
    pub rolled_back: f64,
}

/// One kind of transaction, medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TpccKindCell {
    /// The kind.
    pub kind: Kind,
    /// The number of commits.
    pub committed: f64,
    /// As for [`TpccRunCell::latency_s`].
    pub latency_s: [f64; 5],
}

impl TpccRunCell {
    /// Retries per committed transaction.
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

/// The five latency figures, each a median.
fn latencies(of: &dyn Fn(fn(&Latency) -> u64) -> Option<f64>) -> Option<[f64; 5]> {
    Some([
        of(|latency| latency.p50_ns)?,
        of(|latency| latency.p90_ns)?,
        of(|latency| latency.p99_ns)?,
        of(|latency| latency.p999_ns)?,
        of(|latency| latency.max_ns)?,
    ])
}
