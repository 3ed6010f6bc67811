//! The tables of the page.

use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::statistics::Ratio;
use serde::Serialize;
use workloads::speed::published::{
    self, SQLCRYPT_2004, SQLCRYPT_2004_ENCRYPTED, SQLCRYPT_2004_PLAIN, SQLITE_2002,
    SQLITE_2002_NOSYNC, SQLITE_2002_SYNC,
};

use super::{RatioText, memory_words};
use crate::chart::class_of;
use crate::finding::{durability_word, durability_words};
use crate::format::{MISSING, bytes, duration, seconds, times};

/// Times in the published form, ratios beside them.
#[derive(Debug, Serialize)]
pub(super) struct Times {
    engines: Vec<Head>,
    ratios: Vec<Head>,
    published: Vec<PublishedHead>,
    rows: Vec<TimesRow>,
    totals: Vec<String>,
    means: Vec<Option<RatioText>>,
    published_means: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Head {
    name: String,
    base: String,
    class: String,
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
}

pub(super) fn wall(comparison: &Comparison) -> Times {
    let pick = Pick {
        time: |cell| cell.wall_s,
        ratio: |cell| cell.wall_ratio,
        total: |engine| engine.wall_total_s,
        mean: |engine| engine.wall_mean,
    };
    table(comparison, &pick, &published_columns(comparison))
}

pub(super) fn cpu(comparison: &Comparison) -> Times {
    let pick = Pick {
        time: |cell| cell.cpu_s,
        ratio: |cell| cell.cpu_ratio,
        total: |engine| engine.cpu_total_s,
        mean: |engine| engine.cpu_mean,
    };
    table(comparison, &pick, &[])
}

/// A published ratio: the page, the engine and the engine it is divided by.
type PublishedRatio = (published::Page, usize, usize);

/// The published ratios that belong to this workload.
fn published_columns(comparison: &Comparison) -> Vec<PublishedRatio> {
    if comparison.header.workload.sha256 != workloads::speed::SHA256 {
        return vec![];
    }
    vec![
        (SQLCRYPT_2004, SQLCRYPT_2004_ENCRYPTED, SQLCRYPT_2004_PLAIN),
        (SQLITE_2002, SQLITE_2002_NOSYNC, SQLITE_2002_SYNC),
    ]
}

fn table(comparison: &Comparison, pick: &Pick, published: &[PublishedRatio]) -> Times {
    let engines: Vec<&EngineSummary> = comparison.engines.iter().collect();
    let based: Vec<&EngineSummary> = engines
        .iter()
        .copied()
        .filter(|engine| engine.base.is_some())
        .collect();
    let control = comparison.control();
    let head = |engine: &&EngineSummary| Head {
        name: engine.profile.name.clone(),
        base: engine.base.clone().unwrap_or_default(),
        class: class_of(comparison, &engine.profile.name),
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
            .map(|engine| ratio(engine, control, pick, test))
            .collect(),
        published: published
            .iter()
            .map(|column| published_ratio(column, test))
            .collect(),
    };
    let mean = |engine: &&EngineSummary| {
        let noise = control
            .filter(|_| !engine.profile.control)
            .and_then(pick.mean);
        (pick.mean)(engine).map(|ratio| RatioText::new(&ratio, noise.as_ref()))
    };
    Times {
        engines: engines.iter().map(head).collect(),
        ratios: based.iter().map(head).collect(),
        published: published
            .iter()
            .map(|(page, engine, base)| PublishedHead {
                name: page.engines[*engine].name,
                base: page.engines[*base].name,
                year: page.year,
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
        published_means: published
            .iter()
            .map(|(page, engine, base)| {
                page.mean_ratio(*engine, *base)
                    .map_or_else(|| MISSING.to_owned(), times)
            })
            .collect(),
    }
}

fn time(engine: &EngineSummary, pick: &Pick, test: usize) -> Time {
    let cell = engine.cells.get(test);
    Time {
        text: seconds(cell.and_then(pick.time)),
        wrong: cell.and_then(|cell| cell.wrong.clone()),
    }
}

fn ratio(
    engine: &EngineSummary,
    control: Option<&EngineSummary>,
    pick: &Pick,
    test: usize,
) -> RatioCell {
    let noise = control
        .filter(|_| !engine.profile.control)
        .and_then(|control| (pick.ratio)(control.cells.get(test)?));
    let cell = engine.cells.get(test);
    let ratio = cell.and_then(pick.ratio);
    RatioCell {
        ratio: ratio.map(|ratio| RatioText::new(&ratio, noise.as_ref())),
        wrong: cell.is_some_and(|cell| cell.wrong.is_some()),
    }
}

fn published_ratio((page, engine, base): &PublishedRatio, test: usize) -> String {
    u32::try_from(test + 1)
        .ok()
        .and_then(|test| page.ratio(test, *engine, *base))
        .map_or_else(|| MISSING.to_owned(), times)
}

/// Where the published figures come from.
#[derive(Debug, Serialize)]
pub(super) struct PublishedPage {
    year: u16,
    machine: &'static str,
    engines: Vec<String>,
}

pub(super) fn published_pages(comparison: &Comparison) -> Vec<PublishedPage> {
    published_columns(comparison)
        .iter()
        .map(|(page, engine, base)| PublishedPage {
            year: page.year,
            machine: page.machine,
            engines: [engine, base]
                .map(|&place| {
                    let engine = &page.engines[place];
                    format!("{} ({})", engine.name, engine.durability)
                })
                .to_vec(),
        })
        .collect()
}

/// An engine beyond its times.
#[derive(Debug, Serialize)]
pub(super) struct EngineRow {
    name: String,
    class: String,
    description: String,
    durability: &'static str,
    cipher: String,
    creating: String,
    opening: String,
    memory: String,
    read: String,
    written: String,
    on_disk: &'static str,
    alarm: bool,
}

pub(super) fn engines(comparison: &Comparison) -> Vec<EngineRow> {
    comparison
        .engines
        .iter()
        .map(|engine| EngineRow {
            name: engine.profile.name.clone(),
            class: class_of(comparison, &engine.profile.name),
            description: engine.profile.description.clone(),
            durability: durability_words(engine.profile.durability),
            cipher: engine
                .profile
                .cipher
                .clone()
                .unwrap_or_else(|| "none".to_owned()),
            creating: duration(engine.creating_s),
            opening: duration(engine.opening_s),
            memory: bytes(engine.peak_memory_bytes),
            read: bytes(engine.read_bytes),
            written: bytes(engine.written_bytes),
            on_disk: match engine.readable_on_disk {
                Some(true) => "readable",
                Some(false) => "not readable",
                None => MISSING,
            },
            alarm: engine.profile.cipher.is_some() && engine.readable_on_disk == Some(true),
        })
        .collect()
}

/// Settings as reported: a row per setting, a column per engine.
#[derive(Debug, Serialize)]
pub(super) struct Settings {
    engines: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

pub(super) fn settings(comparison: &Comparison) -> Settings {
    let mut names: Vec<&String> = Vec::new();
    for engine in &comparison.engines {
        for (name, _) in &engine.settings {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let value = |engine: &EngineSummary, name: &str| {
        let found = engine.settings.iter().find(|setting| setting.0 == name);
        found.map_or_else(|| MISSING.to_owned(), |setting| setting.1.clone())
    };
    let rows = names.into_iter().map(|name| {
        let values = comparison
            .engines
            .iter()
            .map(|engine| value(engine, name))
            .collect();
        (name.clone(), values)
    });
    Settings {
        engines: comparison
            .engines
            .iter()
            .map(|engine| engine.profile.name.clone())
            .collect(),
        rows: rows.collect(),
    }
}

/// How many answers were looked at.
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
    let load = comparison.load.map_or_else(
        || MISSING.to_owned(),
        |(low, high)| format!("{low:.1} to {high:.1} at the beginning of a pass"),
    );
    let stolen = comparison.stolen_share_max.map_or_else(
        || MISSING.to_owned(),
        |share| format!("at most {:.1} % of a pass", share * 100.0),
    );
    vec![
        ("Processor", machine.cpu.clone()),
        ("Cores", machine.cores.to_string()),
        ("Memory", memory_words(machine.memory_bytes)),
        ("System", machine.operating_system.clone()),
        ("Kernel", machine.kernel.clone()),
        (
            "Databases on",
            format!("{} ({})", machine.disk.file_system, machine.disk.device),
        ),
        ("Load", load),
        ("Taken by the host", stolen),
    ]
}
