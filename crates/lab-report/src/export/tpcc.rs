//! Workload `tpcc` as Markdown.

use std::collections::BTreeMap;

use lab::comparison::Comparison;

use super::Table;
use crate::format::MISSING;
use crate::tpcc::{Step, filled, steps};

/// Throughput for all numbers of terminals, then each of these with the cost of a transaction, then
/// the tables.
pub(super) fn tables(comparison: &Comparison) -> String {
    let steps = steps(comparison);
    let mut texts = vec![rates(comparison, &steps)];
    texts.extend(steps.iter().map(step));
    texts.push(tables_filled(comparison));
    texts.join("\n")
}

fn rates(comparison: &Comparison, steps: &[Step]) -> String {
    let mut head = vec!["transactions/s, lost".to_owned()];
    head.extend(steps.iter().map(|step| step.title.clone()));
    let mut table = Table::new(&head);
    let of_engines: Vec<BTreeMap<&str, String>> = steps.iter().map(rate_of_engines).collect();
    for engine in &comparison.engines {
        let name = engine.profile.name.as_str();
        let mut row = vec![name.to_owned()];
        row.extend(of_engines.iter().map(|rates| {
            let rate = rates.get(name).map(String::as_str);
            rate.unwrap_or(MISSING).to_owned()
        }));
        table.row(&row);
    }
    table.0
}

fn rate_of_engines(step: &Step) -> BTreeMap<&str, String> {
    let rows = step.rows.iter();
    rows.map(|row| {
        let lost = match row.lost.as_str() {
            MISSING => String::new(),
            lost => format!(", {lost}"),
        };
        (row.name.as_str(), format!("{}{lost}", row.throughput))
    })
    .collect()
}

fn step(step: &Step) -> String {
    let head = [
        step.title.as_str(),
        "transactions/s",
        "each round",
        "lost",
        "published",
        "half within",
        "99 % within",
        "conflicts + deadlocks",
        "client, each",
        "proxy, each",
        "server, each",
        "database",
    ];
    let mut table = Table::new(&head.map(str::to_owned));
    for row in &step.rows {
        let [half, _, most, _, _] = row.latency.clone();
        table.row(&[
            row.name.clone(),
            row.throughput.clone(),
            row.rounds.clone(),
            row.lost.clone(),
            row.published.clone(),
            half,
            most,
            format!("{} + {}", row.conflicts, row.deadlocks),
            row.client.clone(),
            row.proxy.clone(),
            row.server.clone(),
            row.database.clone(),
        ]);
    }
    table.0
}

fn tables_filled(comparison: &Comparison) -> String {
    let head = [
        "tables",
        "filled in",
        "database",
        "over the base",
        "ORIGINAL in files",
    ];
    let mut table = Table::new(&head.map(str::to_owned));
    for row in filled(comparison) {
        let readable = row.readable.to_owned();
        table.row(&[row.name, row.seconds, row.database, row.growth, readable]);
    }
    table.0
}
