//! Export for other programs: CSV of every sample, JSON of the evaluation, Markdown to paste.

mod tpcc;

use lab::comparison::{Cell, Comparison, EngineSummary};
use lab::difference::{Change, Difference};
use lab::measure::ServerPart;
use lab::results::Results;
use serde::Serialize;

use crate::finding::{durability_words, sentence};
use crate::format::{MISSING, count_words, date, ratio, seconds};

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A line of CSV.
    #[error("the samples could not be written as CSV; this is a fault of the program")]
    Csv(#[source] csv::Error),
    /// The document.
    #[error("the results could not be written as JSON; this is a fault of the program")]
    Json(#[source] serde_json::Error),
}

/// One test of one pass, as a line of CSV.
#[derive(Serialize)]
struct SampleLine<'a> {
    run: usize,
    workload: &'a str,
    engine: &'a str,
    round: u32,
    place: usize,
    test: u32,
    title: &'a str,
    wall_ns: u64,
    cpu_ns: Option<u64>,
    user_ns: u64,
    system_ns: u64,
    server_user_ns: Option<u64>,
    server_system_ns: Option<u64>,
    server_memory_bytes: Option<u64>,
    peak_memory_bytes: Option<u64>,
    read_bytes: Option<u64>,
    written_bytes: Option<u64>,
    rows: usize,
    answer: &'a str,
    contradiction: Option<&'a str>,
    not_possible: Option<&'a str>,
    way_ns: Option<u64>,
}

