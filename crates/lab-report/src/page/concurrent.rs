//! Several connections at once: throughput and latency.

use lab::comparison::{Cell, Comparison, ConcurrentCell};
use serde::Serialize;
use workloads::Spec;
use workloads::concurrent::Arrivals;

use super::growth::{Axes, Chart, Curve, lines};
use super::scale::Kind;
use crate::format::duration;
use crate::palette::Palette;

/// The page's section on several connections.
#[derive(Debug, Serialize)]
pub(super) struct Concurrent {
    /// The arrival process of operations in open steps.
    arrivals: Option<&'static str>,
    charts: Vec<Chart>,
    steps: Vec<Step>,
}

/// `None` if the run does not say.
fn arrivals(spec: &Spec) -> Option<&'static str> {
    let Spec::Concurrent { arrivals, .. } = spec else {
        return None;
    };
    Some(match arrivals {
        Arrivals::Poisson => {
            "Here these times are random, as those of many independent users are (Poisson \
             arrivals), and the same for every engine and round."
        }
        Arrivals::Even => "Here these times are at equal intervals.",
    })
}

#[derive(Debug, Serialize)]
struct Step {
    title: String,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    cells: [String; 11],
}

/// `None` if no test has several connections.
pub(super) fn section(comparison: &Comparison, palette: &Palette) -> Option<Concurrent> {
    let titles = comparison.header.workload.tests.iter().enumerate();
    let steps: Vec<Step> = titles
        .map(|(test, title)| Step {
            title: title.clone(),
            rows: rows(comparison, test),
        })
        .filter(|step| !step.rows.is_empty())
        .collect();
    let closed = Axes {
        title: "Committed operations per second, closed steps".to_owned(),
        unit: "connections",
        measure: "operations per second",
        suffix: " /s",
        powers: false,
        scale: Kind::Logarithmic,
    };
    let open = Axes {
        title: "Latency that 99 of 100 operations do not exceed, open steps".to_owned(),
        unit: "connections",
        measure: "seconds",
        suffix: " s",
        powers: false,
        scale: Kind::Logarithmic,
    };
    let mut charts = curves(comparison, palette, &closed, |cell| {
        cell.rate.is_none().then_some(cell.throughput)
    });
    charts.extend(curves(comparison, palette, &open, |cell| {
        cell.rate.is_some().then_some(cell.p99_s)
    }));
    let arrivals = arrivals(&comparison.header.workload.spec);
    (!steps.is_empty()).then_some(Concurrent {
        arrivals,
        charts,
        steps,
    })
}

fn rows(comparison: &Comparison, test: usize) -> Vec<Row> {
    let cells = comparison.engines.iter().filter_map(|engine| {
        let cell = engine.cells.get(test)?.concurrent.as_ref()?;
        Some((engine.profile.name.clone(), cell))
    });
    cells
        .map(|(name, cell)| Row {
            name,
            cells: texts(cell),
        })
        .collect()
}

fn texts(cell: &ConcurrentCell) -> [String; 11] {
    let count = |count: f64| format!("{count:.0}");
    let time = |seconds: f64| duration(Some(seconds));
    [
        count(cell.throughput),
        time(cell.p50_s),
        time(cell.p90_s),
        time(cell.p99_s),
        time(cell.p999_s),
        time(cell.max_s),
        count(cell.busy),
        count(cell.deadlocks),
        count(cell.retries),
        count(cell.given_up),
        count(cell.not_begun),
    ]
}

/// A line per engine over the number of connections.
fn curves(
    comparison: &Comparison,
    palette: &Palette,
    axes: &Axes,
    pick: fn(&ConcurrentCell) -> Option<f64>,
) -> Vec<Chart> {
    curves_of(comparison, palette, axes, |cell| {
        let step = cell.concurrent.as_ref()?;
        Some((f64::from(step.connections), pick(step)?))
    })
}

/// A line per engine through the selected values of its tests.
fn curves_of(
    comparison: &Comparison,
    palette: &Palette,
    axes: &Axes,
    pick: impl Fn(&Cell) -> Option<(f64, f64)>,
) -> Vec<Chart> {
    let (sizes, curves) = curves_and_sizes(comparison, pick);
    if sizes.len() < 2 {
        return vec![];
    }
    lines(axes, palette, &sizes, &curves)
}

/// The selected values of each engine's tests, and all positions on the x axis.
pub(super) fn curves_and_sizes(
    comparison: &Comparison,
    pick: impl Fn(&Cell) -> Option<(f64, f64)>,
) -> (Vec<f64>, Vec<Curve<'_>>) {
    let mut sizes: Vec<f64> = Vec::new();
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for engine in comparison
        .engines
        .iter()
        .filter(|engine| !engine.profile.control)
    {
        let cells = engine.cells.iter();
        let mut points: Vec<(f64, f64)> = cells
            .filter_map(&pick)
            .filter(|point| point.1 > 0.0)
            .collect();
        points.sort_by(|one, two| one.0.total_cmp(&two.0));
        sizes.extend(points.iter().map(|point| point.0));
        if !points.is_empty() {
            curves.push((&engine.profile.name, points));
        }
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    (sizes, curves)
}
