//! The table at the end of a run.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::statistics::Ratio;

use crate::format::{interval, seconds, times};

/// Width of a table where the terminal does not tell its own, columns.
pub const DEFAULT_WIDTH: u16 = 120;

/// Seconds per test and engine, and the ratios of the engines that have a base.
pub fn table(comparison: &Comparison, width: u16) -> String {
    let contenders: Vec<&EngineSummary> = comparison
        .engines
        .iter()
        .filter(|engine| engine.base.is_some())
        .collect();
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    let mut head = vec!["test".to_owned()];
    head.extend(
        comparison
            .engines
            .iter()
            .map(|engine| format!("{} s", engine.profile.name)),
    );
    head.extend(contenders.iter().map(|engine| {
        format!(
            "{} / {}",
            engine.profile.name,
            engine.base.as_deref().unwrap_or_default()
        )
    }));
    let columns = head.len();
    table.set_header(head);
    for (test, title) in comparison.header.workload.tests.iter().enumerate() {
        let mut row = vec![format!("{} {title}", test + 1)];
        row.extend(
            comparison
                .engines
                .iter()
                .map(|engine| time(engine.cells.get(test))),
        );
        row.extend(
            contenders
                .iter()
                .map(|engine| ratio_of(engine.cells.get(test))),
        );
        table.add_row(row);
    }
    let mut sum = vec!["sum of all tests".to_owned()];
    sum.extend(
        comparison
            .engines
            .iter()
            .map(|engine| seconds(engine.wall_total_s)),
    );
    sum.resize(columns, String::new());
    table.add_row(sum);
    for (label, pick) in MEANS {
        let mut row = vec![label.to_owned()];
        row.resize(columns - contenders.len(), String::new());
        row.extend(contenders.iter().map(|engine| ratio(pick(engine).as_ref())));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = table.to_string();
    for note in notes(comparison) {
        text.push('\n');
        text += &note;
    }
    text
}

type Pick = fn(&EngineSummary) -> Option<Ratio>;

const MEANS: [(&str, Pick); 2] = [
    ("mean ratio, wall time", |engine| engine.wall_mean),
    ("mean ratio, processor time", |engine| engine.cpu_mean),
];

fn time(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else {
        return seconds(None);
    };
    let mark = if cell.wrong.is_some() { " WRONG" } else { "" };
    format!("{}{mark}", seconds(cell.wall_s))
}

fn ratio_of(cell: Option<&Cell>) -> String {
    match cell {
        Some(cell) if cell.wrong.is_some() => "wrong answer".to_owned(),
        Some(cell) => ratio(cell.wall_ratio.as_ref()),
        None => ratio(None),
    }
}

fn ratio(ratio: Option<&Ratio>) -> String {
    let Some(ratio) = ratio else {
        return seconds(None);
    };
    match interval(ratio) {
        Some(interval) => format!("{} ({interval})", times(ratio.value)),
        None => times(ratio.value),
    }
}

/// What went wrong, a line each.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for engine in &comparison.engines {
        let name = &engine.profile.name;
        for (cell, test) in engine.cells.iter().zip(1..) {
            if let Some(reason) = &cell.wrong {
                notes.push(format!("{name}, test {test}: wrong answer: {reason}"));
            }
        }
        if let Some(failure) = engine.failures.first() {
            notes.push(format!(
                "{name}: {} passes failed: {failure}",
                engine.failures.len()
            ));
        }
    }
    notes
}
