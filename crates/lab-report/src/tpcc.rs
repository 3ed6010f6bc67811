//! The evaluation of workload `tpcc` in words, for terminal and page.

use lab::comparison::{Comparison, EngineSummary, TpccRunCell};
use lab::statistics::Ratio;
use serde::Serialize;
use workloads::Spec;
use workloads::tpcc::published;

use crate::format::{MISSING, bytes, duration};

/// The steps of the run, each with a number of terminals.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

/// One engine in one step.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Committed transactions per second, marked if the tables were inconsistent.
    pub(crate) throughput: String,
    /// Loss of throughput against the base, per cent, with its interval.
    pub(crate) lost: String,
    /// The published loss for as many terminals and columns.
    pub(crate) published: String,
    pub(crate) statements: String,
    /// Median, 90th, 99th and 99.9th percentile, and maximum.
    pub(crate) latency: [String; 5],
    pub(crate) conflicts: String,
    pub(crate) deadlocks: String,
    pub(crate) given_up: String,
    pub(crate) rolled_back: String,
    /// Processor time per transaction.
    pub(crate) client: String,
    pub(crate) proxy: String,
    pub(crate) server: String,
    /// Size of the database after the step.
    pub(crate) database: String,
    /// A row for each kind of transaction.
    pub(crate) kinds: Vec<KindRow>,
    pub(crate) rounds: String,
}

/// One kind of transaction.
#[derive(Debug, Serialize)]
pub(crate) struct KindRow {
    pub(crate) name: &'static str,
    pub(crate) committed: String,
    pub(crate) latency: [String; 5],
}

/// One engine after its tables were filled.
#[derive(Debug, Serialize)]
pub(crate) struct Filled {
    pub(crate) name: String,
    pub(crate) seconds: String,
    pub(crate) database: String,
    /// Size as a multiple of that of the engine without a proxy.
    pub(crate) growth: String,
    /// Whether a word of the rows was readable in the server's files at the end.
    pub(crate) readable: &'static str,
}

pub(crate) fn is_tpcc(comparison: &Comparison) -> bool {
    matches!(comparison.header.workload.spec, Spec::Tpcc { .. })
}

/// The loss of throughput if a transaction takes `ratio` times as long, per cent.
fn lost_percent(ratio: f64) -> f64 {
    (1.0 - 1.0 / ratio) * 100.0
}

fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

pub(crate) fn lost(ratio: Option<&Ratio>) -> String {
    let Some(ratio) = ratio else {
        return MISSING.to_owned();
    };
    let value = percent(lost_percent(ratio.value));
    match ratio.interval {
        Some((low, high)) => format!(
            "{value} ({:.1}–{:.1})",
            lost_percent(low),
            lost_percent(high)
        ),
        None => value,
    }
}

pub(crate) fn steps(comparison: &Comparison) -> Vec<Step> {
    let titles = comparison.header.workload.tests.iter().enumerate();
    titles
        .map(|(test, title)| Step {
            title: title.clone(),
            rows: comparison
                .engines
                .iter()
                .filter_map(|engine| row(engine, test))
                .collect(),
        })
        .filter(|step| !step.rows.is_empty())
        .collect()
}

fn row(engine: &EngineSummary, test: usize) -> Option<Row> {
    let cell = engine.cells.get(test)?;
    let tpcc = cell.tpcc.as_ref()?;
    let run = tpcc.run.as_ref()?;
    let name = engine.profile.name.clone();
    let count = |count: f64| format!("{count:.0}");
    let mark = if cell.wrong.is_some() { " WRONG" } else { "" };
    let published = published::figure(&name, run.terminals);
    let rounds: Vec<String> = run.throughputs.iter().map(|&rate| count(rate)).collect();
    Some(Row {
        name,
        throughput: format!("{}{mark}", count(run.throughput)),
        lost: lost(cell.wall_ratio.as_ref()),
        published: published.map_or_else(|| MISSING.to_owned(), |(_, lost)| percent(lost * 100.0)),
        statements: count(run.statements),
        latency: latency(&run.latency_s),
        conflicts: count(run.conflicts),
        deadlocks: count(run.deadlocks),
        given_up: count(run.given_up),
        rolled_back: count(run.rolled_back),
        client: duration(Some(run.client_cpu_s)),
        proxy: duration(run.proxy_cpu_s),
        server: duration(run.server_cpu_s),
        database: bytes(Some(tpcc.database_bytes)),
        kinds: kinds(run),
        rounds: rounds.join(", "),
    })
}

