//! The content of the page, as plain values for the templates.

mod cards;
mod concurrent;
mod download;
pub(crate) mod engines;
mod growth;
mod published;
mod ranking;
mod scale;
mod tables;
mod tpcc;
mod words;

use lab::comparison::{Comparison, EngineSummary};
use lab::engine::Mode;
use lab::probe::Probe;
use lab::statistics::{Ratio, Verdict};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, context};
use serde::Serialize;
use workloads::Spec;

use crate::browsers;
use crate::chart::{Measure, charts};
use crate::finding::{durability_words, headline, lead, sentence, verdict_word};
use crate::format::{bytes, count_words, date, interval, times};
use crate::palette::{Palette, carded};

/// Why the page could not be rendered.
#[derive(Debug, thiserror::Error)]
#[error(
    "the page template does not fit its data; this is a fault of the program, please report it"
)]
pub struct PageError(#[from] minijinja::Error);

const TEMPLATES: [(&str, &str); 15] = [
    ("report.html", include_str!("../templates/report.html")),
    ("run.html", include_str!("../templates/run.html")),
    ("chart.html", include_str!("../templates/chart.html")),
    ("times.html", include_str!("../templates/times.html")),
    ("cards.html", include_str!("../templates/cards.html")),
    ("engines.html", include_str!("../templates/engines.html")),
    ("method.html", include_str!("../templates/method.html")),
    ("lines.html", include_str!("../templates/lines.html")),
    (
        "concurrent.html",
        include_str!("../templates/concurrent.html"),
    ),
    ("tpcc.html", include_str!("../templates/tpcc.html")),
    ("growth.html", include_str!("../templates/growth.html")),
    ("browsers.html", include_str!("../templates/browsers.html")),
    ("ranking.html", include_str!("../templates/ranking.html")),
    ("report.css", include_str!("../templates/report.css")),
    ("report.js", include_str!("../templates/report.js")),
];

/// A run to be shown on the page.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Its evaluation.
    pub comparison: &'a Comparison,
    /// The command line that repeats it.
    pub command: &'a str,
    /// The text of its results file, which the page offers for download.
    pub samples: &'a str,
}

/// The level of detail. Most pages contain everything; a page of many runs would be too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Everything, including each sample.
    Everything,
    /// Everything but the samples.
    NoSamples,
    /// Only what is not in a table as well.
    Brief,
}

/// The page is reduced to this size, if its detail can be reduced.
const PAGE_BYTES_MAX: usize = 2_000_000;

