//! Automation: test, tidy, bench, dist, faults, fuzz, interop, page, peers, sanitize, site, storm,
//! suites, vectors, wasm.

mod apt;
mod bench;
mod browser;
mod built;
mod command;
mod deny;
mod disk;
mod dist;
mod executables;
mod faults;
mod fuzz;
mod interop;
mod markdown;
mod newest;
mod npm;
mod page;
mod peers;
mod postgres_programs;
mod process;
mod requirements;
mod sanitize;
mod sanitizer;
mod site;
mod storm;
mod suites;
mod test;
mod tidy;
mod tool;
mod vectors;
mod wasm;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Automation of the Strongroom repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what is lacking, then run every check and test.
    Test(test::Options),
    /// Check the tree: layout, edges between crates, budgets, words, documents.
    Tidy,
    /// Write the vectors anew and fail if they differ from what is committed.
    Vectors,
    /// Run the foreign clients: those of every test, all of them, or some.
    Interop(interop::Options),
    /// Build what a release has, with checksums, and use each of it from an empty environment.
    Dist(dist::Options),
    /// Fuzz all targets, or one, and show what was reached.
    Fuzz(fuzz::Options),
    /// Cut the power at 100,000 points of seeded workloads, and look what is left.
    Faults(faults::Options),
    /// Look at the lab's page in a browser: both widths, both colour schemes, accessibility.
    Page(page::Options),
    /// Build another product that encrypts SQLite, and compare what it and we read.
    Peers(peers::Options),
    /// Run the tests of the C interface under address sanitizer and valgrind.
    Sanitize(sanitize::Options),
    /// Measure a page's cost against stock SQLite, or a statement's cost in the lab.
    Bench(bench::Options),
    /// Run the tests of another project under our extension.
    Suites(suites::Options),
    /// Make a site of the documents and of the pages of the runs, with search, and check its links.
    Site,
    /// Run many processes on one database, with kills, against an oracle.
    Storm(storm::Options),
    /// Build the module for browsers, with a compiler that is made first.
    Wasm(wasm::Options),
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line: the output of whatever failed stands above it.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> anyhow::Result<()> {
    workspace::enter_root()?;
    match task {
        Task::Test(options) => test::run(options),
        Task::Tidy => tidy::run(),
        Task::Vectors => vectors::run(),
        Task::Interop(options) => interop::run(options),
        Task::Dist(options) => dist::run(options),
        Task::Fuzz(options) => fuzz::run(options),
        Task::Sanitize(options) => sanitize::run(options),
        Task::Faults(options) => faults::run(options),
        Task::Page(options) => page::run(options),
        Task::Peers(options) => peers::run(options),
        Task::Bench(options) => bench::run(options),
        Task::Site => site::run(),
        Task::Storm(options) => storm::run(options),
        Task::Suites(options) => suites::run(options),
        Task::Wasm(options) => wasm::run(options),
    }
}
