//! `bench`: benchmarks of pages (as paired ratios to stock SQLite), statements in the lab, values
//! of protected columns, the in-process engine, the library for drivers, the proxy, its finisher,
//! and pages and keys in browsers.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

use crate::browser;
use crate::command::{cargo, program, run as run_command};
use crate::workspace::{self, ALL_FEATURES};

/// What follows the name goes to the measuring program as it is.
#[derive(clap::Args)]
pub struct Options {
    /// What to measure, `page`, `statement`, `direct`, `columns`, `client`, `library`, `proxy`,
    /// `hop`, `finisher` or `browser`, and arguments of the measuring program.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// The benchmark programs: a name, the package and its example. The first is the default.
const PROGRAMS: [(&str, &str, &str); 8] = [
    ("page", "strongroom-sqlite-linked", "storage_bench"),
    ("statement", "strongroom-sqlite-api", "statement_cost"),
    ("direct", "strongroom-lab-engines", "direct_cost"),
    ("columns", "strongroom-column-codec", "value_cost"),
    ("client", "strongroom-postgres", "in_process_cost"),
    ("proxy", "strongroom-proxy", "pass_through"),
    ("hop", "strongroom-proxy", "hop"),
    ("finisher", "strongroom-finisher-postgres", "finisher_cost"),
];

/// Builds the benchmark with optimisation and runs it.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let named = options.arguments.first();
    if named.is_some_and(|name| name == "browser") {
        return browser::measure();
    }
    if named.is_some_and(|name| name == "library") {
        return library();
    }
    let found = PROGRAMS
        .iter()
        .find(|known| named.is_some_and(|name| name == known.0));
    let arguments = &options.arguments[usize::from(found.is_some())..];
    let (_, package, example) = found.unwrap_or(&PROGRAMS[0]);
    run_command(
        cargo()
            .args(["run", "--quiet", "--release", "--locked"])
            .args(["--package", package, "--example", example])
            .arg("--")
            .args(arguments),
    )
}

/// The library for drivers, called by a driver of Python: its script has all the rest.
fn library() -> anyhow::Result<()> {
    run_command(
        cargo()
            .args(["build", "--quiet", "--release", "--locked"])
            .args(["--package", "strongroom-cli"])
            .args(["--package", "strongroom-postgres-c"])
            .args(ALL_FEATURES),
    )?;
    let folder = workspace::target_folder()?.join("release");
    let library = format!("{DLL_PREFIX}strongroom_client{DLL_SUFFIX}");
    run_command(
        program("interop/postgres-library-python/cost")
            .env("STRONGROOM_PROGRAM", folder.join("strongroom"))
            .env("STRONGROOM_CLIENT_LIBRARY", folder.join(library)),
    )
}
