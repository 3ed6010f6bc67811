//! Stands in for commands that this build leaves out, and says how to get them.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::bail;
use clap::Parser;

/// Not in this build: `cargo build --release --features full` has it
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _all: Vec<OsString>,
}

/// Fails with a message.
///
/// # Errors
///
/// Always.
pub fn run(_args: Args) -> anyhow::Result<ExitCode> {
    bail!(
        "this program was built without the proxy and its commands; build it with all features: \
         `cargo build --release --features full`"
    )
}
