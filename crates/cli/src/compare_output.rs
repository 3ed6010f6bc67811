//! The final output of `strongroom compare`, and functions shared by commands about runs.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use lab::comparison::{Comparison, compare};
use lab::engine::Mode;
use lab::results::Results;
use lab::run::{Outcome, RESULTS_FILE};
use serde::Serialize;
use workloads::Spec;

/// Name of the page in the folder of a run.
pub const PAGE_FILE: &str = "report.html";

/// How the result of a run is reported.
pub struct Output<'a> {
    /// Folder of the run.
    pub folder: &'a Path,
    /// The run has few rounds because that was requested.
    pub quick: bool,
    /// Write only the page.
    pub quiet: bool,
    /// Print one JSON document.
    pub json: bool,
}

/// The result as one document.
#[derive(Serialize)]
struct Document<'a> {
    page: &'a Path,
    samples: &'a Path,
    passes_resumed: usize,
    sentence: String,
    comparison: &'a Comparison,
}

impl Output<'_> {
    /// Writes the page again from the samples in the folder.
    pub fn redraw(&self) -> anyhow::Result<()> {
        let path = self.folder.join(RESULTS_FILE);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read the samples in {}", path.display()))?;
        let results = Results::parse(&text)
            .with_context(|| format!("cannot read the samples in {}", path.display()))?;
        self.report(&Outcome {
            results,
            passes_resumed: 0,
            rounds_left_out: 0,
            set_aside: None,
        })
    }

    /// Writes the page and prints the result.
    pub fn report(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let comparison = compare(&outcome.results);
        let samples = self.folder.join(RESULTS_FILE);
        let text = fs::read_to_string(&samples)
            .with_context(|| format!("cannot read the samples in {}", samples.display()))?;
        let page = lab_report::page::html(&[lab_report::page::Run {
            comparison: &comparison,
            command: &command(&comparison),
            samples: &text,
        }])?;
        let path = self.folder.join(PAGE_FILE);
        write_whole(&path, &page).with_context(|| format!("cannot write {}", path.display()))?;
        let sentence = lab_report::finding::sentence(&comparison);
        if self.json {
            say(&lab_report::export::json(&Document {
                page: &path,
                samples: &samples,
                passes_resumed: outcome.passes_resumed,
                sentence,
                comparison: &comparison,
            })?)?;
            return all_took_part(&comparison);
        }
        if self.quiet {
            return all_took_part(&comparison);
        }
        let mut text = lab_report::terminal::table(&comparison, terminal_width());
        text += "\n\n";
        if let Some((older, why)) = &outcome.set_aside {
            text += &format!(
                "An earlier run was not continued ({why}); its samples are kept in {}.\n",
                older.display()
            );
        }
        if outcome.passes_resumed > 0 {
            text += &format!(
                "Continued a run: {} of {} passes were there already.\n",
                outcome.passes_resumed,
                outcome.results.passes.len()
            );
        }
        if self.quick {
            text += &quick_note(outcome.rounds_left_out);
        }
        text += &format!(
            "{sentence}\nThe page is {}, every sample is in {}.\n",
            path.display(),
            samples.display()
        );
        say(&text)?;
        all_took_part(&comparison)
    }
}

/// What a quick run is not.
fn quick_note(rounds_left_out: u32) -> String {
    let fewer = match rounds_left_out {
        0 => String::new(),
        left => {
            format!(", and {left} of them did not fit into a minute; the same command makes more")
        }
    };
    format!(
        "This was a quick run: its rounds are too few for intervals{fewer}. Leave out `--quick` \
         for a whole one.\n"
    )
}

/// Fails if an engine has not completed a single pass: nothing was compared with it.
fn all_took_part(comparison: &Comparison) -> anyhow::Result<()> {
    let without = comparison
        .engines
        .iter()
        .filter(|engine| engine.passes == 0);
    let without: Vec<String> = without
        .map(|engine| {
            let why = engine
                .failures
                .first()
                .map_or("it had none", String::as_str);
            format!("{} did not end a pass: {why}", engine.profile.name)
        })
        .collect();
    ensure!(without.is_empty(), "{}", without.join("; "));
    Ok(())
}

/// Writes to standard output; a closed pipe is not an error.
pub fn say(text: &str) -> anyhow::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Writes a new file and renames it, so that an older file stays complete until then.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

/// The command line that repeats this run.
pub fn command(comparison: &Comparison) -> String {
    let header = &comparison.header;
    let names: Vec<&str> = header
        .engines
        .iter()
        .map(|engine| engine.name.as_str())
        .collect();
    let workload = match &header.workload.spec {
        Spec::Custom { folder, .. } => quoted(folder).into_owned(),
        spec => spec.arguments(),
    };
    let features = if names.iter().any(|name| lab_engines::needs_servers(name)) {
        " --features full"
    } else {
        ""
    };
    let mut command = format!(
        "cargo run --release{features} -- compare --workload {workload} --repetitions {} --seed {}",
        comparison.rounds, header.seed
    );
    if names != lab_engines::DEFAULT {
        command += &format!(" --engines {}", names.join(","));
    }
    if header.mode == Mode::Script {
        command += " --mode script";
    }
    for argument in &header.engine_arguments {
        command += &format!(" {}", quoted(argument));
    }
    command
}

/// A word, quoted for a shell.
pub fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

pub fn terminal_width() -> u16 {
    terminal_size::terminal_size().map_or(lab_report::terminal::DEFAULT_WIDTH, |(width, _)| width.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, shown) in [
            ("/usr/lib/libsqlite3.so.0", "/usr/lib/libsqlite3.so.0"),
            ("my app", "'my app'"),
            ("key = '…'", r"'key = '\''…'\'''"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
