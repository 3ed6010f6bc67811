//! The published comparison of SQLite in browsers, with our measurements beside the published ones.

use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::engine::Mode;
use serde::Serialize;
use workloads::Spec;
use workloads::speedtest::published::{self, DIRECT, SCRIPT, Way};

use crate::format::{self, MISSING, seconds, times};

/// Family of the engines in browsers.
const FAMILY: &str = "browser";

/// The native engine that all others are divided by.
const NATIVE: &str = "sqlite";

/// The explanation for the table.
pub(crate) const NOTE: &str = "Seconds for all tests of workload speedtest together, and how many \
     times the native build's they are, on the same machine and for the same tests. The page gives \
     the native build's times for direct calls alone: scripts are divided by those, there and \
     here. Where an engine cannot do some tests, they are left out of both sides, and counted.";

/// What Strongroom's engines in browsers are compared with: engine and base.
const PAIRS: [(&str, &str); 6] = [
    ("browser-strongroom", "browser-opfs"),
    ("browser-strongroom", "browser-sahpool"),
    ("browser-strongroom", "sqlite"),
    ("browser-opfs", "browser-sahpool"),
    ("browser-memory", "browser-official-memory"),
    ("browser-strongroom-firefox", "browser-opfs-firefox"),
];

/// The explanation for the table of pairs.
pub(crate) const PAIRS_NOTE: &str = "Time for all tests together over that of the other engine in \
     the same round, by calls of SQLite's functions; medians, with 95 % intervals where there are \
     enough rounds.";

/// Ratios of engines, by size.
#[derive(Debug, Serialize)]
pub(crate) struct Pairs {
    pub(crate) sizes: Vec<u32>,
    pub(crate) rows: Vec<PairRow>,
}

/// One engine compared with another.
#[derive(Debug, Serialize)]
pub(crate) struct PairRow {
    pub(crate) engine: &'static str,
    pub(crate) base: &'static str,
    /// For each size.
    pub(crate) cells: Vec<String>,
}

/// The pairs that took part together in some run in direct mode.
pub(crate) fn pairs(comparisons: &[&Comparison]) -> Option<Pairs> {
    let direct = comparisons
        .iter()
        .filter(|comparison| comparison.header.mode == Mode::Direct);
    let mut runs: Runs<'_> = direct
        .filter_map(|&comparison| Some((size(comparison)?, comparison)))
        .collect();
    runs.sort_by_key(|(size, _)| *size);
    let row = |(engine, base)| {
        let cell = |(_, run): &(u32, &Comparison)| {
            let ratio = run
                .engine(engine)?
                .sum_ratio(run.engine(base)?, run.header.seed);
            ratio.map(|ratio| format::ratio(Some(&ratio)))
        };
        let cells: Vec<Option<String>> = runs.iter().map(cell).collect();
        cells.iter().any(Option::is_some).then(|| PairRow {
            engine,
            base,
            cells: cells
                .into_iter()
                .map(|cell| cell.unwrap_or_else(|| MISSING.to_owned()))
                .collect(),
        })
    };
    let rows: Vec<PairRow> = PAIRS.into_iter().filter_map(row).collect();
    let sizes = runs.iter().map(|(size, _)| *size).collect();
    (!rows.is_empty()).then_some(Pairs { sizes, rows })
}

/// The table for one way to pass statements to SQLite.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) sizes: Vec<u32>,
    pub(crate) rows: Vec<Row>,
}

/// One build of SQLite.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Its name on the published page, if it is there.
    pub(crate) published: String,
    /// The engine here.
    pub(crate) engine: String,
    /// For each size the published time, and the measured one.
    pub(crate) cells: Vec<[String; 2]>,
}

/// A table for each mode in which speedtest ran in a browser.
pub(crate) fn tables(comparisons: &[&Comparison]) -> Vec<Table> {
    let ways = [(Mode::Direct, Way::Direct), (Mode::Script, Way::Script)];
    let of_mode = |mode| -> Runs<'_> {
        let runs = comparisons.iter();
        runs.filter(|comparison| comparison.header.mode == mode)
            .filter_map(|&comparison| Some((size(comparison)?, comparison)))
            .collect()
    };
    let direct = of_mode(Mode::Direct);
    let of_way = |(mode, way)| {
        let runs = of_mode(mode);
        let in_browser = |(_, run): &(u32, &Comparison)| {
            run.engines
                .iter()
                .any(|engine| engine.profile.family == FAMILY)
        };
        runs.iter()
            .any(in_browser)
            .then(|| table(way, &runs, &direct))
    };
    ways.into_iter().filter_map(of_way).collect()
}

/// Runs of workload speedtest with their sizes.
type Runs<'a> = Vec<(u32, &'a Comparison)>;

fn size(comparison: &Comparison) -> Option<u32> {
    match comparison.header.workload.spec {
        Spec::Speedtest { size, .. } => Some(size),
        _ => None,
    }
}

