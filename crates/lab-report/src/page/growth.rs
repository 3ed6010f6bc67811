//! Line charts: cost against size, throughput against the number of terminals.

use lab::comparison::Comparison;
use lab::engine::Mode;
use serde::Serialize;
use workloads::Spec;

use super::scale::{Kind as ScaleKind, Scale};
use crate::chart::{anchor, percent};
use crate::format::{MISSING, seconds};
use crate::palette::Palette;

/// Lines of one workload. x is in per cent of the width, which depends on the reader; y is in
/// pixels, so that text has the same size on a phone and on a desktop.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    workload: String,
    unit: &'static str,
    /// The label of the y axis.
    measure: &'static str,
    /// Whether the exponents of growth are shown.
    powers: bool,
    /// Height of the drawing, pixels.
    height: f64,
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
    /// Which part of the label is at the position.
    anchor: &'static str,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    /// The engine whose colour it has.
    engine: String,
    class: String,
    /// Its style: a CSS class.
    style: Style,
    /// An SVG path, on an x axis of 1000.
    path: String,
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
    /// The engine that the others are compared with.
    Reference,
    /// All colours have been used once.
    Dashed,
    /// Published figures: marks without a line.
    Published,
}

impl Style {
    /// The style of an engine's own line.
    pub(super) fn of(palette: &Palette, engine: &str) -> Self {
        match palette.index(engine) {
            None => Self::Reference,
            Some(_) if palette.is_again(engine) => Self::Dashed,
            Some(_) => Self::Plain,
        }
    }
}

#[derive(Debug, Serialize)]
struct Point {
    x: String,
    y: String,
    text: String,
}

const HEIGHT_PX: f64 = 360.0;
const TOP_PX: f64 = 14.0;
const BOTTOM_PX: f64 = 332.0;

/// Margin at both ends of the x axis, per cent of the width, for the marks there.
const FIRST: f64 = 4.5;
const LAST: f64 = 95.5;

/// How near to an end a label is not centred, per cent; and the length in characters up to which it
/// always is.
const TICK_EDGE: f64 = 8.0;
const TICK_SHORT: usize = 3;

/// Maximum lines in one chart; further engines get another chart.
const LINES_MAX: usize = 8;

/// The size parameter of a workload, and its unit.
fn size(spec: &Spec) -> Option<(f64, &'static str)> {
    match spec {
        Spec::Speed { scale } => Some((f64::from(*scale), "scale")),
        Spec::Speedtest { size, .. } => Some((f64::from(*size), "size")),
        Spec::Pinger | Spec::Concurrent { .. } | Spec::Tpcc { .. } | Spec::Custom { .. } => None,
    }
}

/// The axes of a chart.
pub(super) struct Axes {
    pub(super) title: String,
    /// The unit of the x axis.
    pub(super) unit: &'static str,
    /// The label of the y axis.
    pub(super) measure: &'static str,
    /// Suffix of the numbers on the y axis.
    pub(super) suffix: &'static str,
    pub(super) powers: bool,
    /// The scale of both axes.
    pub(super) scale: ScaleKind,
}

/// What the runs of one chart have in common.
#[derive(PartialEq)]
struct Kind<'a> {
    name: &'a str,
    unit: &'static str,
    mode: Mode,
}

/// A chart for each workload with runs of several sizes.
pub(super) fn charts(comparisons: &[&Comparison], palette: &Palette) -> Vec<Chart> {
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
        charts.extend(of_kind(kind, runs, palette));
    }
    charts
}

/// An engine, and its values at the sizes at which it ran.
pub(super) type Curve<'a> = (&'a str, Vec<(f64, f64)>);

fn of_kind(kind: &Kind<'_>, runs: &[(f64, &Comparison)], palette: &Palette) -> Vec<Chart> {
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
    lines(&axes, palette, &sizes, &curves)
}

