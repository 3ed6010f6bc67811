//! The figures of the published pages that belong to a workload.

use lab::comparison::Comparison;
use serde::Serialize;
use workloads::speed::published::{
    Page, SQLCRYPT_2004, SQLCRYPT_2004_ENCRYPTED, SQLCRYPT_2004_PLAIN, SQLITE_2002,
    SQLITE_2002_NOSYNC, SQLITE_2002_SYNC,
};

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

/// The published ratios that belong to this workload.
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

/// What the pages say of that test, counted from 0.
pub(super) fn figures(comparison: &Comparison, test: usize) -> Vec<Figures> {
    if !is_speed(comparison) {
        return vec![];
    }
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

/// Where the published figures come from.
#[derive(Debug, Serialize)]
pub(super) struct Note {
    year: u16,
    machine: String,
    engines: Vec<String>,
}

pub(super) fn notes(comparison: &Comparison) -> Vec<Note> {
    if !is_speed(comparison) {
        return vec![];
    }
    [SQLITE_2002, SQLCRYPT_2004]
        .iter()
        .map(|page| Note {
            year: page.year,
            machine: page.machine.to_owned(),
            engines: page
                .engines
                .iter()
                .map(|engine| format!("{} ({})", engine.name, engine.durability))
                .collect(),
        })
        .collect()
}
