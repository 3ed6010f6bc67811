//! `suites`: SQLite's own tests under our extension, beside SQLite without it.

mod build;
mod process;
mod script;
mod source;
mod veryquick;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Subcommand, ValueEnum};

use self::script::{Bench, Mode};
use crate::workspace;

/// Whose tests.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// SQLite's, from Debian's source package.
    Sqlite(SqliteOptions),
}

#[derive(clap::Args)]
struct SqliteOptions {
    /// Run this part alone; may be given several times.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Run the scripts of `veryquick` whose name begins so; may be given several times.
    #[arg(long, value_name = "PREFIX")]
    script: Vec<String>,
    /// How many scripts run at once; without it as many as there are cores.
    #[arg(long)]
    jobs: Option<usize>,
}

/// A part of SQLite's tests.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Part {
    /// The scripts of the set that SQLite's authors call so.
    Veryquick,
}

/// Runs what was asked for.
pub fn run(options: &Options) -> anyhow::Result<()> {
    match &options.suite {
        Suite::Sqlite(options) => sqlite(options),
    }
}

fn sqlite(options: &SqliteOptions) -> anyhow::Result<()> {
    let bench = bench(&["testfixture"])?;
    let jobs = options.jobs.unwrap_or_else(cores);
    let mut scripts = bench.list()?;
    if !options.script.is_empty() {
        let wanted = |name: &str| options.script.iter().any(|prefix| name.starts_with(prefix));
        scripts.retain(|name| wanted(name));
    }
    let mut outcomes = Vec::new();
    for mode in Mode::ALL {
        outcomes.push(veryquick::run(&bench, mode, &scripts, jobs)?);
    }
    let found = veryquick::differences(&outcomes[2], &[&outcomes[0], &outcomes[1]]);
    for (script, tests) in found {
        println!("{script}: {tests:?}");
    }
    Ok(())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

fn bench(programs: &[&str]) -> anyhow::Result<Bench> {
    let work = workspace::target_folder()?.join("suites");
    fs::create_dir_all(&work)?;
    let source = source::fetch(&work)?;
    println!("SQLite {}", source.version);
    let built = build::build(&work, &source, programs)?;
    Ok(Bench {
        fixture: built.program("testfixture"),
        scripts: source.folder.join("test"),
        extension: built.extension,
        key: key(&work)?,
        work,
    })
}

/// A key for files that live as long as a test.
fn key(work: &Path) -> anyhow::Result<PathBuf> {
    let path = work.join("test.key");
    fs::write(&path, "5a".repeat(32)).with_context(|| format!("cannot write {}", path.display()))?;
    let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&path, owner)?;
    Ok(path)
}