fn table(way: Way, runs: &Runs<'_>, direct: &Runs<'_>) -> Table {
    let (title, theirs) = match way {
        Way::Direct => ("calls of SQLite's functions", DIRECT),
        Way::Script => ("a text of SQL for each test", SCRIPT),
    };
    let mut sizes: Vec<u32> = theirs.rows.iter().map(|row| row.size).collect();
    sizes.extend(runs.iter().map(|(size, _)| *size));
    sizes.sort_unstable();
    sizes.dedup();
    let cells = |published: Option<usize>, engine: &str| {
        let cell = |&size: &u32| {
            let row = theirs.rows.iter().find(|row| row.size == size);
            let published = published.zip(row).map_or_else(
                || MISSING.to_owned(),
                |(column, row)| published_cell(size, row.milliseconds.get(column).copied()),
            );
            [published, measured(engine, size, runs, direct)]
        };
        sizes.iter().map(cell).collect()
    };
    let mut rows: Vec<Row> = theirs
        .engines
        .iter()
        .enumerate()
        .map(|(column, published)| {
            let engine = published::engine_here(published).unwrap_or_default();
            Row {
                published: (*published).to_owned(),
                engine: engine.to_owned(),
                cells: cells(Some(column), engine),
            }
        })
        .collect();
    for engine in runs.iter().flat_map(|(_, run)| &run.engines) {
        let name = &engine.profile.name;
        // In script mode a native engine is a separate process, whose start takes most of its time.
        let counts = way == Way::Direct || engine.profile.family == FAMILY;
        if counts && !engine.profile.control && rows.iter().all(|row| row.engine != *name) {
            rows.push(Row {
                published: MISSING.to_owned(),
                engine: name.clone(),
                cells: cells(None, name),
            });
        }
    }
    Table { title, sizes, rows }
}

fn with_factor(time: f64, native: Option<f64>) -> String {
    let factor = native.filter(|&native| native > 0.0);
    let factor = factor.map_or_else(String::new, |native| {
        format!(", {} ×", times(time / native))
    });
    format!("{} s{factor}", seconds(Some(time)))
}

/// `time` is `None` outside of the table, and `Some(None)` if the database did not fit.
fn published_cell(size: u32, time: Option<Option<u32>>) -> String {
    let native = published::native(size).map(|native| f64::from(native) / 1e3);
    match time {
        None => MISSING.to_owned(),
        Some(None) => "database too large".to_owned(),
        Some(Some(time)) => with_factor(f64::from(time) / 1e3, native),
    }
}

/// The engine in the first of these runs that includes it.
fn find<'a>(
    engine: &str,
    size: u32,
    runs: &Runs<'a>,
) -> Option<(&'a Comparison, &'a EngineSummary)> {
    let mut of_size = runs.iter().filter(|(other, _)| *other == size);
    of_size.find_map(|(_, run)| Some((*run, run.engine(engine)?)))
}

fn measured(engine: &str, size: u32, runs: &Runs<'_>, direct: &Runs<'_>) -> String {
    let Some((run, summary)) = find(engine, size, runs) else {
        return MISSING.to_owned();
    };
    // In the same rounds in direct mode; else in other rounds of that size.
    let native = match run.header.mode {
        Mode::Direct => run.engine(NATIVE),
        Mode::Script => find(NATIVE, size, direct).map(|(_, native)| native),
    };
    measured_cell(summary, native)
}

fn measured_cell(engine: &EngineSummary, native: Option<&EngineSummary>) -> String {
    let ended = engine.cells.iter().find_map(|cell| {
        let not_possible = cell.not_possible.as_ref()?;
        not_possible.ends.then_some(&not_possible.why)
    });
    if let Some(why) = ended {
        // As on the published page; the full reason is shown with the run.
        let short = why.split_once(": ").map_or(why.as_str(), |(what, _)| what);
        return short.to_owned();
    }
    if engine.cells.iter().any(|cell| cell.wrong.is_some()) {
        return "WRONG".to_owned();
    }
    let possible = |cell: &Cell| cell.not_possible.is_none();
    let left_out = engine.cells.iter().filter(|cell| !possible(cell)).count();
    let of = |summary: &EngineSummary| -> Option<f64> {
        let pairs = summary.cells.iter().zip(&engine.cells);
        pairs
            .filter(|(_, own)| possible(own))
            .map(|(cell, _)| cell.wall_s)
            .sum()
    };
    let Some(time) = of(engine).filter(|_| left_out < engine.cells.len()) else {
        return MISSING.to_owned();
    };
    let text = with_factor(time, native.and_then(of));
    match left_out {
        0 => text,
        1 => format!("{text}, without 1 test"),
        count => format!("{text}, without {count} tests"),
    }
}

/// What engines cannot do by design: a sentence for each reason.
pub(crate) fn not_possible(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for engine in &comparison.engines {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for (cell, test) in engine.cells.iter().zip(1..) {
            let Some(not_possible) = &cell.not_possible else {
                continue;
            };
            let why = not_possible.why.as_str();
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, tests)) => tests.push(test.to_string()),
                None => reasons.push((why, vec![test.to_string()])),
            }
        }
        sentences.extend(reasons.into_iter().map(|(why, tests)| {
            let name = &engine.profile.name;
            let word = if tests.len() == 1 { "test" } else { "tests" };
            format!(
                "{name}, {word} {}: not possible here: {why}",
                tests.join(", ")
            )
        }));
    }
    sentences
}