/// Every sample, one per line; runs are numbered from 1.
///
/// # Errors
///
/// Only for a bug in the program.
pub fn csv(runs: &[&Results]) -> Result<String, ExportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (results, run) in runs.iter().zip(1..) {
        let workload = &results.header.workload;
        for pass in &results.passes {
            for test in &pass.tests {
                let title = (test.number as usize)
                    .checked_sub(1)
                    .and_then(|place| workload.tests.get(place));
                let sample = &test.sample;
                let server = match sample.server {
                    Some(ServerPart::Yes(usage)) => Some(usage),
                    Some(ServerPart::No) | None => None,
                };
                let line = SampleLine {
                    run,
                    workload: &workload.name,
                    engine: &pass.engine,
                    round: pass.round,
                    place: pass.place,
                    test: test.number,
                    title: title.map_or("", String::as_str),
                    wall_ns: sample.wall_ns,
                    cpu_ns: sample.cpu_ns(),
                    user_ns: sample.user_ns,
                    system_ns: sample.system_ns,
                    server_user_ns: server.map(|server| server.user_ns),
                    server_system_ns: server.map(|server| server.system_ns),
                    server_memory_bytes: server.map(|server| server.memory_bytes),
                    peak_memory_bytes: sample.peak_memory_bytes,
                    read_bytes: sample.read_bytes,
                    written_bytes: sample.written_bytes,
                    rows: test.rows,
                    answer: &test.answer,
                    contradiction: test.contradiction.as_deref(),
                    not_possible: test.not_possible.as_ref().map(|one| one.why.as_str()),
                    way_ns: sample.way_ns,
                };
                writer.serialize(line).map_err(ExportError::Csv)?;
            }
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| ExportError::Csv(error.into_error().into()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The evaluation as one JSON document.
///
/// # Errors
///
/// Only for a bug in the program.
pub fn json(what: &impl Serialize) -> Result<String, ExportError> {
    let text = serde_json::to_string_pretty(what).map_err(ExportError::Json)?;
    Ok(text + "\n")
}

/// A table as Markdown.
struct Table(String);

impl Table {
    fn new(head: &[String]) -> Self {
        let mut table = Self(String::new());
        table.row(head);
        let rules: Vec<String> = (0..head.len())
            .map(|column| if column == 0 { "---" } else { "---:" }.to_owned())
            .collect();
        table.0 += &format!("|{}|\n", rules.join("|"));
        table
    }

    fn row(&mut self, cells: &[String]) {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| {
                cell.replace('\\', "\\\\")
                    .replace('|', "\\|")
                    .replace('\n', " ")
            })
            .collect();
        self.0 += &format!("| {} |\n", cells.join(" | "));
    }
}

/// A run as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let header = &comparison.header;
    let mut text = format!(
        "## {}, {}\n\n{}\n\n{} on {}, {} cores, {}, {} ({}).\n\n",
        header.workload.name,
        date(header.began.unix_seconds),
        sentence(comparison),
        count_words(comparison.rounds, "round"),
        header.machine.cpu,
        header.machine.cores,
        header.machine.operating_system,
        header.machine.disk.file_system,
        header.machine.disk.device,
    );
    if crate::tpcc::is_tpcc(comparison) {
        text += &tpcc::tables(comparison);
    } else {
        text += &engines_table(comparison);
        text.push('\n');
        text += &tests_table(comparison);
    }
    for words in crate::browsers::not_possible(comparison) {
        text += &format!("\n- {words}");
    }
    for engine in &comparison.engines {
        for contradiction in &engine.contradictions {
            text += &format!("\n- {contradiction}");
        }
        for (cell, test) in engine.cells.iter().zip(1..) {
            if let Some(wrong) = &cell.wrong {
                text += &format!("\n- {}, test {test}: {wrong}", engine.profile.name);
            }
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// The published comparison of SQLite in browsers beside these runs, as Markdown; empty if no run
/// is of that kind.
pub fn browsers_markdown(comparisons: &[&Comparison]) -> String {
    let mut text = String::new();
    for table in crate::browsers::tables(comparisons) {
        let mut head = vec!["published as".to_owned(), "engine here".to_owned()];
        for size in &table.sizes {
            head.extend([format!("size {size}, published"), "here".to_owned()]);
        }
        let mut rows = Table::new(&head);
        for row in table.rows {
            let mut cells = vec![row.published, row.engine];
            cells.extend(row.cells.into_iter().flatten());
            rows.row(&cells);
        }
        text += &format!("## SQLite in browsers: {}\n\n{}\n", table.title, rows.0);
    }
    if !text.is_empty() {
        text += crate::browsers::NOTE;
        text.push('\n');
    }
    text + &browser_pairs(comparisons).unwrap_or_default()
}

fn browser_pairs(comparisons: &[&Comparison]) -> Option<String> {
    let pairs = crate::browsers::pairs(comparisons)?;
    let mut head = vec!["engine".to_owned(), "over".to_owned()];
    head.extend(pairs.sizes.iter().map(|size| format!("size {size}")));
    let mut rows = Table::new(&head);
    for row in pairs.rows {
        let mut cells = vec![row.engine.to_owned(), row.base.to_owned()];
        cells.extend(row.cells);
        rows.row(&cells);
    }
    let note = crate::browsers::PAIRS_NOTE;
    Some(format!(
        "\n## SQLite in browsers: engine over engine\n\n{}\n{note}\n",
        rows.0
    ))
}

fn engines_table(comparison: &Comparison) -> String {
    let head = [
        "engine",
        "after a commit",
        "over",
        "wall time",
        "processor time",
        "sum, s",
    ];
    let mut table = Table::new(&head.map(str::to_owned));
    for engine in &comparison.engines {
        table.row(&[
            engine.profile.name.clone(),
            durability_words(engine.profile.durability).to_owned(),
            engine.base.clone().unwrap_or_else(|| MISSING.to_owned()),
            ratio(engine.wall_mean.as_ref()),
            ratio(engine.cpu_mean.as_ref()),
            seconds(engine.wall_total_s),
        ]);
    }
    table.0
}

fn tests_table(comparison: &Comparison) -> String {
    let mut head = vec!["seconds, wall time".to_owned()];
    let engines = &comparison.engines;
    head.extend(engines.iter().map(|engine| engine.profile.name.clone()));
    let mut table = Table::new(&head);
    for (test, title) in comparison.header.workload.tests.iter().enumerate() {
        let cell = |engine: &EngineSummary| {
            let cell: Option<&Cell> = engine.cells.get(test);
            let wrong = cell.is_some_and(|cell| cell.wrong.is_some());
            let mark = if wrong { " wrong" } else { "" };
            format!("{}{mark}", seconds(cell.and_then(|cell| cell.wall_s)))
        };
        let mut row = vec![format!("{} {title}", test + 1)];
        row.extend(engines.iter().map(cell));
        table.row(&row);
    }
    table.0
}

/// Every test of two runs, as CSV.
///
/// # Errors
///
/// Only for a bug in the program.
pub fn difference_csv(difference: &Difference) -> Result<String, ExportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut line = |cells: Vec<String>| writer.write_record(cells).map_err(ExportError::Csv);
    let head = [
        "engine",
        "test",
        "title",
        "wall_ratio",
        "wall_low",
        "wall_high",
        "cpu_ratio",
        "cpu_low",
        "cpu_high",
        "regression",
    ];
    line(head.map(str::to_owned).to_vec())?;
    for engine in &difference.engines {
        let mean = ("", "geometric mean".to_owned(), engine.mean);
        let tests = engine.tests.iter().map(|test| {
            let regression = test.change.regression || test.wrong.is_some();
            let change = Change {
                regression,
                ..test.change
            };
            (test.number.to_string(), test.title.clone(), change)
        });
        let all = std::iter::once((mean.0.to_owned(), mean.1, mean.2)).chain(tests);
        for (number, title, change) in all {
            let mut cells = vec![engine.engine.clone(), number, title];
            for ratio in [change.wall, change.cpu] {
                let end = |pick: fn((f64, f64)) -> f64| {
                    let interval = ratio.and_then(|ratio| ratio.interval);
                    interval.map_or_else(String::new, |ends| pick(ends).to_string())
                };
                cells.push(ratio.map_or_else(String::new, |ratio| ratio.value.to_string()));
                cells.push(end(|ends| ends.0));
                cells.push(end(|ends| ends.1));
            }
            cells.push(change.regression.to_string());
            line(cells)?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| ExportError::Csv(error.into_error().into()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Two runs as Markdown.
pub fn difference_markdown(difference: &Difference) -> String {
    let mut text = format!("## {}\n\n", crate::changes::sentence(difference));
    let head = ["engine", "test", "wall time", "processor time", ""];
    let mut table = Table::new(&head.map(str::to_owned));
    for engine in &difference.engines {
        let mut row = |test: String, change: &Change, wrong: bool| {
            table.row(&[
                engine.engine.clone(),
                test,
                ratio(change.wall.as_ref()),
                ratio(change.cpu.as_ref()),
                crate::changes::word(change, wrong).to_owned(),
            ]);
        };
        row("geometric mean".to_owned(), &engine.mean, false);
        for test in &engine.tests {
            let title = format!("{} {}", test.number, test.title);
            row(title, &test.change, test.wrong.is_some());
        }
    }
    text += &table.0;
    for note in crate::changes::notes(difference) {
        text += &format!("\n- {note}");
    }
    text.trim_end().to_owned() + "\n"
}
