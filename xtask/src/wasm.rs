//! `wasm`: builds the module for browsers, and the package around it.

mod package;
mod toolchain;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::command::{cargo, program, run as run_command};
use crate::{npm, workspace};

pub use self::package::pack;
pub use self::toolchain::{TARGET, Toolchain, prepare as prepare_toolchain};

/// What to build.
#[derive(clap::Args, Default)]
pub struct Options {
    /// As it is published: made smaller by wasm-opt; its sizes are printed.
    #[arg(long)]
    release: bool,
}

/// The package that contains the module, with the npm programs that build it.
pub const PACKAGE: &str = "packages/sqlite";

/// SQLite's options, in addition to those of sqlite-wasm-rs: page and cache sizes as in the native
/// build, and otherwise as small as possible. Full-text search, JSON and mathematical functions are
/// kept; `docs/browser.md` lists what is omitted.
const SQLITE_FLAGS: &[&str] = &[
    "-USQLITE_TEMP_STORE",
    "-DSQLITE_TEMP_STORE=3",
    "-USQLITE_DEFAULT_PAGE_SIZE",
    "-DSQLITE_DEFAULT_PAGE_SIZE=4096",
    "-USQLITE_DEFAULT_CACHE_SIZE",
    "-DSQLITE_DEFAULT_CACHE_SIZE=-2000",
    "-USQLITE_ENABLE_SESSION",
    "-USQLITE_ENABLE_PREUPDATE_HOOK",
    "-USQLITE_ENABLE_BYTECODE_VTAB",
    "-USQLITE_ENABLE_STMTVTAB",
    "-USQLITE_ENABLE_DBPAGE_VTAB",
    "-USQLITE_ENABLE_UNLOCK_NOTIFY",
    "-USQLITE_ENABLE_API_ARMOR",
    "-USQLITE_ENABLE_DBSTAT_VTAB",
    "-USQLITE_ENABLE_RTREE",
    "-USQLITE_ENABLE_COLUMN_METADATA",
    "-USQLITE_ENABLE_OFFSET_SQL_FUNC",
    "-USQLITE_ENABLE_UNKNOWN_SQL_FUNCTION",
    "-DSQLITE_OMIT_DECLTYPE",
    "-DSQLITE_OMIT_TRACE",
    // Unreachable, because these functions are not exported to JavaScript.
    "-DSQLITE_OMIT_AUTHORIZATION",
    "-DSQLITE_OMIT_DESERIALIZE",
    "-DSQLITE_OMIT_PROGRESS_CALLBACK",
    "-DSQLITE_UNTESTABLE",
    "-DSQLITE_DEFAULT_MEMSTATUS=0",
];

/// C flags: optimised for size, which saves a tenth of the module and costs in-memory statements 7
/// % of their time; with features that every browser has whose workers can open files.
const C_FLAGS: &str = "-Oz -msimd128 -mbulk-memory";

/// The optimisations of wasm-opt, and the features it may use, which are those of the compilers.
/// The second pass saves another 500 bytes. Addresses below 1,024 are the end of the stack:
/// treating them as unused only means that a stack overflows 1,024 bytes earlier.
const OPTIMISER_FLAGS: &[&str] = &[
    "-Os",
    "-Oz",
    "--low-memory-unused",
    "--enable-simd",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// Compiled separately for workers, for pages and for Node, which have different globals.
const PROJECTS: &[&str] = &["worker", "page", "node"];

/// The folders of the module, the package and its tests.
#[derive(Clone)]
pub struct Built {
    /// The module that is published, `strongroom.wasm`.
    pub module: PathBuf,
    /// The same with additional exports for tests, `probe.wasm`.
    pub probe: PathBuf,
    /// JavaScript of the package and of its tests.
    pub page: PathBuf,
}

/// Builds, and prints the result.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let tarball = package::pack(&build(options.release)?)?;
    println!("{}", tarball.display());
    if options.release {
        println!("{}", package::sizes(&tarball)?);
    }
    Ok(())
}

/// Builds module and package.
pub fn build(release: bool) -> anyhow::Result<Built> {
    let folder = workspace::target_folder()?.join("browser-package");
    fs::create_dir_all(&folder)?;
    let built = Built {
        module: folder.join("strongroom.wasm"),
        probe: folder.join("probe.wasm"),
        page: folder.join("page"),
    };
    let toolchain = toolchain::prepare()?;
    for (path, features) in [
        (&built.probe, &["--features", "probe"][..]),
        (&built.module, &[]),
    ] {
        compile(&toolchain, features, path)?;
    }
    npm::install_programs(Path::new(PACKAGE))?;
    if release {
        for path in [&built.probe, &built.module] {
            run_command(
                of_package("wasm-opt")
                    .args(OPTIMISER_FLAGS)
                    .arg(path)
                    .arg("-o")
                    .arg(path),
            )?;
        }
    }
    for project in PROJECTS {
        let file = format!("tsconfig.{project}.json");
        run_command(of_package("tsc").args(["--project", &file]))?;
    }
    Ok(built)
}

fn compile(toolchain: &Toolchain, features: &[&str], to: &Path) -> anyhow::Result<()> {
    let mut command = cargo();
    command
        .args(["build", "--quiet", "--locked", "--profile", "browser"])
        .args(["--target", TARGET, "--package", "strongroom-browser"])
        .args(features)
        .arg("--config")
        .arg(toolchain.flags_of_module()?)
        .env("CFLAGS_wasm32_unknown_unknown", C_FLAGS)
        .env("SQLITE_WASM_RS_FLAGS", SQLITE_FLAGS.join(" "));
    toolchain.applied_to(&mut command);
    run_command(&mut command)?;
    let output = workspace::target_folder()?
        .join(TARGET)
        .join("browser/browser.wasm");
    fs::copy(&output, to).with_context(|| format!("cannot copy {}", output.display()))?;
    Ok(())
}

fn of_package(name: &str) -> Command {
    let mut command = program("npm");
    command.args(["exec", "--offline", "--", name]);
    command.current_dir(PACKAGE);
    command
}
