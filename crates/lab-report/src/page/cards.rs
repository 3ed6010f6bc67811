//! A small table for each test, in the form of the published pages.

use lab::comparison::{Cell, Comparison, EngineSummary};
use serde::Serialize;

use super::RatioText;
use super::published::{self, Figures};
use crate::format::seconds;

/// One test.
#[derive(Debug, Serialize)]
pub(super) struct Card {
    number: usize,
    title: String,
    rows: Vec<CardRow>,
    published: Vec<Figures>,
}

#[derive(Debug, Serialize)]
struct CardRow {
    name: String,
    wall: String,
    /// Length of the bar, per cent of the slowest engine's.
    bar: String,
    cpu: String,
    ratio: Option<RatioText>,
    wrong: Option<String>,
}

pub(super) fn cards(comparison: &Comparison) -> Vec<Card> {
    let titles = comparison.header.workload.tests.iter().enumerate();
    titles
        .map(|(test, title)| Card {
            number: test + 1,
            title: title.clone(),
            rows: rows(comparison, test),
            published: published::figures(comparison, test),
        })
        .collect()
}

fn rows(comparison: &Comparison, test: usize) -> Vec<CardRow> {
    let cells: Vec<(&EngineSummary, &Cell)> = comparison
        .engines
        .iter()
        .filter_map(|engine| Some((engine, engine.cells.get(test)?)))
        .collect();
    let slowest = cells
        .iter()
        .filter_map(|(_, cell)| cell.wall_s)
        .fold(f64::MIN_POSITIVE, f64::max);
    let of_test = |engine: &EngineSummary| engine.cells.get(test)?.wall_ratio;
    cells
        .into_iter()
        .map(|(engine, cell)| CardRow {
            name: engine.profile.name.clone(),
            wall: seconds(cell.wall_s),
            bar: format!("{:.1}%", cell.wall_s.unwrap_or(0.0) / slowest * 100.0),
            cpu: seconds(cell.cpu_s),
            ratio: RatioText::of(comparison, engine, of_test),
            wrong: cell.wrong.clone(),
        })
        .collect()
}
