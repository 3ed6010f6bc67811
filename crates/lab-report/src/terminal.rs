//! The table at the end of a run.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::probe::Probe;

use crate::finding::durability_word;
use crate::format::{ratio, seconds, times};
use crate::{browsers, page, palette, tpcc};

/// Width of a table if the terminal does not report its own, columns.
pub const DEFAULT_WIDTH: u16 = 80;

/// Rules above, below the heading and at the end, none between the rows.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Seconds per test and engine with the ratios of the main contenders, in as many tables as the
/// width requires; then the means, and the results of the probes.
pub fn table(comparison: &Comparison, width: u16) -> String {
    let width = width.max(WIDTH_MIN);
    let mut text = String::new();
    if tpcc::is_tpcc(comparison) {
        return tpcc_tables(comparison, width);
    }
    for block in blocks(comparison, width) {
        text += &times_table(comparison, &block, width);
        text.push('\n');
    }
    text += &means_table(comparison, width).to_string();
    text.push('\n');
    text += &seen_table(comparison, width).to_string();
    for note in notes(comparison) {
        text.push('\n');
        text += &wrapped(&note, usize::from(width));
    }
    text
}

/// The results of the terminals, a table for each number of them; then their cost, and the tables.
fn tpcc_tables(comparison: &Comparison, width: u16) -> String {
    let mut tables = Vec::new();
    for step in tpcc::steps(comparison) {
        let mut rates = new_table(width);
        let title = step.title.as_str();
        rates.set_header([
            title,
            "per s",
            "lost",
            "published",
            "half",
            "99 %",
            "retries",
        ]);
        let mut costs = new_table(width);
        let head = "processor time each";
        costs.set_header([head, "client", "proxy", "server", "database"]);
        for row in step.rows {
            let [half, _, most, _, _] = row.latency;
            let retries = format!("{} + {}", row.conflicts, row.deadlocks);
            let name = row.name.clone();
            rates.add_row([
                name,
                row.throughput,
                row.lost,
                row.published,
                half,
                most,
                retries,
            ]);
            costs.add_row([row.name, row.client, row.proxy, row.server, row.database]);
        }
        tables.extend([rates, costs]);
    }
    let mut filled = new_table(width);
    filled.set_header(["tables", "filled in", "database", "", "ORIGINAL in files"]);
    for row in tpcc::filled(comparison) {
        let readable = row.readable.to_owned();
        filled.add_row([row.name, row.seconds, row.database, row.growth, readable]);
    }
    tables.push(filled);
    let mut texts: Vec<String> = Vec::new();
    for table in &mut tables {
        align_right(table);
        texts.push(table.to_string());
    }
    let notes = notes(comparison);
    let notes = notes.iter().map(String::as_str).chain([tpcc::NOTE]);
    texts.extend(notes.map(|note| wrapped(note, usize::from(width))));
    texts.join("\n")
}

/// Minimum width of a table.
const WIDTH_MIN: u16 = 60;

/// Maximum width of a test's title in a narrow table.
const TITLE_WIDTH_MAX: usize = 30;

pub(crate) fn new_table(width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table
}

pub(crate) fn align_right(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// One engine in the table of times: its seconds, and its ratio if it is a main contender.
struct Column<'a> {
    engine: &'a EngineSummary,
    ratio: bool,
}

impl Column<'_> {
    /// Its width, with a space on both sides of each part. Names break after a hyphen.
    fn width(&self) -> usize {
        let name = &self.engine.profile.name;
        let words = name.split('-').map(|word| word.chars().count() + 1);
        let seconds = words.max().unwrap_or(0).max(SECONDS_WIDTH) + 2;
        if self.ratio {
            seconds + RATIO_WIDTH + 2
        } else {
            seconds
        }
    }
}

/// Width of a time, and of a ratio.
const SECONDS_WIDTH: usize = 8;
const RATIO_WIDTH: usize = 7;

