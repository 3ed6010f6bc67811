//! Geometry of the chart of ratios: places along a logarithmic axis, in per cent of its width.

use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::engine::Durability;
use lab::statistics::Ratio;
use serde::Serialize;

use crate::finding::MAPPED;
use crate::format::{interval, times};

/// A chart: an axis and a row per test.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    pub(crate) ticks: Vec<Tick>,
    pub(crate) series: Vec<Series>,
    pub(crate) rows: Vec<Row>,
    /// Height of the marks of one row, pixels.
    pub(crate) height: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct Tick {
    pub(crate) place: String,
    pub(crate) label: String,
    /// The line of "no difference".
    pub(crate) one: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) base: Option<String>,
    /// Class that gives the colour: `noise`, `s0`, `s1`, …
    pub(crate) class: String,
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
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
    /// The single rounds.
    pub(crate) points: Vec<String>,
    pub(crate) text: String,
    /// For readers that do not see the mark.
    pub(crate) title: String,
}

/// Which ratio of an engine a chart shows.
pub(crate) struct Measure {
    pub(crate) of_cell: fn(&Cell) -> Option<Ratio>,
    pub(crate) points: fn(&Cell) -> &[f64],
    pub(crate) of_mean: fn(&EngineSummary) -> Option<Ratio>,
}

const MARK_DISTANCE_PX: u32 = 14;
const ROW_MARGIN_PX: u32 = 9;

/// Candidates for labels on the axis, the roundest first: where two would touch, the first stays.
const TICKS: [f64; 33] = [
    1.0, 0.1, 10.0, 0.01, 100.0, 0.001, 1000.0, 10_000.0, 0.5, 2.0, 0.2, 5.0, 0.8, 1.2, 0.9, 1.1,
    1.5, 0.7, 0.6, 0.05, 20.0, 0.02, 50.0, 200.0, 500.0, 0.002, 0.005, 3.0, 0.3, 0.95, 1.05, 1.02,
    0.98,
];

/// Smallest distance of two labels, per cent of the width.
const TICK_DISTANCE: f64 = 13.0;

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis that holds all the ratios and 1, with a margin.
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

    /// Labels that do not touch each other; 1 is always among them.
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
                label: format!("{tick}×"),
                one: tick == 1.0,
            })
            .collect()
    }
}

fn percent(place: f64) -> String {
    format!("{place:.2}%")
}

/// The engines that are compared with a base, in the order of their colours: the encrypted ones
/// first, then the others; the control is not among them.
pub(crate) fn ordered(comparison: &Comparison) -> Vec<&EngineSummary> {
    let encrypted = |engine: &&EngineSummary| engine.profile.cipher.is_some();
    let others = comparison.contenders().filter(|engine| !encrypted(engine));
    comparison
        .contenders()
        .filter(encrypted)
        .chain(others)
        .collect()
}

/// The engines that stand out: the encrypted ones, or all where none is, few enough to be seen at
/// once; then the control.
pub(crate) fn shown(comparison: &Comparison) -> Vec<&EngineSummary> {
    let groups = groups(comparison);
    let first = groups.into_iter().next().unwrap_or_default();
    first.into_iter().chain(comparison.control()).collect()
}

/// The engines with a card at the head of the page: those that stand out, the first of each other
/// product that encrypts and waits for the disk, and what is like for like with ours.
pub(crate) fn tiled(comparison: &Comparison) -> Vec<&EngineSummary> {
    let mut tiled = groups(comparison).into_iter().next().unwrap_or_default();
    for engine in ordered(comparison) {
        let profile = &engine.profile;
        let is_peer = profile.cipher.is_some()
            && profile.durability == Durability::Full
            && tiled
                .iter()
                .all(|other| other.profile.family != profile.family);
        let is_new = tiled.iter().all(|other| other.profile.name != profile.name);
        if is_peer || (is_new && profile.name == MAPPED) {
            tiled.push(engine);
        }
    }
    tiled.into_iter().chain(comparison.control()).collect()
}

/// The engines in groups that a chart can show; encrypted ones and others do not mix.
fn groups(comparison: &Comparison) -> Vec<Vec<&EngineSummary>> {
    let ordered = ordered(comparison);
    let encrypted = ordered
        .iter()
        .take_while(|engine| engine.profile.cipher.is_some())
        .count();
    let (encrypted, others) = ordered.split_at(encrypted);
    [encrypted, others]
        .into_iter()
        .flat_map(|some| some.chunks(ENGINES_PER_CHART))
        .map(<[&EngineSummary]>::to_vec)
        .collect()
}

/// Most engines in a chart of all tests, the control left out.
const ENGINES_PER_CHART: usize = 4;

/// The place of an engine in the order of colours; the reference engine and the control have none.
pub(crate) fn place_of(comparison: &Comparison, name: &str) -> Option<usize> {
    ordered(comparison)
        .iter()
        .position(|engine| engine.profile.name == name)
}

