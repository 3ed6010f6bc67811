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
        charts: throughput(comparison, palette),
        steps: steps(comparison),
        filled: filled(comparison),
        note: NOTE,
    })
}

/// A chart for each server with what is before it, and the published results as marks: the server's
/// throughput less the published loss. Several servers are compared in a chart before these.
fn throughput(comparison: &Comparison, palette: &Palette) -> Vec<Chart> {
    let (sizes, curves) = curves_and_sizes(comparison, |cell| {
        let run = cell.tpcc.as_ref()?.run.as_ref()?;
        Some((f64::from(run.terminals), run.throughput))
    });
    if sizes.len() < 2 {
        return Vec::new();
    }
    let base = |curve: &Curve<'_>| comparison.engine(curve.0)?.base.clone();
    let (servers, others): (Vec<&Curve<'_>>, Vec<&Curve<'_>>) =
        curves.iter().partition(|curve| base(curve).is_none());
    let axes = |of: &str| Axes {
        title: format!("Committed transactions per second{of}"),
        unit: "terminals",
        measure: "transactions per second",
        suffix: " /s",
        powers: false,
        scale: Kind::Linear,
    };
    let mut charts = Vec::new();
    if servers.len() > 1 {
        let drawn: Vec<_> = servers.iter().map(|own| line(own, palette)).collect();
        charts.push(chart(&axes(""), palette, &sizes, &drawn));
    }
    for server in &servers {
        let before = others
            .iter()
            .filter(|own| base(own).as_deref() == Some(server.0));
        let before: Vec<&Curve<'_>> = before.copied().collect();
        if before.is_empty() && servers.len() > 1 {
            continue;
        }
        let named: Vec<(String, &Curve<'_>)> = before
            .iter()
            .map(|own| (format!("{}, published loss", own.0), *own))
            .collect();
        let marks = named.iter().filter_map(|(title, own)| {
            let points = published_points(server, own.0);
            // The same figures apply to the proxy and to the in-process engine, and are shown once.
            let is_shown = !points.is_empty() && !own.0.starts_with(IN_PROCESS);
            is_shown.then(|| Drawn {
                curve: (title.as_str(), points),
                engine: own.0.to_owned(),
                style: Style::Published,
            })
        });
        let lines = std::iter::once(*server).chain(before.iter().copied());
        let drawn: Vec<_> = lines.map(|own| line(own, palette)).chain(marks).collect();
        let of = match servers.len() {
            1 => String::new(),
            _ => format!(": {}", server.0),
        };
        charts.push(chart(&axes(&of), palette, &sizes, &drawn));
    }
    charts
}

/// An engine's own line.
fn line<'a>(curve: &Curve<'a>, palette: &Palette) -> Drawn<'a> {
    Drawn {
        curve: curve.clone(),
        engine: curve.0.to_owned(),
        style: Style::of(palette, curve.0),
    }
}

/// Prefix of the names of engines without a proxy.
const IN_PROCESS: &str = "in-process-";

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
