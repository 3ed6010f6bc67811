//! `suites`: SQLite's own tests under our extension, compared with SQLite without it; all tests in
//! browsers; all tests of protected columns on the newest PostgreSQL.

pub mod build;
mod cluster;
mod debian;
mod differences;
mod django;
mod mariadb;
mod modes;
mod postgres;
mod programs;
mod psycopg;
mod pytest;
mod python;
mod script;
mod servers;
mod slice;
mod source;
mod sqlalchemy;
mod sqlsmith;
mod veryquick;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};

use self::build::Profile;
use self::differences::{Comparison, Found, List};
use self::programs::Programs;
use self::script::{Bench, Mode};
use self::veryquick::Outcomes;
use crate::workspace;
use crate::{browser, newest};

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
    /// Ours in browsers, with every end in the midst of commits.
    Browser(browser::Options),
    /// Django's, with the server and through the proxy with all columns protected.
    Django(django::Options),
    /// PostgreSQL's, with the server and through the proxy with rules that no test concerns.
    Postgres(postgres::Options),
    /// Those of psycopg, likewise.
    Psycopg(psycopg::Options),
    /// SQLAlchemy's of its dialect for PostgreSQL, likewise.
    Sqlalchemy(sqlalchemy::Options),
    /// Statements of SQLsmith, with the server and through the proxy with all columns protected.
    Sqlsmith(sqlsmith::Options),
    /// Ours of protected columns, with all clients, on the newest PostgreSQL.
    Newest,
    /// Ours of clusters: the server that has all sessions is killed under load.
    Cluster,
}

#[derive(clap::Args, Default)]
struct SqliteOptions {
    /// Run this part alone; may be given several times. Without it all but the slice run.
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    /// Of `veryquick`, run the scripts whose name begins so; may be given several times.
    #[arg(long, value_name = "PREFIX")]
    script: Vec<String>,
    /// How many scripts run at once; without it as many as there are cores.
    #[arg(long)]
    jobs: Option<usize>,
    /// Take from the last run what stock SQLite did, where it ran; our side runs again.
    #[arg(long)]
    keep_stock: bool,
    /// Take the source package of this release of Debian, such as `sid`, in place of the machine's.
    #[arg(long, value_name = "RELEASE")]
    debian: Option<String>,
}

/// A part of SQLite's tests.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Part {
    /// The scripts of the set that SQLite's authors call so.
    Veryquick,
    /// Many processes on one database.
    Mptest,
    /// Blobs by key.
    Kvtest,
    /// Threads with connections of their own.
    Threadtest3,
    /// SQLite's own measurement: the ratio to stock is printed.
    Speedtest1,
    /// What belongs to `cargo xtask test`: chosen scripts, and `mptest`.
    Slice,
}

impl Part {
    /// The programs to build for it.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Part::Veryquick => &["testfixture"],
            Part::Mptest => &["mptester"],
            Part::Kvtest => &["kvtest"],
            Part::Threadtest3 => &["threadtest3"],
            Part::Speedtest1 => &["speedtest1"],
            Part::Slice => &["testfixture", "mptester"],
        }
    }
}

/// The tests that may fail under our extension, with reasons.
const LIST: &str = "xtask/suites/sqlite-differences.toml";

/// Runs what was asked for.
pub fn run(options: &Options) -> anyhow::Result<()> {
    match &options.suite {
        Suite::Sqlite(options) => sqlite(options),
        Suite::Browser(options) => browser::run(options),
        Suite::Django(options) => django::run(options),
        Suite::Postgres(options) => postgres::run(options),
        Suite::Psycopg(options) => psycopg::run(options),
        Suite::Sqlalchemy(options) => sqlalchemy::run(options),
        Suite::Sqlsmith(options) => sqlsmith::run(options),
        Suite::Newest => newest::run(),
        Suite::Cluster => cluster::run(),
    }
}

/// The part of `cargo xtask test`.
pub fn run_slice() -> anyhow::Result<()> {
    sqlite(&SqliteOptions {
        only: vec![Part::Slice],
        ..SqliteOptions::default()
    })
}

