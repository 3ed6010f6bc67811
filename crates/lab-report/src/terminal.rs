//! The table at the end of a run.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::statistics::Ratio;

use crate::chart;
use crate::format::{interval, seconds, times};

/// Width of a table where the terminal does not tell its own, columns.
pub const DEFAULT_WIDTH: u16 = 120;

/// A line above, below the head and at the end, none between the rows.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Seconds per test and engine with the ratios of the main contenders, then the means.
pub fn table(comparison: &Comparison, width: u16) -> String {
    let mut text = times_table(comparison, width).to_string();
    text.push('\n');
    text += &means_table(comparison, width).to_string();
    for note in notes(comparison) {
        text.push('\n');
        text += &note;
    }
    text
}

fn new_table(width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table
}

fn align_right(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The control has no column of its own: what it tells stands among the means.
fn times_table(comparison: &Comparison, width: u16) -> Table {
    let engines: Vec<&EngineSummary> = comparison
        .engines
        .iter()
        .filter(|engine| !engine.profile.control)
        .collect();
    let contenders: Vec<&EngineSummary> = chart::shown(comparison)
        .into_iter()
        .filter(|engine| !engine.profile.control)
        .collect();
    let mut table = new_table(width);
    let mut head = vec!["seconds, wall time".to_owned()];
    head.extend(engines.iter().map(|engine| engine.profile.name.clone()));
    head.extend(contenders.iter().map(|engine| ratio_name(engine)));
    let columns = head.len();
    table.set_header(head);
    for (test, title) in comparison.header.workload.tests.iter().enumerate() {
        let mut row = vec![format!("{} {title}", test + 1)];
        row.extend(engines.iter().map(|engine| time(engine.cells.get(test))));
        row.extend(
            contenders
                .iter()
                .map(|engine| ratio_of(engine.cells.get(test))),
        );
        table.add_row(row);
    }
    let mut sum = vec!["sum of all tests".to_owned()];
    sum.extend(engines.iter().map(|engine| seconds(engine.wall_total_s)));
    sum.resize(columns, String::new());
    table.add_row(sum);
    align_right(&mut table);
    table
}

fn means_table(comparison: &Comparison, width: u16) -> Table {
    let mut table = new_table(width);
    table.set_header([
        "geometric mean of the ratios",
        "wall time",
        "processor time",
    ]);
    for engine in comparison
        .engines
        .iter()
        .filter(|engine| engine.base.is_some())
    {
        let noise = if engine.profile.control {
            ", the noise"
        } else {
            ""
        };
        table.add_row([
            format!("{}{noise}", ratio_name(engine)),
            ratio(engine.wall_mean.as_ref()),
            ratio(engine.cpu_mean.as_ref()),
        ]);
    }
    align_right(&mut table);
    table
}

fn ratio_name(engine: &EngineSummary) -> String {
    format!(
        "{} / {}",
        engine.profile.name,
        engine.base.as_deref().unwrap_or_default()
    )
}

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
