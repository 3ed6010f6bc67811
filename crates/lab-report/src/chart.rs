//! Geometry of the chart of ratios: positions on a logarithmic axis, in per cent of its width.

use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::statistics::Ratio;
use serde::Serialize;

use crate::format::{interval, times};
use crate::palette::{Palette, groups};

/// A chart: an axis and a row per test.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    pub(crate) ticks: Vec<Tick>,
    pub(crate) series: Vec<Series>,
    pub(crate) rows: Vec<Row>,
    /// Height of the marks of one row, pixels.
    pub(crate) height: u32,
    /// Whether its marks have intervals, which the explanation then mentions.
    pub(crate) intervals: bool,
    pub(crate) rounds: bool,
    pub(crate) control: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Tick {
    pub(crate) place: String,
    pub(crate) label: String,
    /// Which part of the label is at the position, so that no label exceeds the axis.
    pub(crate) anchor: &'static str,
    /// The line of "no difference".
    pub(crate) one: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) base: Option<String>,
    /// Classes that give the colour: `noise`, `s0`, `s1`, …
    pub(crate) class: String,
    pub(crate) control: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// The last row: the mean of all tests.
    pub(crate) mean: bool,
    pub(crate) marks: Vec<Mark>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Mark {
    pub(crate) class: String,
    /// Distance from the top of the row, pixels.
    pub(crate) top: u32,
    pub(crate) place: String,
    /// The interval as an SVG path, on an axis of 1000.
    pub(crate) range: Option<String>,
    /// The single rounds, likewise.
    pub(crate) points: String,
    /// The tooltip.
    pub(crate) title: String,
}

/// The ratio of an engine that a chart shows.
pub(crate) struct Measure {
    pub(crate) of_cell: fn(&Cell) -> Option<Ratio>,
    pub(crate) points: fn(&Cell) -> &[f64],
    pub(crate) of_mean: fn(&EngineSummary) -> Option<Ratio>,
}

const MARK_DISTANCE_PX: u32 = 14;
const ROW_MARGIN_PX: u32 = 9;

/// Candidates for labels on the axis, the roundest first: of two that would overlap, the first is
/// kept.
const TICKS: [f64; 33] = [
    1.0, 0.1, 10.0, 0.01, 100.0, 0.001, 1000.0, 10_000.0, 0.5, 2.0, 0.2, 5.0, 0.8, 1.2, 0.9, 1.1,
    1.5, 0.7, 0.6, 0.05, 20.0, 0.02, 50.0, 200.0, 500.0, 0.002, 0.005, 3.0, 0.3, 0.95, 1.05, 1.02,
    0.98,
];

/// Minimum distance of two labels, per cent of the width, so that they fit on a phone.
const TICK_DISTANCE: f64 = 17.0;

/// Within this distance from an end of the axis, per cent, a label is not centred.
const TICK_EDGE: f64 = 8.0;

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis for all the ratios and 1, with a margin.
    fn around(ratios: &[Ratio]) -> Self {
        let ends = ratios.iter().flat_map(|ratio| {
            let (low, high) = ratio.interval.unwrap_or((ratio.value, ratio.value));
            [low, high]
        });
        let (mut low, mut high) = (0.9f64, 1.1f64);
        for end in ends.filter(|end| end.is_finite() && *end > 0.0) {
            low = low.min(end);
            high = high.max(end);
        }
        let margin = (high / low).powf(0.04);
        Self {
            low: (low / margin).max(0.000_5),
            high: (high * margin).min(20_000.0),
        }
    }

    fn place(&self, ratio: f64) -> f64 {
        let share = (ratio / self.low).ln() / (self.high / self.low).ln();
        (share * 100.0).clamp(0.0, 100.0)
    }

    /// Labels that do not overlap; 1 is always among them.
    fn ticks(&self) -> Vec<Tick> {
        let mut chosen = Vec::new();
        for candidate in TICKS {
            let inside = candidate > self.low && candidate < self.high;
            let far = chosen
                .iter()
                .all(|&other| (self.place(other) - self.place(candidate)).abs() >= TICK_DISTANCE);
            if inside && far {
                chosen.push(candidate);
            }
        }
        chosen.sort_unstable_by(f64::total_cmp);
        chosen
            .into_iter()
            .map(|tick| Tick {
                place: percent(self.place(tick)),
                anchor: anchor(self.place(tick), TICK_EDGE),
                label: format!("{tick}×"),
                one: tick == 1.0,
            })
            .collect()
    }
}

/// Which part of a label is at a position, per cent, so that it stays on the axis.
pub(crate) fn anchor(place: f64, edge: f64) -> &'static str {
    if place < edge {
        "start"
    } else if place > 100.0 - edge {
        "end"
    } else {
        "middle"
    }
}

pub(crate) fn percent(place: f64) -> String {
    format!("{place:.2}%")
}

/// A chart per group of engines, with a row per test, and one axis for all groups.
pub(crate) fn charts(comparison: &Comparison, palette: &Palette, measure: &Measure) -> Vec<Chart> {
    groups(comparison)
        .into_iter()
        .map(|group| {
            let engines = group.into_iter().chain(comparison.control()).collect();
            chart(comparison, palette, measure, engines)
        })
        .collect()
}

