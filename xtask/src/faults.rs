//! `faults`: power cuts at many points of seeded workloads.

use crate::command::{cargo, run as run_command};

/// What follows `faults` goes to the program that cuts the power as it is.
#[derive(clap::Args)]
pub struct Options {
    /// `--cuts N`, `--seed S`, `--minutes M`, `--only WORD`, or `--replay CUT`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the program with optimisation and runs it.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let example = ["--package", "strongroom-testkit", "--example", "faults"];
    run_command(
        cargo()
            .args(["run", "--quiet", "--release", "--locked"])
            .args(example)
            .arg("--")
            .args(&options.arguments),
    )
}
