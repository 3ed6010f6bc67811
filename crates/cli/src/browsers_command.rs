//! `strongroom lab browsers`: repeats the published comparison of SQLite in browsers.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use lab::engine::EngineOptions;

use crate::{compare, report_command};

/// Repeat the published comparison of SQLite in browsers: one run of `compare` for each size, by
/// calls and as scripts, and one page of all
#[derive(Debug, Parser)]
pub struct Args {
    /// Sizes of the workload `speedtest`; those of the page are the default
    #[arg(long, value_delimiter = ',', default_values_t = [2, 10, 25, 50, 100], value_name = "N,…")]
    sizes: Vec<u32>,

    /// Rounds of each run; in each, every engine runs all tests once
    #[arg(long, default_value_t = 5, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// Folder for the page and the runs; runs that are there already are continued
    #[arg(long, default_value = "browser-report", value_name = "DIR")]
    out: PathBuf,

    /// Of the engines these alone, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    only: Vec<String>,
}

/// Modes of passing statements to the engines, as named in `compare`.
const DIRECT: (&str, &[&str]) = ("direct", &lab_engines::BROWSERS_DIRECT);
const SCRIPT: (&str, &[&str]) = ("script", &lab_engines::BROWSERS_SCRIPT);

/// Runs everything.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut failed = None;
    let ways = [DIRECT, SCRIPT].map(|(mode, engines)| (mode, available(engines, &args.only)));
    for size in &args.sizes {
        for (mode, engines) in ways.iter().filter(|(_, engines)| !engines.is_empty()) {
            let folder = args.out.join(format!("{mode}-{size}"));
            print_note(&format!("{mode}, size {size}: {} engines", engines.len()));
            let words = [
                "compare".into(),
                "--workload=speedtest".into(),
                format!("--size={size}").into(),
                "--big-transactions".into(),
                format!("--mode={mode}").into(),
                format!("--repetitions={}", args.repetitions).into(),
                format!("--engines={}", engines.join(",")).into(),
                "--quiet".into(),
                "--out".into(),
                folder.into_os_string(),
            ];
            let run = compare::Args::try_parse_from(words).context("a run of `compare`")?;
            // Continue, since the other sizes are still useful.
            if let Err(error) = compare::run(run) {
                print_note(&format!("{mode}, size {size}: {error:#}"));
                failed = Some(error);
            }
        }
    }
    report_command::draw_below(&args.out)?;
    failed.map_or(Ok(()), Err)
}

/// The engines that can be used here; for the others, prints how to get them.
fn available<'a>(engines: &[&'a str], only: &[String]) -> Vec<&'a str> {
    let options = EngineOptions::default();
    let mut found = Vec::new();
    for &name in engines {
        if !only.is_empty() && only.iter().all(|wanted| wanted != name) {
            continue;
        }
        let engine = lab_engines::named(name, &options);
        match engine.and_then(|engine| engine.missing()) {
            None => found.push(name),
            Some(missing) => print_note(&format!("{name} is left out: {missing}")),
        }
    }
    found
}

fn print_note(text: &str) {
    // Nobody reads standard error: no reason to stop measuring.
    drop(writeln!(io::stderr(), "{text}"));
}