/// The ratios of an engine that are drawn: of each test, and the mean.
struct Drawn<'a> {
    engine: &'a EngineSummary,
    class: String,
    line: u32,
}

fn chart(
    comparison: &Comparison,
    palette: &Palette,
    measure: &Measure,
    engines: Vec<&EngineSummary>,
) -> Chart {
    let ratios_of = |engine: &EngineSummary| {
        let cells = engine.cells.iter().filter_map(measure.of_cell);
        cells.chain((measure.of_mean)(engine)).collect::<Vec<_>>()
    };
    // An engine without a ratio is not drawn, and not in the legend.
    let drawn: Vec<Drawn<'_>> = engines
        .into_iter()
        .filter(|engine| !ratios_of(engine).is_empty())
        .zip(0..)
        .map(|(engine, line)| Drawn {
            class: palette.class(&engine.profile.name),
            engine,
            line,
        })
        .collect();
    let ratios: Vec<Ratio> = drawn
        .iter()
        .flat_map(|drawn| ratios_of(drawn.engine))
        .collect();
    let axis = Axis::around(&ratios);
    let mut rows = vec![row(&axis, measure, &drawn, "Geometric mean", None)];
    for (test, title) in comparison.header.workload.tests.iter().enumerate() {
        let label = format!("{} {title}", test + 1);
        rows.push(row(&axis, measure, &drawn, &label, Some(test)));
    }
    let marks = || rows.iter().flat_map(|row| &row.marks);
    Chart {
        ticks: axis.ticks(),
        series: drawn
            .iter()
            .map(|drawn| Series {
                name: drawn.engine.profile.name.clone(),
                base: drawn.engine.base.clone(),
                class: drawn.class.clone(),
                control: drawn.engine.profile.control,
            })
            .collect(),
        height: height(drawn.len()),
        intervals: marks().any(|mark| mark.range.is_some()),
        rounds: marks().any(|mark| !mark.points.is_empty()),
        control: drawn.iter().any(|drawn| drawn.engine.profile.control),
        rows,
    }
}

fn row(
    axis: &Axis,
    measure: &Measure,
    drawn: &[Drawn<'_>],
    label: &str,
    test: Option<usize>,
) -> Row {
    let of = |drawn: &Drawn<'_>| {
        let (ratio, points) = match test {
            None => ((measure.of_mean)(drawn.engine)?, [].as_slice()),
            Some(test) => {
                let cell = drawn.engine.cells.get(test)?;
                ((measure.of_cell)(cell)?, (measure.points)(cell))
            }
        };
        Some(mark(axis, drawn, ratio, points))
    };
    Row {
        label: label.to_owned(),
        mean: test.is_none(),
        marks: drawn.iter().filter_map(of).collect(),
    }
}

/// Height of a row with that many lines of marks, pixels.
fn height(lines: usize) -> u32 {
    let lines = u32::try_from(lines).unwrap_or(1).max(1);
    (lines - 1) * MARK_DISTANCE_PX + 2 * ROW_MARGIN_PX
}

fn mark(axis: &Axis, drawn: &Drawn<'_>, ratio: Ratio, points: &[f64]) -> Mark {
    let name = &drawn.engine.profile.name;
    let top = ROW_MARGIN_PX + drawn.line * MARK_DISTANCE_PX;
    let on_axis = |end: f64| format!("{:.0}", axis.place(end) * 10.0);
    let between = interval(&ratio)
        .map(|text| format!(" ({text})"))
        .unwrap_or_default();
    Mark {
        class: drawn.class.clone(),
        top,
        place: percent(axis.place(ratio.value)),
        range: ratio
            .interval
            .map(|(low, high)| format!("M{} {top}H{}", on_axis(low), on_axis(high))),
        points: points
            .iter()
            .filter(|&&point| point > axis.low && point < axis.high)
            .map(|&point| format!("M{} {top}h0", on_axis(point)))
            .collect(),
        title: format!("{name}: {}{between}", times(ratio.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, value: f64, high: f64) -> Ratio {
        Ratio {
            value,
            interval: Some((low, high)),
            rounds: 10,
        }
    }

    #[test]
    fn the_axis_holds_everything_and_puts_the_middle_in_the_middle() {
        let axis = Axis::around(&[ratio(0.5, 1.0, 2.0)]);
        assert!((axis.place(1.0) - 50.0).abs() < 1e-9);
        assert!(axis.place(0.5) > 0.0 && axis.place(2.0) < 100.0);
        assert_eq!(axis.place(1e9), 100.0);
    }

    #[test]
    fn labels_keep_their_distance_and_one_is_among_them() {
        for ratios in [
            vec![],
            vec![ratio(0.99, 1.0, 1.01)],
            vec![ratio(0.03, 1.0, 40.0)],
        ] {
            let axis = Axis::around(&ratios);
            let ticks = axis.ticks();
            assert_eq!(ticks.iter().filter(|tick| tick.one).count(), 1);
            let places: Vec<f64> = ticks
                .iter()
                .map(|tick| tick.place.trim_end_matches('%').parse().unwrap())
                .collect();
            assert!(
                places
                    .windows(2)
                    .all(|two| two[1] - two[0] > TICK_DISTANCE - 0.1)
            );
        }
    }
}