fn latency(seconds: &[f64; 5]) -> [String; 5] {
    seconds.map(|seconds| duration(Some(seconds)))
}

fn kinds(run: &TpccRunCell) -> Vec<KindRow> {
    let kinds = run.kinds.iter();
    kinds
        .map(|kind| KindRow {
            name: kind.kind.name(),
            committed: format!("{:.0}", kind.committed),
            latency: latency(&kind.latency_s),
        })
        .collect()
}

/// The engines after their tables were filled.
pub(crate) fn filled(comparison: &Comparison) -> Vec<Filled> {
    let size = |engine: &EngineSummary| {
        let cell = engine.cells.first()?;
        Some((cell.wall_s?, cell.tpcc.as_ref()?.database_bytes))
    };
    let base = |engine: &EngineSummary| match &engine.base {
        Some(base) => comparison.engine(base).and_then(size),
        None => size(engine),
    };
    let filled = comparison.engines.iter().filter_map(|engine| {
        let (seconds, database_bytes) = size(engine)?;
        let growth = base(engine).map(|(_, base)| format!("{:.2} ×", database_bytes / base));
        Some(Filled {
            name: engine.profile.name.clone(),
            seconds: duration(Some(seconds)),
            database: bytes(Some(database_bytes)),
            growth: growth.unwrap_or_default(),
            readable: match engine.readable_on_disk {
                Some(true) => "yes",
                Some(false) => "no",
                None => MISSING,
            },
        })
    });
    filled.collect()
}

/// The contender in the headline: the one with all columns encrypted, or else the last.
pub(crate) fn lead(comparison: &Comparison) -> Option<&EngineSummary> {
    const ALL_COLUMNS: &str = "-100";
    let all = |engine: &&EngineSummary| engine.profile.name.ends_with(ALL_COLUMNS);
    let found = comparison.contenders().find(all);
    found.or_else(|| comparison.contenders().last())
}

fn lead_words(comparison: &Comparison) -> Option<(String, String)> {
    let lead = lead(comparison)?;
    let ratio = lead.wall_mean.as_ref()?;
    let base = lead.base.as_deref().unwrap_or_default();
    let interval = match ratio.interval {
        Some(_) => "",
        None => "; too few rounds for an interval",
    };
    let change = lost_percent(ratio.value);
    let headline = format!(
        "{}: {:.0} % {} transactions",
        lead.profile.name,
        change.abs(),
        if change < 0.0 { "more" } else { "fewer" }
    );
    let sentence = format!(
        "{} lost {} of {base}'s committed transactions per second, over all numbers of \
         terminals{interval}",
        lead.profile.name,
        lost(Some(ratio)),
    );
    Some((headline, sentence))
}

/// For the head of the page.
pub(crate) fn headline(comparison: &Comparison) -> String {
    lead_words(comparison).map_or_else(
        || format!("Transactions of {}", comparison.names()),
        |(headline, _)| headline,
    )
}

/// The result in one sentence.
pub(crate) fn sentence(comparison: &Comparison) -> String {
    let words = lead_words(comparison).map(|(_, sentence)| sentence);
    let mut text = words.unwrap_or_else(|| {
        let names = comparison.names();
        format!("Terminals worked at {names}, without a base to compare with")
    });
    let wrong: usize = comparison
        .engines
        .iter()
        .map(EngineSummary::wrong_count)
        .sum();
    if wrong > 0 {
        text += &format!("; {wrong} runs left inconsistent tables and are not counted");
    }
    text + "."
}

/// The explanation for the comparison with the published figures.
pub(crate) const NOTE: &str = "The published system kept plain text in the server's memory and on \
     its disks, and encrypted columns of results only; here the server stores ciphertext and never \
     sees the key. Its figures are from another machine, with a client of 8 cores and a server of \
     64, at SERIALIZABLE with one warehouse, a minute each. An engine in process works in the \
     client's threads: its processor time is part of the client's.";