/// The class that colours an engine.
pub(crate) fn class_of(comparison: &Comparison, name: &str) -> String {
    place_of(comparison, name).map_or_else(
        || "noise".to_owned(),
        |place| format!("s{}", place % COLOURS),
    )
}

/// How many colours the style sheet has.
pub(crate) const COLOURS: usize = 8;

/// A chart per group of engines, with a row per test and marks on one axis for all groups.
pub(crate) fn charts(comparison: &Comparison, measure: &Measure) -> Vec<Chart> {
    groups(comparison)
        .into_iter()
        .map(|group| {
            let engines = group.into_iter().chain(comparison.control()).collect();
            chart(comparison, measure, engines)
        })
        .collect()
}

fn chart(comparison: &Comparison, measure: &Measure, engines: Vec<&EngineSummary>) -> Chart {
    let mut ratios: Vec<Ratio> = Vec::new();
    for engine in &engines {
        ratios.extend(engine.cells.iter().filter_map(measure.of_cell));
        ratios.extend((measure.of_mean)(engine));
    }
    let axis = Axis::around(&ratios);
    let row = |label: &str, test: Option<usize>| Row {
        label: label.to_owned(),
        mean: test.is_none(),
        marks: engines
            .iter()
            .zip(0..)
            .filter_map(|(engine, line)| {
                let class = class_of(comparison, &engine.profile.name);
                let (ratio, points) = match test {
                    None => ((measure.of_mean)(engine)?, [].as_slice()),
                    Some(test) => {
                        let cell = engine.cells.get(test)?;
                        ((measure.of_cell)(cell)?, (measure.points)(cell))
                    }
                };
                let name = engine.profile.name.clone();
                Some(mark(&axis, name, class, line, ratio, points))
            })
            .collect(),
    };
    let mut rows = vec![row("Geometric mean", None)];
    for (test, title) in comparison.header.workload.tests.iter().enumerate() {
        rows.push(row(&format!("{} {title}", test + 1), Some(test)));
    }
    let series = engines.iter().map(|engine| Series {
        name: engine.profile.name.clone(),
        base: engine.base.clone(),
        class: class_of(comparison, &engine.profile.name),
    });
    Chart {
        ticks: axis.ticks(),
        series: series.collect(),
        height: height(engines.len()),
        rows,
    }
}

/// All engines at a glance: a row per engine with a mark for wall time and one for processor time.
pub(crate) fn means(comparison: &Comparison) -> Chart {
    let engines: Vec<&EngineSummary> = ordered(comparison)
        .into_iter()
        .chain(comparison.control())
        .collect();
    type Kind = (
        &'static str,
        &'static str,
        fn(&EngineSummary) -> Option<Ratio>,
    );
    let kinds: [Kind; 2] = [
        ("wall time", "s0", |engine| engine.wall_mean),
        ("processor time", "s1", |engine| engine.cpu_mean),
    ];
    let ratios: Vec<Ratio> = engines
        .iter()
        .flat_map(|engine| kinds.iter().filter_map(|kind| kind.2(engine)))
        .collect();
    let axis = Axis::around(&ratios);
    let row = |engine: &&EngineSummary| Row {
        label: format!(
            "{} / {}",
            engine.profile.name,
            engine.base.as_deref().unwrap_or_default()
        ),
        mean: engine.profile.control,
        marks: kinds
            .iter()
            .zip(0..)
            .filter_map(|((name, class, pick), line)| {
                let ratio = pick(engine)?;
                Some(mark(
                    &axis,
                    (*name).to_owned(),
                    (*class).to_owned(),
                    line,
                    ratio,
                    &[],
                ))
            })
            .collect(),
    };
    Chart {
        ticks: axis.ticks(),
        series: kinds
            .iter()
            .map(|(name, class, _)| Series {
                name: (*name).to_owned(),
                base: None,
                class: (*class).to_owned(),
            })
            .collect(),
        rows: engines.iter().map(row).collect(),
        height: height(kinds.len()),
    }
}

/// Height of a row with that many lines of marks, pixels.
fn height(lines: usize) -> u32 {
    let lines = u32::try_from(lines).unwrap_or(1).max(1);
    (lines - 1) * MARK_DISTANCE_PX + 2 * ROW_MARGIN_PX
}

fn mark(axis: &Axis, name: String, class: String, line: u32, ratio: Ratio, points: &[f64]) -> Mark {
    let place = |end| percent(axis.place(end));
    let between = interval(&ratio)
        .map(|text| format!(" ({text})"))
        .unwrap_or_default();
    Mark {
        class,
        top: ROW_MARGIN_PX + line * MARK_DISTANCE_PX,
        place: place(ratio.value),
        low: ratio.interval.map(|(low, _)| place(low)),
        high: ratio.interval.map(|(_, high)| place(high)),
        points: points
            .iter()
            .filter(|&&point| point > axis.low && point < axis.high)
            .map(|&point| place(point))
            .collect(),
        text: times(ratio.value),
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
