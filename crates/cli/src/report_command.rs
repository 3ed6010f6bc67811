//! `strongroom report`: renders the results of runs again, or in another format.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use lab::comparison::{Comparison, compare};
use lab::difference::difference;
use lab::results::Results;
use lab::run::RESULTS_FILE;

use crate::compare_output::{PAGE_FILE, command, say, terminal_width, write_whole};
use crate::error_text::{in_one_line, is_broken_pipe};

/// Exit status if two runs could not be compared; 1 is a regression.
const STATUS_ERROR: u8 = 2;

/// Draw the page of runs again, export them, or compare two of them
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<SubCommand>,

    /// Runs: folders that `compare` wrote, or their results files, or a folder of such folders
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    /// What to make: the page, every sample as CSV, or what is said as JSON or Markdown
    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,

    /// File to write [default: the page goes to `report.html` in the folder of the run, or in this
    /// folder where there are several; everything else to standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum SubCommand {
    /// Compare two runs of the same workload; the exit status is 1 where the second is slower
    Diff(DiffArgs),
}

#[derive(Debug, Parser)]
struct DiffArgs {
    /// The earlier run: its folder or its results file
    before: PathBuf,

    /// The later run
    after: PathBuf,

    /// By how much time may grow before it is a regression
    #[arg(long, default_value = "5%", value_name = "SHARE", value_parser = share)]
    threshold: f64,

    /// What to print: a table, or every test as CSV, JSON or Markdown
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    format: DiffFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Html,
    Csv,
    Json,
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    Text,
    Csv,
    Json,
    Markdown,
}

/// Parses "5%" or "0.05".
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map(|number| number / unit);
    match share {
        Ok(share) if share.is_finite() && share >= 0.0 => Ok(share),
        _ => Err("a share is `5%` or `0.05`".to_owned()),
    }
}

/// Runs `strongroom report`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        None => draw(&args).map(|()| ExitCode::SUCCESS),
        Some(SubCommand::Diff(args)) => match diff(&args) {
            Ok(code) => Ok(code),
            Err(error) if is_broken_pipe(&error) => Ok(ExitCode::FAILURE),
            Err(error) => {
                // Nobody reads it: the exit status still shows the result.
                drop(writeln!(
                    io::stderr(),
                    "strongroom: {}",
                    in_one_line(&error)
                ));
                Ok(STATUS_ERROR.into())
            }
        },
    }
}

/// A results file, with its text.
struct Run {
    folder: PathBuf,
    text: String,
    results: Results,
}

/// Reads the run in a folder, or a results file itself.
fn read(path: &Path) -> anyhow::Result<Run> {
    let file = if path.is_dir() {
        path.join(RESULTS_FILE)
    } else {
        path.to_owned()
    };
    let bytes =
        fs::read(&file).with_context(|| format!("there is no run in {}", path.display()))?;
    let text = String::from_utf8(bytes)
        .ok()
        .with_context(|| format!("{} is not a results file of `compare`", file.display()))?;
    let results =
        Results::parse(&text).with_context(|| format!("cannot read {}", file.display()))?;
    ensure!(
        !results.passes.is_empty(),
        "{} holds no pass; `compare --resume` continues the run",
        file.display()
    );
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    Ok(Run {
        folder,
        text,
        results,
    })
}

/// The run at a path, or those in its subfolders, in the order in which they began.
fn read_all(path: &Path) -> anyhow::Result<Vec<Run>> {
    let holds_run = |folder: &Path| folder.join(RESULTS_FILE).is_file();
    if !path.is_dir() || holds_run(path) {
        return Ok(vec![read(path)?]);
    }
    let below = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let below: Vec<PathBuf> = below.collect::<io::Result<_>>()?;
    let below = below.iter().filter(|folder| holds_run(folder));
    let mut runs: Vec<Run> = below
        .map(|folder| read(folder))
        .collect::<anyhow::Result<_>>()?;
    if runs.is_empty() {
        return Ok(vec![read(path)?]);
    }
    runs.sort_by_key(|run| run.results.header.began.unix_seconds);
    Ok(runs)
}

/// Renders the page of the runs in this folder's subfolders.
pub fn draw_below(folder: &Path) -> anyhow::Result<()> {
    draw(&Args {
        command: None,
        runs: vec![folder.to_owned()],
        format: Format::Html,
        out: Some(folder.join(PAGE_FILE)),
    })
}

fn draw(args: &Args) -> anyhow::Result<()> {
    let mut runs: Vec<Run> = Vec::new();
    for path in &args.runs {
        runs.extend(read_all(path)?);
    }
    let comparisons: Vec<Comparison> = runs.iter().map(|run| compare(&run.results)).collect();
    let text = match args.format {
        Format::Html => return page(args, &runs, &comparisons),
        Format::Csv => {
            let results: Vec<&Results> = runs.iter().map(|run| &run.results).collect();
            lab_report::export::csv(&results)?
        }
        Format::Json => match comparisons.as_slice() {
            [one] => lab_report::export::json(one)?,
            several => lab_report::export::json(&several)?,
        },
        Format::Markdown => {
            let all: Vec<&Comparison> = comparisons.iter().collect();
            let browsers = lab_report::export::browsers_markdown(&all);
            let texts = comparisons.iter().map(lab_report::export::markdown);
            let texts = std::iter::once(browsers).chain(texts);
            let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
    };
    match &args.out {
        None => say(&text),
        Some(path) => {
            write_whole(path, &text).with_context(|| format!("cannot write {}", path.display()))
        }
    }
}

fn page(args: &Args, runs: &[Run], comparisons: &[Comparison]) -> anyhow::Result<()> {
    let commands: Vec<String> = comparisons.iter().map(command).collect();
    let sections: Vec<lab_report::page::Run<'_>> = runs
        .iter()
        .zip(comparisons)
        .zip(&commands)
        .map(|((run, comparison), command)| lab_report::page::Run {
            comparison,
            command,
            samples: &run.text,
        })
        .collect();
    let page = lab_report::page::html(&sections)?;
    let path = match (&args.out, runs) {
        (Some(path), _) => path.clone(),
        (None, [one]) => one.folder.join(PAGE_FILE),
        (None, _) => PathBuf::from(PAGE_FILE),
    };
    write_whole(&path, &page).with_context(|| format!("cannot write {}", path.display()))?;
    say(&format!("The page is {}.\n", path.display()))
}

fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let [before, after] = [read(&args.before)?, read(&args.after)?];
    if before.text == after.text {
        bail!("both are the same run; give two runs of the same workload");
    }
    let difference = difference(&before.results, &after.results, args.threshold)?;
    let text = match args.format {
        DiffFormat::Text => lab_report::changes::table(&difference, terminal_width()),
        DiffFormat::Csv => lab_report::export::difference_csv(&difference)?,
        DiffFormat::Json => lab_report::export::json(&difference)?,
        DiffFormat::Markdown => lab_report::export::difference_markdown(&difference),
    };
    say(&text)?;
    Ok(if difference.regressions().is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_per_cent_or_a_number() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("2.5 %"), Ok(0.025));
        assert_eq!(share("0.1"), Ok(0.1));
        for wrong in ["", "%", "-5%", "five", "NaN", "inf"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
