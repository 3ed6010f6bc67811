//! `strongroom workload`: prints the SQL of a test, exactly.

use std::io::{self, Write};

use anyhow::{Context, bail};
use clap::Parser;
use workloads::{Dialect, Spec};

/// Print the SQL of a workload, byte for byte
#[derive(Debug, Parser)]
pub struct Args {
    /// The workload
    #[arg(value_name = "NAME")]
    name: String,

    /// Print this test alone
    #[arg(long, value_name = "N")]
    test: Option<u32>,
}

/// Prints the SQL.
pub fn run(args: Args) -> anyhow::Result<()> {
    let workload = workloads::build(&Spec::named(&args.name)?, Dialect::Sqlite)?;
    let mut tests = workload.tests;
    if let Some(number) = args.test {
        let count = tests.len();
        tests.retain(|test| test.number == number);
        if tests.is_empty() {
            bail!(
                "workload `{}` has tests 1 to {count}, not {number}",
                args.name
            );
        }
    }
    let mut output = io::stdout().lock();
    for test in &tests {
        match output.write_all(test.script.text().as_bytes()) {
            // A reader that has seen enough is no error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            result => result.context("cannot write to standard output")?,
        }
    }
    match output.flush() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}
