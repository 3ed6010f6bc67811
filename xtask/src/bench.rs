//! `bench`: what a page costs, as paired ratios to stock SQLite.

use crate::command::{cargo, run as run_command};

/// What follows `bench` goes to the measuring program as it is.
#[derive(clap::Args)]
pub struct Options {
    /// Arguments of the measuring program; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the measuring program with optimisation and runs it.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let example = [
        "--package",
        "strongroom-sqlite-linked",
        "--example",
        "storage_bench",
    ];
    run_command(
        cargo()
            .args(["run", "--quiet", "--release", "--locked"])
            .args(example)
            .arg("--")
            .args(&options.arguments),
    )
}