/// Renders the page of one or several runs, with a section for each.
///
/// # Errors
///
/// If the templates are wrong.
pub fn html(runs: &[Run<'_>]) -> Result<String, PageError> {
    let comparisons: Vec<&Comparison> = runs.iter().map(|run| run.comparison).collect();
    let palette = Palette::of(&comparisons);
    for detail in [Detail::Everything, Detail::NoSamples] {
        let page = drawn(runs, &palette, detail)?;
        if page.len() <= PAGE_BYTES_MAX {
            return Ok(page);
        }
    }
    drawn(runs, &palette, Detail::Brief)
}

fn drawn(runs: &[Run<'_>], palette: &Palette, detail: Detail) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    environment.add_filter("code", words::code);
    environment.add_filter("breaking", words::breaking);
    let colours = palette.clone();
    environment.add_filter("colour", move |engine: &str| colours.class(engine));
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    let comparisons: Vec<&Comparison> = runs.iter().map(|run| run.comparison).collect();
    let sections: Vec<minijinja::Value> = runs
        .iter()
        .zip(1..)
        .map(|run| section(run, palette, detail))
        .collect();
    let title = match comparisons.as_slice() {
        [one] => headline(one),
        several => several_words(several),
    };
    let page = context! {
        title => title,
        runs => sections,
        several => runs.len() > 1,
        brief => detail == Detail::Brief,
        growth => Serde(growth::charts(&comparisons, palette)),
        browsers => Serde(browsers::tables(&comparisons)),
        browsers_note => browsers::NOTE,
        browser_pairs => Serde(browsers::pairs(&comparisons)),
        browser_pairs_note => browsers::PAIRS_NOTE,
    };
    Ok(environment.get_template("report.html")?.render(page)?)
}

/// A common title for several runs.
fn several_words(comparisons: &[&Comparison]) -> String {
    let count = count_words(comparisons.len(), "run");
    let name = |comparison: &&Comparison| comparison.header.workload.name.clone();
    match comparisons.first().map(name) {
        Some(first) if comparisons.iter().all(|one| name(one) == first) => {
            format!("{count} of {first}")
        }
        _ => count,
    }
}

fn section(
    (run, number): (&Run<'_>, usize),
    palette: &Palette,
    detail: Detail,
) -> minijinja::Value {
    let comparison = run.comparison;
    let header = &comparison.header;
    let measured = |measure| {
        let mut charts = charts(comparison, palette, measure);
        if detail == Detail::Brief {
            charts.truncate(1);
        }
        charts
    };
    let samples = (detail == Detail::Everything).then(|| download::data_url(run.samples));
    context! {
        id => format!("run{number}"),
        number,
        headline => headline(comparison),
        sentence => sentence(comparison),
        lead => Serde(lead(comparison).map(|engine| &engine.profile)),
        too_busy => comparison.is_too_busy(),
        circumstances => tables::circumstances(comparison),
        tiles => Serde(tiles(comparison)),
        ranking => Serde(ranking::ranking(comparison, &carded(comparison))),
        wall_charts => Serde(measured(&WALL)),
        cpu_charts => Serde(measured(&CPU)),
        wall_times => Serde(tables::wall(comparison)),
        cpu_times => Serde(tables::cpu(comparison)),
        cards => Serde((detail != Detail::Brief).then(|| cards::cards(comparison))),
        concurrent => Serde(concurrent::section(comparison, palette)),
        tpcc => Serde(tpcc::section(comparison, palette)),
        asked => asked(comparison),
        engines => Serde(engines::engines(comparison)),
        settings => Serde(engines::settings(comparison)),
        wrongs => Serde(wrongs(comparison)),
        not_possible => Serde(browsers::not_possible(comparison)),
        script_mode => header.mode == Mode::Script,
        control => Serde(comparison.control().map(control_words)),
        rounds => count_words(comparison.rounds, "round"),
        tests => header.workload.tests.len(),
        size => format!(
            "{}, {}",
            count_words(header.workload.tests.len(), "test"),
            count_words(comparison.engines.len(), "engine")
        ),
        intervals => comparison.engines.iter().any(has_interval),
        resamples => lab::statistics::RESAMPLES,
        rounds_for_interval => lab::statistics::ROUNDS_FOR_INTERVAL,
        smallest_difference => smallest_difference_percent(),
        tolerance => format!("{}", lab::answer::recorded::ABSOLUTE_TOLERANCE),
        commits => lab::probe::COMMITS,
        answers => Serde(tables::answers(comparison)),
        machine => Serde(tables::machine(comparison)),
        workload => Serde(&header.workload),
        seed => header.seed,
        program => Serde(&header.program),
        date => date(header.began.unix_seconds),
        command => run.command,
        published => Serde(published::notes(comparison)),
        totals => Serde(published::totals(comparison)),
        samples => samples,
        samples_size => bytes(Some(run.samples.len() as f64)),
    }
}

/// The workload in words, and how statements were passed to the engines.
fn asked(comparison: &Comparison) -> String {
    let header = &comparison.header;
    let words = match &header.workload.spec {
        Spec::Speed { scale: 1 } => "the 15 speed tests".to_owned(),
        Spec::Speed { scale } => format!("the 15 speed tests, {scale} times as large"),
        Spec::Pinger => "PingER".to_owned(),
        Spec::Speedtest {
            size,
            big_transactions,
        } => {
            let big = if *big_transactions {
                ", big transactions"
            } else {
                ""
            };
            format!("SQLite's speed test, size {size}{big}")
        }
        Spec::Concurrent { .. } => "several connections at once".to_owned(),
        Spec::Tpcc {
            scale, isolation, ..
        } => format!(
            "TPC-C, scale {scale}, {}",
            isolation.word().replace('-', " ")
        ),
        Spec::Custom { folder, .. } => folder.clone(),
    };
    match header.mode {
        Mode::Direct => words,
        Mode::Script => format!("{words}, as scripts"),
    }
}

/// Whether there were enough rounds for an interval.
fn has_interval(engine: &EngineSummary) -> bool {
    engine
        .wall_mean
        .is_some_and(|ratio| ratio.interval.is_some())
}

const WALL: Measure = Measure {
    of_cell: |cell| cell.wall_ratio,
    points: |cell| &cell.wall_points,
    of_mean: |engine| engine.wall_mean,
};

const CPU: Measure = Measure {
    of_cell: |cell| cell.cpu_ratio,
    points: |cell| &cell.cpu_points,
    of_mean: |engine| engine.cpu_mean,
};

/// A formatted ratio.
#[derive(Debug, Serialize)]
pub(crate) struct RatioText {
    value: String,
    interval: Option<String>,
    /// "slower", "faster", "alike", "unknown", "busy": also a CSS class.
    class: &'static str,
    verdict: &'static str,
}

impl RatioText {
    /// The ratio that `pick` selects from an engine, with the verdict that the control's ratio
    /// allows.
    pub(crate) fn of(
        comparison: &Comparison,
        engine: &EngineSummary,
        pick: impl Fn(&EngineSummary) -> Option<Ratio>,
    ) -> Option<Self> {
        let ratio = pick(engine)?;
        let verdict = comparison.verdict(engine, &ratio, pick);
        Some(Self::new(&ratio, verdict))
    }

    fn new(ratio: &Ratio, verdict: Verdict) -> Self {
        let class = match verdict {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Alike => "alike",
            Verdict::Unknown => "unknown",
            Verdict::Busy => "busy",
        };
        Self {
            value: times(ratio.value),
            interval: interval(ratio),
            class,
            verdict: verdict_word(verdict),
        }
    }
}

/// One engine at the top of the page.
#[derive(Debug, Serialize)]
struct Tile {
    name: String,
    base: String,
    durability: &'static str,
    wall: Option<RatioText>,
    cpu: Option<RatioText>,
    control: bool,
    lead: bool,
}

fn tiles(comparison: &Comparison) -> Vec<Tile> {
    let lead = lead(comparison).map(|engine| engine.profile.name.clone());
    carded(comparison)
        .into_iter()
        .map(|engine| Tile {
            name: engine.profile.name.clone(),
            base: engine.base.clone().unwrap_or_default(),
            durability: durability_words(engine.profile.durability),
            wall: RatioText::of(comparison, engine, |engine| engine.wall_mean),
            cpu: RatioText::of(comparison, engine, |engine| engine.cpu_mean),
            control: engine.profile.control,
            lead: lead.as_ref() == Some(&engine.profile.name),
        })
        .collect()
}

/// What went wrong, in sentences.
fn wrongs(comparison: &Comparison) -> Vec<String> {
    let mut wrongs = Vec::new();
    for engine in &comparison.engines {
        let name = &engine.profile.name;
        for (cell, test) in engine.cells.iter().zip(1..) {
            if let Some(reason) = &cell.wrong {
                wrongs.push(format!(
                    "{name} gave a wrong answer in test {test}: {reason}"
                ));
            }
        }
        if let Some(failure) = engine.failures.first() {
            let count = engine.failures.len();
            wrongs.push(format!("{name} failed in {count} of its passes: {failure}"));
        }
        wrongs.extend(engine.contradictions.iter().cloned());
        let seen = engine.probe.as_ref().and_then(Probe::readable) == Some(true);
        if engine.profile.cipher.is_some() && engine.readable_on_disk == Some(true) && !seen {
            wrongs.push(format!("{name} left rows that can be read on the disk"));
        }
    }
    wrongs
}

fn control_words(control: &EngineSummary) -> String {
    let words = |ratio: &Option<Ratio>| {
        ratio.as_ref().map_or_else(
            || "not measured".to_owned(),
            |ratio| match interval(ratio) {
                Some(interval) => format!("{} ({interval})", times(ratio.value)),
                None => times(ratio.value),
            },
        )
    };
    format!(
        "{} against {}, which is the same engine: {} in wall time, {} in processor time",
        control.profile.name,
        control.base.as_deref().unwrap_or_default(),
        words(&control.wall_mean),
        words(&control.cpu_mean)
    )
}

pub(crate) fn memory_words(memory_bytes: Option<u64>) -> String {
    bytes(memory_bytes.map(|bytes| bytes as f64))
}

/// The smallest ratio that counts as a difference, in per cent with one decimal.
fn smallest_difference_percent() -> f64 {
    ((lab::statistics::SMALLEST_DIFFERENCE - 1.0) * 1000.0).round() / 10.0
}
