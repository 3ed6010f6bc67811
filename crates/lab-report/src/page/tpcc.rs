//! Workload `tpcc`: transactions per second, and their cost.

use lab::comparison::Comparison;
use serde::Serialize;
use workloads::tpcc::published;

use super::concurrent::curves_and_sizes;
use super::growth::{Axes, Chart, Curve, Drawn, Style, chart};
use super::scale::Kind;
use crate::palette::Palette;
use crate::tpcc::{Filled, NOTE, Step, filled, is_tpcc, steps};

/// The page's section on workload `tpcc`.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    charts: Vec<Chart>,
    steps: Vec<Step>,
    filled: Vec<Filled>,
    note: &'static str,
}

/// `None` if another workload was run.
pub(super) fn section(comparison: &Comparison, palette: &Palette) -> Option<Section> {
    is_tpcc(comparison).then(|| Section {
        charts: throughput(comparison, palette).into_iter().collect(),
        steps: steps(comparison),
        filled: filled(comparison),
        note: NOTE,
    })
}

/// All engines in one chart, and the published results as marks: the reference engine's throughput
/// less the published loss.
fn throughput(comparison: &Comparison, palette: &Palette) -> Option<Chart> {
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
    let lines = curves.iter().map(|curve| Drawn {
        curve: curve.clone(),
        engine: curve.0.to_owned(),
        style: Style::of(palette, curve.0),
    });
    let is_reference = |curve: &&Curve<'_>| Style::of(palette, curve.0) == Style::Reference;
    let reference = curves.iter().find(is_reference);
    let named = |curve: &Curve<'_>| (format!("{}, published loss", curve.0), curve.0.to_owned());
    let named: Vec<(String, String)> = curves.iter().map(named).collect();
    let marks = named.iter().filter_map(|(title, engine)| {
        let points = published_points(reference?, engine);
        // The same figures apply to the proxy and to the in-process engine, and are shown once.
        let is_shown = !points.is_empty() && engine.starts_with(PROXY);
        is_shown.then(|| Drawn {
            curve: (title.as_str(), points),
            engine: engine.clone(),
            style: Style::Published,
        })
    });
    let drawn: Vec<Drawn<'_>> = lines.chain(marks).collect();
    (sizes.len() > 1).then(|| chart(&axes, palette, &sizes, &drawn))
}

/// Prefix of the names of engines behind the proxy.
const PROXY: &str = "proxy-";

/// Throughput with the loss that was published for the engine.
fn published_points(reference: &Curve<'_>, engine: &str) -> Vec<(f64, f64)> {
    let points = reference.1.iter();
    points
        .filter_map(|&(terminals, rate)| {
            let (_, lost) = published::figure(engine, terminals as u32)?;
            Some((terminals, rate * (1.0 - lost)))
        })
        .collect()
}
