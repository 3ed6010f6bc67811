//! Lines on two axes: cost as the size grows, throughput as terminals are added.

use lab::comparison::Comparison;
use lab::engine::Mode;
use serde::Serialize;
use workloads::Spec;

use super::scale::{Kind as ScaleKind, Scale};
use crate::chart::COLOURS;
use crate::format::{MISSING, seconds};

/// Lines of one workload, as SVG in units of its view box.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    workload: String,
    unit: &'static str,
    /// What goes up.
    measure: &'static str,
    /// Whether the powers with which it grows are told.
    powers: bool,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    across: Vec<Tick>,
    up: Vec<Tick>,
    sizes: Vec<String>,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Tick {
    place: String,
    label: String,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    class: String,
    /// How it is drawn: a class of the style sheet.
    style: Style,
    points: Vec<Point>,
    /// Seconds at each size of the chart.
    cells: Vec<String>,
    slope: String,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Style {
    Plain,
    /// What the others are compared with.
    Reference,
    /// The colours have all been used once.
    Dashed,
    /// Figures that others published: marks without a line.
    Published,
}

#[derive(Debug, Serialize)]
struct Point {
    x: String,
    y: String,
    text: String,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 346.0;

/// Most lines of one chart; engines beyond that have a chart of their own.
const LINES_MAX: usize = COLOURS;

/// The size that a workload was asked for, and what it counts.
fn size(spec: &Spec) -> Option<(f64, &'static str)> {
    match spec {
        Spec::Speed { scale } => Some((f64::from(*scale), "scale")),
        Spec::Speedtest { size, .. } => Some((f64::from(*size), "size")),
        Spec::Pinger | Spec::Concurrent { .. } | Spec::Tpcc { .. } | Spec::Custom { .. } => None,
    }
}

/// What a chart shows, and how it is called.
pub(super) struct Axes {
    pub(super) title: String,
    /// What grows to the right.
    pub(super) unit: &'static str,
    /// What goes up.
    pub(super) measure: &'static str,
    /// Behind the numbers that go up.
    pub(super) suffix: &'static str,
    pub(super) powers: bool,
    /// Of both axes.
    pub(super) scale: ScaleKind,
}

/// What the runs of one chart have in common.
#[derive(PartialEq)]
struct Kind<'a> {
    name: &'a str,
    unit: &'static str,
    mode: Mode,
}

/// A chart for each workload of which there are runs of several sizes.
pub(super) fn charts(comparisons: &[&Comparison]) -> Vec<Chart> {
    let mut kinds: Vec<(Kind<'_>, Vec<(f64, &Comparison)>)> = Vec::new();
    for &comparison in comparisons {
        let header = &comparison.header;
        let Some((size, unit)) = size(&header.workload.spec) else {
            continue;
        };
        let kind = Kind {
            name: &header.workload.name,
            unit,
            mode: header.mode,
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, runs)) => runs.push((size, comparison)),
            None => kinds.push((kind, vec![(size, comparison)])),
        }
    }
    let mut charts = Vec::new();
    for (kind, runs) in &mut kinds {
        runs.sort_by(|one, two| one.0.total_cmp(&two.0));
        charts.extend(of_kind(kind, runs));
    }
    charts
}

/// An engine, and its values at the sizes at which it ran.
pub(super) type Curve<'a> = (&'a str, Vec<(f64, f64)>);

fn of_kind(kind: &Kind<'_>, runs: &[(f64, &Comparison)]) -> Vec<Chart> {
    let mut sizes: Vec<f64> = runs.iter().map(|run| run.0).collect();
    sizes.dedup();
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for (size, comparison) in runs {
        for engine in &comparison.engines {
            let Some(time) = engine.wall_total_s.filter(|_| !engine.profile.control) else {
                continue;
            };
            let name = engine.profile.name.as_str();
            match curves.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push((*size, time)),
                None => curves.push((name, vec![(*size, time)])),
            }
        }
    }
    if sizes.len() < 2 || curves.is_empty() {
        return vec![];
    }
    let mode = match kind.mode {
        Mode::Direct => "",
        Mode::Script => ", as scripts",
    };
    let axes = Axes {
        title: format!("{}{mode}", kind.name),
        unit: kind.unit,
        measure: "seconds",
        suffix: " s",
        powers: true,
        scale: ScaleKind::Logarithmic,
    };
    lines(&axes, &sizes, &curves)
}

