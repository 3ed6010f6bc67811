//! `strongroom doctor`: diagnoses a file.

use crate::error_text::in_one_line;
use crate::key_arguments::KeyArguments;
use crate::terminal::Bar;
use clap::Parser;
use page_codec::header::REGION_SIZE;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::KeyToken;
use store::doctor::{Diagnosis, Weight, What, diagnose};
use store::inspect::Inspection;

/// Say what a file is, what is wrong with it, and what to do
///
/// Nothing is changed, and no key is asked for. With a key every page is opened as well. Status 0
/// means that nothing is wrong, 1 that something is, 2 that nobody can tell what the file is.
#[derive(Debug, Parser)]
pub struct Args {
    /// File to look at
    file: PathBuf,
    #[command(flatten)]
    key: KeyArguments,
}

/// Exit status if the kind of file is unknown.
const CANNOT_TELL: u8 = 2;

/// Runs `strongroom doctor`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let diagnosis = match look(&args) {
        Ok(diagnosis) => diagnosis,
        Err(error) => {
            eprintln!("strongroom: {}", in_one_line(&error));
            return Ok(ExitCode::from(CANNOT_TELL));
        }
    };
    write_diagnosis(&mut io::stdout().lock(), &args.file, &diagnosis)?;
    Ok(match (diagnosis.is_certain(), diagnosis.problems()) {
        (false, _) => ExitCode::from(CANNOT_TELL),
        (true, 0) => ExitCode::SUCCESS,
        (true, _) => ExitCode::FAILURE,
    })
}

fn look(args: &Args) -> anyhow::Result<Diagnosis> {
    let Some(credential) = args.key.read()? else {
        return Ok(diagnose(&args.file, None, &store::progress::ignored())?);
    };
    let bar = Bar::new()?;
    let token = KeyToken::new(credential);
    Ok(diagnose(&args.file, Some(&token), &bar.progress())?)
}

fn write_diagnosis(output: &mut impl Write, file: &Path, diagnosis: &Diagnosis) -> io::Result<()> {
    let name = file.display();
    match &diagnosis.what {
        What::Missing => writeln!(output, "{name}: there is no such file; check the name")?,
        What::Empty => writeln!(
            output,
            "{name}: an empty file, which whoever opens it makes a new database"
        )?,
        What::Plain {
            page_size,
            file_size,
        } => writeln!(
            output,
            "{name}: a plain SQLite database, not encrypted ({file_size} bytes, pages of \
             {page_size} bytes)"
        )?,
        What::Encrypted(inspection) => write_encrypted(output, file, inspection)?,
        What::Unusable => writeln!(output, "{name}: a Strongroom database that cannot be used")?,
        What::Unknown => writeln!(output, "{name}: nobody can tell")?,
    }
    for finding in &diagnosis.findings {
        let weight = match finding.weight() {
            Weight::Advice => "advice",
            Weight::Problem => "problem",
        };
        writeln!(output, "{weight}: {finding}")?;
    }
    match (&diagnosis.what, diagnosis.pages_checked) {
        (_, Some(pages)) => writeln!(output, "pages opened: {pages}")?,
        (What::Encrypted(_), None) => writeln!(
            output,
            "pages were not opened: with --key-file or the like each one is"
        )?,
        _ => {}
    }
    match diagnosis.problems() {
        0 if diagnosis.is_certain() => writeln!(output, "nothing is wrong"),
        0 => Ok(()),
        1 => writeln!(output, "1 problem"),
        problems => writeln!(output, "{problems} problems"),
    }
}

fn write_encrypted(
    output: &mut impl Write,
    file: &Path,
    inspection: &Inspection,
) -> io::Result<()> {
    let body = inspection.file_size.saturating_sub(REGION_SIZE as u64);
    writeln!(
        output,
        "{}: an encrypted database of Strongroom (format version {}, {}, {} pages of {} bytes)",
        file.display(),
        inspection.format_version,
        inspection.cipher,
        body / u64::from(inspection.page_size),
        inspection.page_size
    )?;
    for slot in &inspection.slots {
        writeln!(output, "  key {slot}")?;
    }
    Ok(())
}