/// The curves in the order of their colours, in as many charts as needed, so that no two lines of
/// one chart look alike. The reference is in the first.
pub(super) fn lines(
    axes: &Axes,
    palette: &Palette,
    sizes: &[f64],
    curves: &[Curve<'_>],
) -> Vec<Chart> {
    let (references, mut others): (Vec<&Curve<'_>>, Vec<&Curve<'_>>) = curves
        .iter()
        .partition(|curve| palette.index(curve.0).is_none());
    others.sort_by_key(|curve| palette.index(curve.0));
    let mut groups: Vec<Vec<&Curve<'_>>> = others
        .chunks(LINES_MAX)
        .map(<[&Curve<'_>]>::to_vec)
        .collect();
    match groups.first_mut() {
        Some(first) => drop(first.splice(0..0, references)),
        None => groups.push(references),
    }
    groups
        .into_iter()
        .map(|curves| {
            let drawn = curves.into_iter().map(|curve| Drawn {
                curve: curve.clone(),
                engine: curve.0.to_owned(),
                style: Style::of(palette, curve.0),
            });
            chart(axes, palette, sizes, &drawn.collect::<Vec<_>>())
        })
        .collect()
}

/// A curve with its style.
pub(super) struct Drawn<'a> {
    pub(super) curve: Curve<'a>,
    /// The engine whose colour it has.
    pub(super) engine: String,
    pub(super) style: Style,
}

/// All of these in one chart.
pub(super) fn chart(axes: &Axes, palette: &Palette, sizes: &[f64], drawn: &[Drawn<'_>]) -> Chart {
    let points = drawn.iter().flat_map(|drawn| &drawn.curve.1);
    let upward = Scale::up(axes.scale, points.map(|point| point.1));
    let first = sizes.first().copied().unwrap_or(1.0);
    let last = sizes.last().copied().unwrap_or(1.0);
    let across = Scale::between(axes.scale, first, last);
    let place = Place {
        x: &|size| FIRST + across.share(size) * (LAST - FIRST),
        y: &|value| BOTTOM_PX - upward.share(value) * (BOTTOM_PX - TOP_PX),
    };
    let up = upward.ticks().into_iter().map(|tick| Tick {
        place: format!("{:.1}", (place.y)(tick)),
        label: format!("{}{}", short(tick), axes.suffix),
        anchor: "end",
    });
    let along = sizes.iter().map(|&size| Tick {
        place: percent((place.x)(size)),
        label: size.to_string(),
        anchor: match size.to_string().len() {
            ..=TICK_SHORT => "middle",
            _ => anchor((place.x)(size), TICK_EDGE),
        },
    });
    Chart {
        workload: axes.title.clone(),
        unit: axes.unit,
        measure: axes.measure,
        powers: axes.powers,
        height: HEIGHT_PX,
        top: TOP_PX,
        bottom: BOTTOM_PX,
        across: along.collect(),
        up: up.collect(),
        sizes: sizes.iter().map(f64::to_string).collect(),
        lines: drawn
            .iter()
            .map(|drawn| line(axes, palette, sizes, &place, drawn))
            .collect(),
    }
}

/// The position of a point: x in per cent, y in pixels from the top.
struct Place<'a> {
    x: &'a dyn Fn(f64) -> f64,
    y: &'a dyn Fn(f64) -> f64,
}

fn line(
    axes: &Axes,
    palette: &Palette,
    sizes: &[f64],
    place: &Place<'_>,
    drawn: &Drawn<'_>,
) -> Line {
    let (name, points) = &drawn.curve;
    let path = points.iter().map(|&(size, value)| {
        let (x, y) = ((place.x)(size) * 10.0, (place.y)(value));
        format!("{x:.0} {y:.1}")
    });
    let cell = |size: &f64| {
        let point = points.iter().find(|point| point.0 == *size);
        point.map_or_else(|| MISSING.to_owned(), |point| value(point.1))
    };
    Line {
        name: (*name).to_owned(),
        class: palette.class(&drawn.engine),
        engine: drawn.engine.clone(),
        style: drawn.style,
        path: format!("M{}", path.collect::<Vec<_>>().join("L")),
        points: points
            .iter()
            .map(|&(size, time)| Point {
                x: percent((place.x)(size)),
                y: format!("{:.1}", (place.y)(time)),
                text: format!("{} {size}: {}{}", axes.unit, value(time), axes.suffix),
            })
            .collect(),
        cells: sizes.iter().map(cell).collect(),
        slope: slope(points).map_or_else(|| MISSING.to_owned(), |slope| format!("{slope:.2}")),
    }
}

/// A label of an axis.
fn short(tick: f64) -> String {
    if tick >= 1e6 {
        format!("{:.0} M", tick / 1e6)
    } else if tick >= 1e4 {
        format!("{:.0} k", tick / 1e3)
    } else {
        // Values that are not whole differ in their last binary digits.
        format!("{tick:.1e}")
            .parse::<f64>()
            .unwrap_or(tick)
            .to_string()
    }
}

/// A value with appropriate precision.
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
        let chart = lines(&axes, &Palette::of(&[]), &[1.0, 10.0, 100.0], &curves).remove(0);
        let middle = &chart.lines[0].points[1];
        assert_eq!(middle.x, "50.00%");
        assert_eq!(middle.y, format!("{:.1}", (TOP_PX + BOTTOM_PX) / 2.0));
        assert_eq!(chart.lines[0].slope, "1.00");
        assert_eq!(chart.lines[0].path, "M45 332.0L500 173.0L955 14.0");
        assert_eq!(chart.up.len(), 3);
    }
}
