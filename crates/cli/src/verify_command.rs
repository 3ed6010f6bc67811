//! `strongroom verify`: verifies every page, and computes the fingerprint of the whole file.

use crate::key_arguments::KeyArguments;
use crate::terminal::Bar;
use clap::Parser;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use store::KeyToken;
use store::verify::{LogReport, Report, VerifyOptions, verify};

/// Open every page of an encrypted database and list those that are bad
///
/// The database may be in use. Status 1 means that something is wrong. A page or a whole file that
/// was put back to an older state opens all the same; to find that, keep the fingerprint elsewhere
/// and give it by --expect.
#[derive(Debug, Parser)]
pub struct Args {
    /// Encrypted database
    file: PathBuf,
    /// Connections that check at the same time [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print one digest of the whole file; holds writers, or in WAL mode checkpoints, meanwhile
    #[arg(long)]
    fingerprint: bool,
    /// Compare the fingerprint with this one, taken before
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    expect: Option<String>,
    /// Bring the content of the write-ahead log into the file first
    #[arg(long)]
    checkpoint: bool,
    /// Write the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    key: KeyArguments,
}

/// Parses a printed fingerprint, in either case.
fn digest(text: &str) -> Result<String, String> {
    const DIGITS: usize = 64;
    let text = text.trim().to_ascii_lowercase();
    if text.len() == DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text)
    } else {
        Err("a fingerprint has 64 hexadecimal digits, as --fingerprint prints them".to_owned())
    }
}

/// Runs `strongroom verify`; status 1 when anything is wrong.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    store::inspect::inspect(&args.file)?;
    let token = KeyToken::new(args.key.open()?);
    let bar = Bar::new()?;
    let options = VerifyOptions {
        jobs: args.jobs,
        fingerprint: args.fingerprint || args.expect.is_some(),
        checkpoint: args.checkpoint,
    };
    let report = verify(&args.file, &token, options, &bar.progress())?;
    drop(bar);
    let as_expected = match (&args.expect, &report.fingerprint) {
        (Some(expected), Some(found)) => Some(expected == found),
        _ => None,
    };
    let mut output = io::stdout().lock();
    if args.json {
        let mut value = serde_json::to_value(&report)?;
        value["sound"] = report.is_sound().into();
        if let Some(as_expected) = as_expected {
            value["as_expected"] = as_expected.into();
        }
        writeln!(output, "{value}")?;
    } else {
        write_report(&mut output, &report)?;
        match (as_expected, &report.fingerprint) {
            (Some(true), _) => writeln!(output, "fingerprint as expected")?,
            (_, Some(fingerprint)) => writeln!(output, "fingerprint {fingerprint}")?,
            (_, None) if options.fingerprint => {
                writeln!(output, "no fingerprint: it is that of a sound file only")?;
            }
            (_, None) => {}
        }
    }
    if as_expected == Some(false) {
        eprintln!(
            "strongroom: {} is not in the state of the expected fingerprint: since that was taken, \
             the database or its keys were changed, or a page, the header or the whole file was \
             put back to an older state",
            args.file.display()
        );
    }
    Ok(match report.is_sound() && as_expected != Some(false) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn write_report(output: &mut impl Write, report: &Report) -> io::Result<()> {
    for bad in &report.bad {
        writeln!(output, "page {} does not open: {}", bad.page, bad.reason)?;
    }
    let (bad, checked) = (report.bad.len(), report.checked);
    match report.pages_missing {
        0 => {}
        missing => {
            let (first, last) = (checked + 1, checked + missing);
            let pages = match missing {
                1 => format!("page {last} is"),
                _ => format!("pages {first} to {last} are"),
            };
            writeln!(output, "{pages} missing: the file was cut")?;
        }
    }
    if let Some(log) = &report.log {
        write_log(output, log)?;
    }
    if let Some(unchecked) = &report.unchecked {
        writeln!(output, "not checked: {unchecked}")?;
    }
    let s = if checked == 1 { "" } else { "s" };
    match (report.is_sound(), bad) {
        (true, _) => writeln!(output, "{checked} page{s} checked, all sound"),
        (false, 0) => writeln!(output, "{checked} page{s} checked; restore from a backup"),
        (false, _) => writeln!(
            output,
            "{checked} page{s} checked, {bad} bad; restore from a backup"
        ),
    }
}

fn write_log(output: &mut impl Write, log: &LogReport) -> io::Result<()> {
    for frame in &log.bad {
        writeln!(
            output,
            "frame {frame} of the log does not open: it was damaged or altered"
        )?;
    }
    let (committed, behind) = (log.committed, log.behind);
    write!(
        output,
        "log: {committed} frames of finished transactions checked"
    )?;
    match behind {
        0 => writeln!(output),
        _ => writeln!(
            output,
            "; {behind} behind them are of a former log or unfinished, and not used"
        ),
    }
}
