//! Terminals at work: transactions per second, and what they cost.

use lab::comparison::Comparison;
use serde::Serialize;
use workloads::tpcc::published;

use super::concurrent::curves_and_sizes;
use super::growth::{Axes, Chart, Curve, Drawn, Style, chart};
use super::scale::Kind;
use crate::chart::{COLOURS, class_of, place_of};
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
    is_tpcc(comparison).then(|| Section {
        charts: throughput(comparison).into_iter().collect(),
        steps: steps(comparison),
        filled: filled(comparison),
        note: NOTE,
    })
}

/// All engines in one chart, and what was published as marks: the reference engine's throughput
/// less the published loss.
fn throughput(comparison: &Comparison) -> Option<Chart> {
    let axes = Axes {
        title: "Committed transactions per second".to_owned(),
        unit: "terminals",
        measure: "transactions per second",
        suffix: " /s",
        powers: false,
        scale: Kind::Linear,
    };
    let (sizes, curves) = curves_and_sizes(comparison, |cell| {
        let run = cell.tpcc.as_ref()?.run.as_ref()?;
        Some((f64::from(run.terminals), run.throughput))
    });
    let style = |name: &str| match place_of(comparison, name) {
        None => Style::Reference,
        Some(0..COLOURS) => Style::Plain,
        Some(_) => Style::Dashed,
    };
    let lines = curves.iter().map(|curve| Drawn {
        curve: curve.clone(),
        class: class_of(comparison, curve.0),
        style: style(curve.0),
    });
    let reference = curves
        .iter()
        .find(|curve| style(curve.0) == Style::Reference);
    let named = |curve: &Curve<'_>| (format!("{}, published loss", curve.0), curve.0.to_owned());
    let named: Vec<(String, String)> = curves.iter().map(named).collect();
    let marks = named.iter().filter_map(|(title, engine)| {
        let points = published_points(reference?, engine);
        // The same figures serve the proxy and its engine in process: they are shown once.
        let is_shown = !points.is_empty() && engine.starts_with(PROXY);
        is_shown.then(|| Drawn {
            curve: (title.as_str(), points),
            class: class_of(comparison, engine),
            style: Style::Published,
        })
    });
    let drawn: Vec<Drawn<'_>> = lines.chain(marks).collect();
    (sizes.len() > 1).then(|| chart(&axes, &sizes, &drawn))
}

/// How the names of engines behind the proxy begin.
const PROXY: &str = "proxy-";

/// Throughput with the loss that was published for an engine of that name.
fn published_points(reference: &Curve<'_>, engine: &str) -> Vec<(f64, f64)> {
    let points = reference.1.iter();
    points
        .filter_map(|&(terminals, rate)| {
            let (_, lost) = published::figure(engine, terminals as u32)?;
            Some((terminals, rate * (1.0 - lost)))
        })
        .collect()
}
