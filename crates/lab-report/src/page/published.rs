//! The published figures for a workload.

use lab::comparison::Comparison;
use serde::Serialize;
use workloads::Spec;
use workloads::pinger::published as pinger;
use workloads::speed::published::{
    Page, SQLCRYPT_2004, SQLCRYPT_2004_ENCRYPTED, SQLCRYPT_2004_PLAIN, SQLITE_2002,
    SQLITE_2002_NOSYNC, SQLITE_2002_SYNC,
};
use workloads::speedtest::published as speedtest;

use crate::format::{MISSING, seconds, times};

/// A published ratio: the page, the engine and the engine it is divided by.
pub(super) struct PublishedRatio {
    page: Page,
    engine: usize,
    base: usize,
}

impl PublishedRatio {
    pub(super) fn name(&self) -> &'static str {
        self.page.engines[self.engine].name
    }

    pub(super) fn base_name(&self) -> &'static str {
        self.page.engines[self.base].name
    }

    pub(super) fn year(&self) -> u16 {
        self.page.year
    }

    /// The ratio of one test, counted from 0.
    pub(super) fn text(&self, test: usize) -> String {
        u32::try_from(test + 1)
            .ok()
            .and_then(|test| self.page.ratio(test, self.engine, self.base))
            .map_or_else(|| MISSING.to_owned(), times)
    }

    pub(super) fn mean_text(&self) -> String {
        self.page
            .mean_ratio(self.engine, self.base)
            .map_or_else(|| MISSING.to_owned(), times)
    }
}

/// The published ratios for this workload.
pub(super) fn ratios(comparison: &Comparison) -> Vec<PublishedRatio> {
    if !is_speed(comparison) {
        return vec![];
    }
    vec![
        PublishedRatio {
            page: SQLCRYPT_2004,
            engine: SQLCRYPT_2004_ENCRYPTED,
            base: SQLCRYPT_2004_PLAIN,
        },
        PublishedRatio {
            page: SQLITE_2002,
            engine: SQLITE_2002_NOSYNC,
            base: SQLITE_2002_SYNC,
        },
    ]
}

fn is_speed(comparison: &Comparison) -> bool {
    comparison.header.workload.sha256 == workloads::speed::SHA256
}

/// Figures of one published page for one test.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    source: String,
    rows: Vec<(String, String)>,
}

/// The figures of the published pages for that test, counted from 0.
pub(super) fn figures(comparison: &Comparison, test: usize) -> Vec<Figures> {
    match &comparison.header.workload.spec {
        Spec::Pinger => pinger_figures(test),
        _ if is_speed(comparison) => speed_figures(test),
        _ => vec![],
    }
}

fn speed_figures(test: usize) -> Vec<Figures> {
    [SQLITE_2002, SQLCRYPT_2004]
        .iter()
        .filter_map(|page| {
            let figures = page.seconds.get(test)?;
            let rows = page.engines.iter().zip(*figures);
            Some(Figures {
                source: format!("Published in {}", page.year),
                rows: rows
                    .map(|(engine, figure)| (engine.name.to_owned(), seconds(Some(*figure))))
                    .collect(),
            })
        })
        .collect()
}

fn pinger_figures(test: usize) -> Vec<Figures> {
    let belongs = |step: &&pinger::Step| step.tests.iter().any(|&one| one as usize == test + 1);
    let Some(step) = pinger::STEPS.iter().find(belongs) else {
        return vec![];
    };
    let together = if step.tests.len() > 1 {
        let tests: Vec<String> = step.tests.iter().map(u32::to_string).collect();
        format!("; tests {} together", tests.join(", "))
    } else {
        String::new()
    };
    let rows = pinger::ENGINES.iter().zip(step.seconds);
    vec![Figures {
        source: format!("Published: {}{together}", step.title),
        rows: rows
            .map(|(engine, figure)| ((*engine).to_owned(), seconds(Some(figure))))
            .collect(),
    }]
}

/// The source of published figures.
#[derive(Debug, Serialize)]
pub(super) struct Note {
    /// "Published in 2002".
    title: String,
    machine: String,
    engines: Vec<String>,
}

pub(super) fn notes(comparison: &Comparison) -> Vec<Note> {
    match &comparison.header.workload.spec {
        Spec::Pinger => vec![Note {
            title: "The published PingER comparison".to_owned(),
            machine: pinger::MACHINE.to_owned(),
            engines: pinger::ENGINES.map(str::to_owned).to_vec(),
        }],
        _ if is_speed(comparison) => [SQLITE_2002, SQLCRYPT_2004]
            .iter()
            .map(|page| Note {
                title: format!("Published in {}", page.year),
                machine: page.machine.to_owned(),
                engines: page
                    .engines
                    .iter()
                    .map(|engine| format!("{} ({})", engine.name, engine.durability))
                    .collect(),
            })
            .collect(),
        _ => vec![],
    }
}

/// Published times of all tests together, at several sizes.
#[derive(Debug, Serialize)]
pub(super) struct Totals {
    title: &'static str,
    engines: Vec<&'static str>,
    rows: Vec<TotalsRow>,
}

#[derive(Debug, Serialize)]
struct TotalsRow {
    size: u32,
    /// The page's label for the number of statements.
    label: u32,
    statements: u32,
    /// Whether this is the size of this run.
    here: bool,
    cells: Vec<String>,
}

pub(super) fn totals(comparison: &Comparison) -> Vec<Totals> {
    let Spec::Speedtest { size, .. } = comparison.header.workload.spec else {
        return vec![];
    };
    let table = |table: &speedtest::Table| Totals {
        title: match table.way {
            speedtest::Way::Direct => "calls of SQLite's functions",
            speedtest::Way::Script => "a text of SQL, piped into SQLite",
        },
        engines: table.engines.to_vec(),
        rows: table
            .rows
            .iter()
            .map(|row| TotalsRow {
                size: row.size,
                label: row.label,
                statements: row.statements(),
                here: row.size == size,
                cells: row
                    .milliseconds
                    .iter()
                    .map(|time| seconds(time.map(|time| f64::from(time) / 1e3)))
                    .collect(),
            })
            .collect(),
    };
    speedtest::TABLES.iter().map(table).collect()
}
