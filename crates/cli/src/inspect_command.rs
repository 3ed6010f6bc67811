//! `strongroom inspect`: shows what is visible in a file without any key, and the kinds of its
//! pages.

use crate::key_arguments::KeyArguments;
use clap::{Parser, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;
use store::KeyToken;
use store::inspect::{Inspection, Kind, Pages, SideFile, inspect, inspect_pages};

/// Show what an encrypted file tells without any key
///
/// With --pages also its pages by epoch, and its log and journal; with --pages and a key, pages by
/// kind as well. Content is never shown.
#[derive(Debug, Parser)]
pub struct Args {
    /// File to look at
    file: PathBuf,
    /// Count the pages; with `=all` name each range of them
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "counts")]
    pages: Option<HowPages>,
    /// Write the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    key: KeyArguments,
}

/// How pages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HowPages {
    /// How many there are of each kind.
    Counts,
    /// Also which.
    All,
}

/// Runs `strongroom inspect`.
pub fn run(args: Args) -> anyhow::Result<()> {
    let inspection = inspect(&args.file)?;
    let pages = match args.pages {
        None => None,
        Some(how) => {
            let token = args.key.read()?.map(KeyToken::new);
            let mut pages = inspect_pages(&args.file, token.as_ref())?;
            if how == HowPages::Counts {
                pages.ranges.clear();
            }
            Some(pages)
        }
    };
    let mut output = io::stdout().lock();
    if args.json {
        let mut value = serde_json::to_value(&inspection)?;
        if let Some(pages) = &pages {
            value["pages"] = serde_json::to_value(pages)?;
        }
        writeln!(output, "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        write_inspection(&mut output, &inspection)?;
        if let Some(pages) = &pages {
            write_pages(&mut output, pages)?;
        }
    }
    Ok(())
}

fn write_pages(output: &mut impl Write, pages: &Pages) -> io::Result<()> {
    match pages.cut_size {
        0 => writeln!(output, "pages        {}", pages.whole)?,
        cut => writeln!(
            output,
            "pages        {} whole, and {cut} bytes of one that was cut off",
            pages.whole
        )?,
    }
    let remark = |epoch| match pages.known_epochs.contains(&epoch) {
        true => "",
        false => "  (no such data key in the header: these do not open)",
    };
    for count in &pages.counts {
        let (kind, epoch) = (name(count.kind), count.epoch);
        writeln!(
            output,
            "  {kind:14} epoch {epoch:<4} {:>10}{}",
            count.pages,
            remark(epoch)
        )?;
    }
    if let Some(reason) = &pages.kinds_unknown {
        writeln!(output, "  kinds are not known: {reason}")?;
    }
    for range in &pages.ranges {
        let numbers = match range.first == range.last {
            true => format!("page {}", range.first),
            false => format!("pages {} to {}", range.first, range.last),
        };
        let (kind, epoch) = (name(range.kind), range.epoch);
        writeln!(
            output,
            "  {numbers:28} {kind:14} epoch {epoch}{}",
            remark(epoch)
        )?;
    }
    write_side_file(output, "log", "frames", pages.log.as_ref())?;
    write_side_file(output, "journal", "records", pages.journal.as_ref())
}

fn name(kind: Option<Kind>) -> String {
    kind.map_or_else(|| "all kinds".to_owned(), |kind| kind.to_string())
}

fn write_side_file(
    output: &mut impl Write,
    what: &str,
    units: &str,
    file: Option<&SideFile>,
) -> io::Result<()> {
    let Some(file) = file else {
        return writeln!(output, "{what:12} none");
    };
    write!(output, "{what:12} {} bytes", file.size)?;
    if !file.has_header {
        return writeln!(output, ", without a header: not in use");
    }
    write!(output, ", {} {units}", file.units)?;
    if file.commits > 0 {
        write!(output, ", {} that end a transaction", file.commits)?;
    }
    for epoch in &file.epochs {
        write!(output, "; epoch {}: {}", epoch.epoch, epoch.count)?;
    }
    writeln!(output)
}

fn write_inspection(output: &mut impl Write, inspection: &Inspection) -> io::Result<()> {
    writeln!(
        output,
        "Strongroom database, format version {}",
        inspection.format_version
    )?;
    writeln!(output, "cipher       {}", inspection.cipher)?;
    writeln!(output, "page size    {} bytes", inspection.page_size)?;
    writeln!(output, "file size    {} bytes", inspection.file_size)?;
    writeln!(output, "file id      {}", inspection.file_id)?;
    writeln!(output, "key epoch    {}", inspection.epoch)?;
    if let Some(former) = inspection.rotating_from {
        writeln!(
            output,
            "rotation     not finished: pages under epoch {former} remain; `strongroom rekey` \
             goes on"
        )?;
    }
    let freshness = if inspection.freshness { "on" } else { "off" };
    writeln!(output, "freshness    {freshness}")?;
    writeln!(output, "header       generation {}", inspection.generation)?;
    for (copy, intact) in inspection.copies_intact.iter().enumerate() {
        let state = match (intact, copy == inspection.copy_in_force) {
            (true, true) => "intact, in force",
            (true, false) => "intact",
            (false, _) => "DAMAGED; the next change of a key writes it anew",
        };
        writeln!(output, "copy {}       {state}", copy + 1)?;
    }
    let (must, may) = (inspection.must_understand, inspection.may_ignore);
    writeln!(
        output,
        "features     {must:#x} must be understood, {may:#x} may be ignored"
    )?;
    for slot in &inspection.slots {
        writeln!(output, "key {slot}")?;
    }
    Ok(())
}