fn sqlite(options: &SqliteOptions) -> anyhow::Result<()> {
    let all = Part::value_variants().iter().copied();
    let wanted = |part: &Part| match options.only.as_slice() {
        [] => *part != Part::Slice,
        only => only.contains(part),
    };
    let parts: Vec<Part> = all.filter(wanted).collect();
    let release = options.debian.as_deref();
    let folder = release.map_or_else(|| "suites".to_owned(), |name| format!("suites-{name}"));
    let work = workspace::target_folder()?.join(folder);
    fs::create_dir_all(&work)?;
    let source = source::fetch(&work, release)?;
    println!("SQLite {}", source.version);
    let mut names: Vec<_> = parts.iter().flat_map(|part| part.programs()).collect();
    names.dedup();
    let names: Vec<_> = names.into_iter().copied().collect();
    let profile = match parts.as_slice() {
        [Part::Slice] => Profile::Debug,
        _ => Profile::Release,
    };
    let built = build::build(&work, &source, &names, profile)?;
    let user = script::user(&source.folder);
    let bench = Bench {
        fixture: built.program("testfixture"),
        scripts: source.folder.join("test"),
        extension: built.extension,
        key: key(&work, user)?,
        user,
        work,
        version: source.version,
    };
    let programs = Programs {
        bench: &bench,
        folder: built.folder,
        source: source.folder,
    };
    // Every part runs, even if an earlier one has failed; the final message names the failed ones.
    let mut failed = Vec::new();
    for part in parts {
        let result = match part {
            Part::Veryquick => whole(&bench, options),
            Part::Mptest => programs.mptest(20),
            Part::Kvtest => programs.kvtest(),
            Part::Threadtest3 => programs.threadtest3(),
            Part::Speedtest1 => programs.speedtest1(5, 100),
            Part::Slice => slice(&bench, options).and(programs.mptest(2)),
        };
        if let Err(error) = result {
            println!("{part:?}: {error:#}");
            failed.push(format!("{part:?}").to_lowercase());
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// All scripts of `veryquick` in all modes.
fn whole(bench: &Bench, options: &SqliteOptions) -> anyhow::Result<()> {
    let list = List::read(Path::new(LIST), &bench.version)?;
    let mut suite = bench.list()?;
    suite.extend(slice::BESIDE.iter().map(|&script| script.to_owned()));
    let unknown = list.unknown(&suite);
    if !unknown.is_empty() {
        bail!(
            "{LIST} names scripts that are not in the suite: {}",
            unknown.join(", ")
        );
    }
    let mut scripts = suite;
    if !options.script.is_empty() {
        scripts.retain(|name| options.script.iter().any(|prefix| name.starts_with(prefix)));
    }
    let outcomes = |mode: Mode| -> anyhow::Result<Outcomes> {
        let kept = match options.keep_stock && mode != Mode::Strongroom {
            true => veryquick::read(&bench.work, mode)?,
            false => Outcomes::new(),
        };
        let missing: Vec<String> = scripts
            .iter()
            .filter(|script| !kept.contains_key(*script))
            .cloned()
            .collect();
        let mut outcomes = veryquick::run(bench, mode, &missing, jobs(options))?;
        outcomes.extend(kept);
        println!("{}", veryquick::summary(mode, &outcomes));
        if options.script.is_empty() {
            veryquick::write(&bench.work, mode, &outcomes)?;
        }
        Ok(outcomes)
    };
    let others = [outcomes(Mode::Stock)?, outcomes(Mode::Reserved)?];
    let ours = outcomes(Mode::Strongroom)?;
    let found = veryquick::differences(&ours, &[&others[0], &others[1]]);
    judge(bench, &list, &ours, &found)
}

/// The selected scripts under our extension; without it only those with failures that are not
/// listed.
fn slice(bench: &Bench, options: &SqliteOptions) -> anyhow::Result<()> {
    let list = List::read(Path::new(LIST), &bench.version)?;
    let mut scripts = bench.list()?;
    scripts.retain(|script| slice::has(script));
    let jobs = jobs(options);
    let ours = veryquick::run(bench, Mode::Strongroom, &scripts, jobs)?;
    println!("{}", veryquick::summary(Mode::Strongroom, &ours));
    let mut found = veryquick::differences(&ours, &[]);
    let ran = ours.keys().cloned().collect();
    let new = list.compare(&ran, &found).new;
    let unexplained: BTreeSet<String> = new.into_iter().map(|(script, _)| script).collect();
    let unexplained: Vec<String> = unexplained.into_iter().collect();
    if !unexplained.is_empty() {
        let stock = veryquick::run(bench, Mode::Stock, &unexplained, jobs)?;
        let reserved = veryquick::run(bench, Mode::Reserved, &unexplained, jobs)?;
        found = veryquick::differences(&ours, &[&stock, &reserved]);
    }
    judge(bench, &list, &ours, &found)
}

/// Compares the results with the list, and prints the differences.
fn judge(bench: &Bench, list: &List, ours: &Outcomes, found: &Found) -> anyhow::Result<()> {
    let ran = ours.keys().cloned().collect();
    let comparison = list.compare(&ran, found);
    let counts = comparison.counts.iter();
    for (why, tests, scripts) in counts.filter(|(_, tests, _)| *tests > 0) {
        println!("{tests} tests of {scripts} scripts differ: {why}");
    }
    let report = report(bench, &comparison)?;
    let path = bench.work.join("differences.txt");
    fs::write(&path, report)?;
    let Comparison { new, gone, .. } = &comparison;
    for (script, test) in new.iter().take(SHOWN) {
        println!("new: {script} {test}");
    }
    for (script, test) in gone.iter().take(SHOWN) {
        println!("gone: {script} {test}");
    }
    if !(new.is_empty() && gone.is_empty()) {
        bail!(
            "{} differences are new and {} are gone; {} has them all, and what was expected. Mend \
             what is a defect; what has a good reason belongs into {LIST}, what is gone does not",
            new.len(),
            gone.len(),
            path.display()
        );
    }
    println!("every difference to stock SQLite has a reason");
    Ok(())
}

/// How many differences of a kind are printed; all of them are in a file.
const SHOWN: usize = 40;

fn report(bench: &Bench, comparison: &Comparison) -> anyhow::Result<String> {
    let mut report = String::new();
    for (script, test) in &comparison.gone {
        writeln!(report, "gone {script} {test}")?;
    }
    for (script, test) in &comparison.new {
        let output = fs::read(bench.output(Mode::Strongroom, script))?;
        let output = String::from_utf8_lossy(&output);
        writeln!(
            report,
            "new {script} {test}\n{}",
            script::detail(&output, test)
        )?;
    }
    Ok(report)
}

fn jobs(options: &SqliteOptions) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, |count| count.get());
    options.jobs.unwrap_or_else(cores)
}

/// A key for short-lived test files.
fn key(work: &Path, user: Option<u32>) -> anyhow::Result<PathBuf> {
    let path = work.join("test.key");
    fs::write(&path, "5a".repeat(32))
        .with_context(|| format!("cannot write {}", path.display()))?;
    let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&path, owner)?;
    std::os::unix::fs::chown(&path, user, user)?;
    Ok(path)
}