/// The engines in groups that fit the width. The control is left out, since it appears with the
/// means.
fn blocks(comparison: &Comparison, width: u16) -> Vec<Vec<Column<'_>>> {
    let contenders = palette::shown(comparison);
    let room = usize::from(width) - title_width(comparison) - 2;
    let mut blocks: Vec<Vec<Column<'_>>> = Vec::new();
    let mut left = 0;
    for engine in comparison
        .engines
        .iter()
        .filter(|engine| !engine.profile.control)
    {
        let name = &engine.profile.name;
        let ratio = contenders.iter().any(|one| one.profile.name == *name);
        let column = Column { engine, ratio };
        let needed = column.width();
        match blocks.last_mut().filter(|_| needed <= left) {
            Some(block) => {
                left -= needed;
                block.push(column);
            }
            None => {
                left = room.saturating_sub(needed);
                blocks.push(vec![column]);
            }
        }
    }
    blocks
}

fn title_width(comparison: &Comparison) -> usize {
    let titles = comparison.header.workload.tests.iter();
    let longest = titles.map(|title| title.chars().count() + 3).max();
    longest.unwrap_or(0).clamp(20, TITLE_WIDTH_MAX)
}

fn times_table(comparison: &Comparison, columns: &[Column<'_>], width: u16) -> String {
    let mut table = new_table(width);
    let room = title_width(comparison);
    let mut head = vec!["seconds, wall".to_owned()];
    for column in columns {
        head.push(column.engine.profile.name.replace('-', "-\n"));
        if column.ratio {
            head.push("ratio".to_owned());
        }
    }
    let count = head.len();
    table.set_header(head);
    for (test, title) in comparison.header.workload.tests.iter().enumerate() {
        let mut row = vec![cut(&format!("{} {title}", test + 1), room)];
        for column in columns {
            let cell = column.engine.cells.get(test);
            row.push(time(cell));
            if column.ratio {
                row.push(plain_ratio(cell));
            }
        }
        table.add_row(row);
    }
    let mut sum = vec!["sum of all tests".to_owned()];
    for column in columns {
        sum.push(seconds(column.engine.wall_total_s));
        if column.ratio {
            sum.push(String::new());
        }
    }
    debug_assert_eq!(sum.len(), count);
    table.add_row(sum);
    align_right(&mut table);
    table.to_string()
}

/// The text, truncated to the available width.
fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room - 1).collect();
    format!("{}…", kept.trim_end())
}

/// Wraps between words; a word that is longer than a line gets its own line.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
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

fn token(engine: &EngineSummary) -> &'static str {
    match engine.probe.as_ref().and_then(Probe::readable) {
        Some(true) => "readable",
        Some(false) => "not readable",
        None => "not probed",
    }
}

/// What the engines claim, and the results of their probes.
fn seen_table(comparison: &Comparison, width: u16) -> Table {
    let mut table = new_table(width);
    table.set_header([
        "engine",
        "it is said to be",
        "syncs a commit",
        "token in files",
    ]);
    for engine in &comparison.engines {
        table.add_row([
            engine.profile.name.clone(),
            durability_word(engine.profile.durability).to_owned(),
            page::engines::syncs(engine),
            token(engine).to_owned(),
        ]);
    }
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

fn plain_ratio(cell: Option<&Cell>) -> String {
    match cell.and_then(|cell| cell.wall_ratio) {
        Some(ratio) => times(ratio.value),
        None => seconds(None),
    }
}

/// What went wrong, one per line.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = browsers::not_possible(comparison);
    for engine in &comparison.engines {
        let name = &engine.profile.name;
        for (cell, test) in engine.cells.iter().zip(1..) {
            if let Some(reason) = &cell.wrong {
                notes.push(format!("{name}, test {test}: wrong answer: {reason}"));
            }
        }
        for contradiction in &engine.contradictions {
            notes.push(format!("warning: {contradiction}"));
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
