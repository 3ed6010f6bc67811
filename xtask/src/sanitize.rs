//! `sanitize`: the tests of the crates that talk C, under tools that watch every access.
//!
//! | tool | watches | sees |
//! |---|---|---|
//! | address sanitizer | accesses, lifetimes, leaks | our Rust code, SQLite and the ciphers in C |
//! | memcheck | the same, and use of what was never written | the program as it is |
//!
//! The ciphers choose their code by what the processor tells. Valgrind tells of no instructions
//! that it lacks, such as wide AES, so memcheck sees other code of theirs than a user runs.
//!
//! There is no check for races here. Helgrind does not know Rust's locks, and takes what they
//! protect for unprotected; thread sanitizer wants a standard library that was built with it, which
//! a stable toolchain has not.

use std::path::PathBuf;
use std::process::Command;

use anyhow::bail;
use clap::ValueEnum;
use serde_json::Value;

use crate::command::{program, read, run as run_command, succeeds};
use crate::sanitizer;

/// What is run.
#[derive(clap::Args)]
pub struct Options {
    /// One tool alone.
    #[arg(long, value_name = "TOOL")]
    only: Option<Tool>,
    /// One file of tests alone.
    filter: Option<String>,
}

/// What watches.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Tool {
    Address,
    Memcheck,
}

/// The crate whose tests drive all of the C interface.
const PACKAGE: &str = "strongroom-sqlite-linked";
/// Tests that valgrind runs: one process each, and no deadlines. The others start processes of
/// their own, which are not watched.
const WATCHED: &[&str] = &[
    "basics",
    "features",
    "foreign",
    "journal_modes",
    "keys",
    "keys_of_copies",
    "rotation",
    "tamper",
    "tamper_journals",
];
/// Its own quarantine and stack frames are where the one test looks for what is left, and let the
/// process of the other grow.
const NOT_UNDER_ADDRESS: &[&str] = &["nothing_is_left", "thousands_of_connections"];

/// Valgrind runs one thread at a time, so that readers who never wait keep the processor from the
/// rotations that this test counts: an hour for what takes seconds.
const NOT_UNDER_MEMCHECK: &[&str] = &["readers_keep_up"];

/// Runs one tool, or all.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let tools = Tool::value_variants().iter().copied();
    let tools = tools.filter(|tool| options.only.is_none_or(|only| only == *tool));
    let mut failed = Vec::new();
    for tool in tools {
        println!("{tool:?}");
        let outcome = match tool {
            Tool::Address => address(options.filter.as_deref()),
            Tool::Memcheck => memcheck(options.filter.as_deref()),
        };
        if let Err(error) = outcome {
            println!("{error:#}");
            failed.push(format!("{tool:?}"));
        }
    }
    if !failed.is_empty() {
        bail!("{} found something", failed.join(", "));
    }
    Ok(())
}

/// The part that runs with every test: memcheck on the first things that a user does.
pub fn run_short() -> anyhow::Result<()> {
    memcheck(Some("basics"))
}

fn address(filter: Option<&str>) -> anyhow::Result<()> {
    if !sanitizer::has_runtime("asan")? {
        bail!("this toolchain has no runtime of the address sanitizer");
    }
    let mut test = sanitizer::command(sanitizer::ADDRESS, true)?;
    test.args(["test", "--locked", "--quiet", "--no-fail-fast"])
        .args([
            "--package",
            PACKAGE,
            "--target-dir",
            "target/sanitize-address",
        ])
        .env("ASAN_OPTIONS", sanitizer::ADDRESS_OPTIONS)
        .args(filter.iter().flat_map(|filter| ["--test", filter]))
        .arg("--");
    for name in NOT_UNDER_ADDRESS {
        test.args(["--skip", name]);
    }
    run_command(&mut test)
}

/// A leak is memory that nothing points to any more; what a table holds by a pointer into its
/// middle is none.
const MEMCHECK: &[&str] = &[
    "--tool=memcheck",
    "--quiet",
    "--error-exitcode=99",
    "--num-callers=24",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite,indirect",
    "--show-leak-kinds=definite,indirect",
];

fn memcheck(filter: Option<&str>) -> anyhow::Result<()> {
    if !succeeds(program("valgrind").arg("--version")) {
        bail!("missing: valgrind; install it");
    }
    let mut failed = Vec::new();
    let wanted = |name: &&str| filter.is_none_or(|filter| name.contains(filter));
    let names: Vec<&str> = WATCHED.iter().copied().filter(wanted).collect();
    for (name, test) in tests(&names)? {
        let mut command = Command::new("valgrind");
        command
            .args(MEMCHECK)
            .arg(&test)
            .args(["--quiet", "--test-threads=1"])
            .args(NOT_UNDER_MEMCHECK.iter().flat_map(|name| ["--skip", name]))
            .current_dir(format!(
                "crates/{}",
                PACKAGE.trim_start_matches("strongroom-")
            ));
        if let Err(error) = run_command(&mut command) {
            println!("{error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("found something in {}", failed.join(", "));
    }
    Ok(())
}

/// The programs of these tests, built as every test is.
fn tests(names: &[&str]) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut build = crate::command::cargo();
    build
        .args(["test", "--no-run", "--locked", "--quiet"])
        .args(["--message-format=json", "--package", PACKAGE]);
    for name in names {
        build.args(["--test", name]);
    }
    let messages = read(&mut build)?;
    let programs = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| {
            let name = message["target"]["name"].as_str()?.to_owned();
            Some((name, PathBuf::from(message["executable"].as_str()?)))
        });
    let programs: Vec<_> = programs.collect();
    if programs.len() < names.len() {
        bail!("cargo built {} of {} tests", programs.len(), names.len());
    }
    Ok(programs)
}
