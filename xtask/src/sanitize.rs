//! `sanitize`: the tests of the crates that talk C, under tools that check every memory access.
//!
//! | tool | watches | sees |
//! |---|---|---|
//! | address sanitizer | accesses, lifetimes, leaks | our Rust code, SQLite and the ciphers in C |
//! | memcheck | the same, and use of what was never written | the program as it is |
//!
//! The ciphers select their code by the processor's features. Valgrind hides instructions that it
//! does not support, such as wide AES, so memcheck runs other cipher code than users do.
//!
//! There is no check for data races. Helgrind does not know Rust's locks, and reports false races;
//! thread sanitizer needs a standard library that was built with it, which stable toolchains do not
//! have.

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

/// The checking tool.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Tool {
    Address,
    Memcheck,
}

/// The crate whose tests exercise the whole C interface.
const PACKAGE: &str = "strongroom-sqlite-linked";
/// Tests that run under valgrind: in one process, without deadlines. The others start child
/// processes, which are not checked.
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
/// The sanitizer's own quarantine and stack frames break the first test's search for remains, and
/// make the second's process grow.
const NOT_UNDER_ADDRESS: &[&str] = &["nothing_is_left", "thousands_of_connections"];

/// Valgrind runs one thread at a time, and readers that never wait starve the rotations that this
/// test counts: it would take an hour instead of seconds.
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

/// The part of `cargo xtask test`: memcheck on a user's first steps.
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

/// Only memory that nothing points to is a leak, not memory with interior pointers.
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