/// The curves, in as many charts as they need.
pub(super) fn lines(axes: &Axes, sizes: &[f64], curves: &[Curve<'_>]) -> Vec<Chart> {
    curves
        .chunks(LINES_MAX)
        .map(|curves| {
            let drawn = curves.iter().zip(0..).map(|(curve, place)| Drawn {
                curve: curve.clone(),
                class: format!("s{}", place % COLOURS),
                style: Style::Plain,
            });
            chart(axes, sizes, &drawn.collect::<Vec<_>>())
        })
        .collect()
}

/// A curve, and how it is drawn.
pub(super) struct Drawn<'a> {
    pub(super) curve: Curve<'a>,
    pub(super) class: String,
    pub(super) style: Style,
}

/// All of these in one chart.
pub(super) fn chart(axes: &Axes, sizes: &[f64], drawn: &[Drawn<'_>]) -> Chart {
    let points = drawn.iter().flat_map(|drawn| &drawn.curve.1);
    let upward = Scale::up(axes.scale, points.map(|point| point.1));
    let first = sizes.first().copied().unwrap_or(1.0);
    let last = sizes.last().copied().unwrap_or(1.0);
    let across = Scale::between(axes.scale, first, last);
    let x = |size: f64| format!("{:.1}", LEFT + across.share(size) * (RIGHT - LEFT));
    let y = |time: f64| format!("{:.1}", BOTTOM - upward.share(time) * (BOTTOM - TOP));
    let up = upward.ticks().into_iter().map(|tick| Tick {
        place: y(tick),
        label: format!("{}{}", short(tick), axes.suffix),
    });
    let line = |Drawn {
                    curve: (name, points),
                    class,
                    style,
                }: &Drawn<'_>| Line {
        name: (*name).to_owned(),
        class: class.clone(),
        style: *style,
        points: points
            .iter()
            .map(|&(size, time)| Point {
                x: x(size),
                y: y(time),
                text: format!("{} {size}: {}{}", axes.unit, value(time), axes.suffix),
            })
            .collect(),
        cells: sizes
            .iter()
            .map(|&size| {
                let point = points.iter().find(|point| point.0 == size);
                point.map_or_else(|| MISSING.to_owned(), |point| value(point.1))
            })
            .collect(),
        slope: slope(points).map_or_else(|| MISSING.to_owned(), |slope| format!("{slope:.2}")),
    };
    Chart {
        workload: axes.title.clone(),
        unit: axes.unit,
        measure: axes.measure,
        powers: axes.powers,
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        right: RIGHT,
        top: TOP,
        bottom: BOTTOM,
        across: sizes
            .iter()
            .map(|&size| Tick {
                place: x(size),
                label: size.to_string(),
            })
            .collect(),
        up: up.collect(),
        sizes: sizes.iter().map(f64::to_string).collect(),
        lines: drawn.iter().map(line).collect(),
    }
}

/// A label of an axis.
fn short(tick: f64) -> String {
    if tick >= 1e6 {
        format!("{:.0} M", tick / 1e6)
    } else if tick >= 1e4 {
        format!("{:.0} k", tick / 1e3)
    } else {
        // Those that are not whole are off by their last binary digits.
        format!("{tick:.1e}")
            .parse::<f64>()
            .unwrap_or(tick)
            .to_string()
    }
}

/// A value with the digits that it deserves.
fn value(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        seconds(Some(value))
    }
}

/// The exponent of the power of the size that fits the points best: least squares of the
/// logarithms.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    let logarithms: Vec<(f64, f64)> = points
        .iter()
        .map(|(size, time)| (size.ln(), time.ln()))
        .collect();
    let count = logarithms.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| logarithms.iter().map(pick).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = logarithms.iter().map(|one| (one.0 - x) * (one.1 - y)).sum();
    let variance: f64 = logarithms.iter().map(|one| (one.0 - x).powi(2)).sum();
    (variance > 0.0).then(|| covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_the_exponent() {
        let points = [1.0, 10.0, 100.0].map(|size: f64| (size, 3.0 * size.powf(1.5)));
        assert!((slope(&points).unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(slope(&points[..1]), None);
    }

    #[test]
    fn places_follow_the_logarithms() {
        let axes = Axes {
            title: "made-up".to_owned(),
            unit: "size",
            measure: "seconds",
            suffix: " s",
            powers: true,
            scale: ScaleKind::Logarithmic,
        };
        let curves: [Curve<'_>; 1] = [("one", vec![(1.0, 0.1), (10.0, 1.0), (100.0, 10.0)])];
        let chart = lines(&axes, &[1.0, 10.0, 100.0], &curves).remove(0);
        let middle = &chart.lines[0].points[1];
        assert_eq!(middle.x, format!("{:.1}", (LEFT + RIGHT) / 2.0));
        assert_eq!(middle.y, format!("{:.1}", (TOP + BOTTOM) / 2.0));
        assert_eq!(chart.lines[0].slope, "1.00");
        assert_eq!(chart.up.len(), 3);
    }
}
