//! The tables of the page.

use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::statistics::Ratio;
use serde::Serialize;

use super::published::{self, PublishedRatio};
use super::{RatioText, memory_words};
use crate::finding::durability_word;
use crate::format::{MISSING, seconds};

/// Times in the published form, with ratios beside them.
#[derive(Debug, Serialize)]
pub(super) struct Times {
    engines: Vec<Head>,
    ratios: Vec<Head>,
    published: Vec<PublishedHead>,
    /// Whether there were enough rounds for intervals.
    intervals: bool,
    rows: Vec<TimesRow>,
    totals: Vec<String>,
    means: Vec<Option<RatioText>>,
    published_means: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Head {
    name: String,
    base: String,
    durability: &'static str,
}

#[derive(Debug, Serialize)]
struct PublishedHead {
    name: &'static str,
    base: &'static str,
    year: u16,
}

#[derive(Debug, Serialize)]
struct TimesRow {
    number: usize,
    title: String,
    times: Vec<Time>,
    ratios: Vec<RatioCell>,
    published: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Time {
    text: String,
    /// Client and server separately, if there is a server.
    parts: Option<String>,
    wrong: Option<String>,
}

#[derive(Debug, Serialize)]
struct RatioCell {
    ratio: Option<RatioText>,
    wrong: bool,
}

struct Pick {
    time: fn(&Cell) -> Option<f64>,
    ratio: fn(&Cell) -> Option<Ratio>,
    total: fn(&EngineSummary) -> Option<f64>,
    mean: fn(&EngineSummary) -> Option<Ratio>,
    /// The part of a server.
    server: fn(&Cell) -> Option<f64>,
}

pub(super) fn wall(comparison: &Comparison) -> Vec<Times> {
    let pick = Pick {
        time: |cell| cell.wall_s,
        ratio: |cell| cell.wall_ratio,
        total: |engine| engine.wall_total_s,
        mean: |engine| engine.wall_mean,
        server: |_| None,
    };
    blocks(comparison, &pick, &published::ratios(comparison))
}

pub(super) fn cpu(comparison: &Comparison) -> Vec<Times> {
    let pick = Pick {
        time: |cell| cell.cpu_s,
        ratio: |cell| cell.cpu_ratio,
        total: |engine| engine.cpu_total_s,
        mean: |engine| engine.cpu_mean,
        server: |cell| cell.server_cpu_s,
    };
    blocks(comparison, &pick, &[])
}

/// Maximum number of engines if all are in one table.
const ENGINES_IN_ONE_TABLE: usize = 6;

/// Engines per table if there are several, so that none is wider than a page.
const ENGINES_PER_TABLE: usize = 4;

/// A table for every few engines; the published figures are in the first.
fn blocks(comparison: &Comparison, pick: &Pick, published: &[PublishedRatio]) -> Vec<Times> {
    let size = if comparison.engines.len() <= ENGINES_IN_ONE_TABLE {
        ENGINES_IN_ONE_TABLE
    } else {
        ENGINES_PER_TABLE
    };
    comparison
        .engines
        .chunks(size)
        .enumerate()
        .map(|(place, engines)| {
            let published = if place == 0 { published } else { &[] };
            table(comparison, engines, pick, published)
        })
        .collect()
}

fn table(
    comparison: &Comparison,
    engines: &[EngineSummary],
    pick: &Pick,
    published: &[PublishedRatio],
) -> Times {
    let engines: Vec<&EngineSummary> = engines.iter().collect();
    let based: Vec<&EngineSummary> = engines
        .iter()
        .copied()
        .filter(|engine| engine.base.is_some())
        .collect();
    let head = |engine: &&EngineSummary| Head {
        name: engine.profile.name.clone(),
        base: engine.base.clone().unwrap_or_default(),
        durability: durability_word(engine.profile.durability),
    };
    let row = |(test, title): (usize, &String)| TimesRow {
        number: test + 1,
        title: title.clone(),
        times: engines
            .iter()
            .map(|engine| time(engine, pick, test))
            .collect(),
        ratios: based
            .iter()
            .map(|engine| ratio(comparison, engine, pick, test))
            .collect(),
        published: published.iter().map(|column| column.text(test)).collect(),
    };
    let mean = |engine: &&EngineSummary| RatioText::of(comparison, engine, pick.mean);
    Times {
        engines: engines.iter().map(head).collect(),
        ratios: based.iter().map(head).collect(),
        intervals: based.iter().any(|engine| super::has_interval(engine)),
        published: published
            .iter()
            .map(|column| PublishedHead {
                name: column.name(),
                base: column.base_name(),
                year: column.year(),
            })
            .collect(),
        rows: comparison
            .header
            .workload
            .tests
            .iter()
            .enumerate()
            .map(row)
            .collect(),
        totals: engines
            .iter()
            .map(|engine| seconds((pick.total)(engine)))
            .collect(),
        means: based.iter().map(mean).collect(),
        published_means: published.iter().map(PublishedRatio::mean_text).collect(),
    }
}

fn time(engine: &EngineSummary, pick: &Pick, test: usize) -> Time {
    let cell = engine.cells.get(test);
    let time = cell.and_then(pick.time);
    let parts = time.zip(cell.and_then(pick.server));
    Time {
        text: seconds(time),
        parts: parts.map(|(time, server)| {
            let client = (time - server).max(0.0);
            format!("{} + {}", seconds(Some(client)), seconds(Some(server)))
        }),
        wrong: cell.and_then(|cell| cell.wrong.clone()),
    }
}

fn ratio(comparison: &Comparison, engine: &EngineSummary, pick: &Pick, test: usize) -> RatioCell {
    let of_test = |engine: &EngineSummary| (pick.ratio)(engine.cells.get(test)?);
    let cell = engine.cells.get(test);
    RatioCell {
        ratio: RatioText::of(comparison, engine, of_test),
        wrong: cell.is_some_and(|cell| cell.wrong.is_some()),
    }
}

/// How many answers were checked.
#[derive(Debug, Serialize)]
pub(super) struct Answers {
    right: usize,
    wrong: usize,
    facts: usize,
}

pub(super) fn answers(comparison: &Comparison) -> Answers {
    let engines = &comparison.engines;
    Answers {
        right: engines.iter().map(|engine| engine.answers_right).sum(),
        wrong: engines.iter().map(EngineSummary::wrong_count).sum(),
        facts: engines.iter().map(|engine| engine.facts).sum(),
    }
}

/// The machine, name and value.
pub(super) fn machine(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let machine = &comparison.header.machine;
    let [load, stolen, clock] = busy_words(comparison);
    vec![
        ("Processor", machine.cpu.clone()),
        ("Cores", machine.cores.to_string()),
        (
            "Governor",
            machine
                .governor
                .clone()
                .unwrap_or_else(|| "not told by the system".to_owned()),
        ),
        ("Memory", memory_words(machine.memory_bytes)),
        ("System", machine.operating_system.clone()),
        ("Kernel", machine.kernel.clone()),
        (
            "Databases on",
            format!("{} ({})", machine.disk.file_system, machine.disk.device),
        ),
        ("Load", load),
        ("Taken by the host", stolen),
        ("Clock", clock),
    ]
}

/// Load, stolen processor time, and clock, over all passes.
fn busy_words(comparison: &Comparison) -> [String; 3] {
    let missing = || MISSING.to_owned();
    let load = comparison.load.map_or_else(missing, |(low, high)| {
        format!("{low:.1} to {high:.1} at the beginning of a pass")
    });
    let stolen = comparison.stolen_share_max.map_or_else(missing, |share| {
        format!("at most {:.1} % of a pass", share * 100.0)
    });
    let clock = comparison.clock_mhz.map_or_else(missing, |(low, high)| {
        if high - low < 1.0 {
            format!("{high:.0} MHz")
        } else {
            format!("{low:.0} to {high:.0} MHz")
        }
    });
    [load, stolen, clock]
}

/// The same in one line for the top of the page.
pub(super) fn circumstances(comparison: &Comparison) -> String {
    let words = ["Load ", "Taken by the host: ", "Clock of the processors: "];
    let told = words.iter().zip(busy_words(comparison));
    let told = told.filter(|(_, words)| words != MISSING);
    let told: Vec<String> = told
        .map(|(what, words)| format!("{what}{words}."))
        .collect();
    told.join(" ")
}
