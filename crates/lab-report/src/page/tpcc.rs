//! Terminals at work: transactions per second, and what they cost.

use lab::comparison::Comparison;
use serde::Serialize;

use super::growth::{Axes, Chart};
use crate::tpcc::{Filled, NOTE, Step, filled, is_tpcc, steps};

/// What the page says of workload `tpcc`.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    charts: Vec<Chart>,
    steps: Vec<Step>,
    filled: Vec<Filled>,
    note: &'static str,
}

/// Nothing where another workload was run.
pub(super) fn section(comparison: &Comparison) -> Option<Section> {
    let axes = Axes {
        title: "Committed transactions per second".to_owned(),
        unit: "terminals",
        measure: "transactions per second",
        suffix: " /s",
        powers: false,
    };
    is_tpcc(comparison).then(|| Section {
        charts: super::concurrent::curves_of(comparison, &axes, |cell| {
            let run = cell.tpcc.as_ref()?.run.as_ref()?;
            Some((f64::from(run.terminals), run.throughput))
        }),
        steps: steps(comparison),
        filled: filled(comparison),
        note: NOTE,
    })
}
