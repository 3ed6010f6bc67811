//! Builds the programs of SQLite's suite, each with a start function of ours that can load an
//! extension.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::source::Source;
use crate::command::{cargo, program, run as run_command};
use crate::workspace;

const START: &str = "xtask/suites/start.c";
/// The function in `START`.
const START_FUNCTION: &str = "strongroom_suites_start";

/// The build profile of the extension.
#[derive(Clone, Copy)]
pub enum Profile {
    /// As it is shipped.
    Release,
    /// As in most tests, with overflow checks; another step has already built it.
    Debug,
}

/// The built programs.
pub struct Built {
    pub folder: PathBuf,
    pub extension: PathBuf,
}

impl Built {
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Builds the extension, and `programs` unless they were already built with the same start
/// function.
pub fn build(
    work: &Path,
    source: &Source,
    programs: &[&str],
    profile: Profile,
) -> anyhow::Result<Built> {
    let mut cargo = cargo();
    cargo.args([
        "build",
        "--locked",
        "--quiet",
        "--package",
        "strongroom-sqlite-extension",
    ]);
    let profile = match profile {
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
        Profile::Debug => "debug",
    };
    run_command(&mut cargo)?;
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let folder = workspace::target_folder()?.join(profile);
    let built = Built {
        folder: work.join("build"),
        extension: folder.join(format!("{prefix}strongroom{suffix}")),
    };
    let log = work.join("build.log");
    let start = fs::read(START).with_context(|| format!("cannot read {START}"))?;
    let configured = built.folder.join("start.c");
    if fs::read(&configured).ok().as_ref() != Some(&start) {
        println!("configuring SQLite {}", source.version);
        configure(&built.folder, source, &log)?;
        fs::write(&configured, &start)?;
    }
    if programs.iter().all(|name| built.program(name).is_file()) {
        return Ok(built);
    }
    println!("building {}", programs.join(", "));
    make(&built.folder, &["sqlite3.c"], &log)?;
    let compile = ["-O1", "-c", "start.c", "-o", "start.o"];
    logged(program("cc").current_dir(&built.folder).args(compile), &log)?;
    for name in programs {
        // Benchmarks use a SQLite as it is shipped; tests need not be fast.
        let optimisation = if *name == "speedtest1" { "-O2" } else { "-O1" };
        make(
            &built.folder,
            &[name, &format!("CFLAGS={optimisation}")],
            &log,
        )?;
    }
    Ok(built)
}

fn configure(folder: &Path, source: &Source, log: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let script = source.folder.join("configure");
    let mut configure = program(&script.to_string_lossy());
    // All optional parts: full-text search, R-trees and sessions have their own tests.
    configure.current_dir(folder).arg("--enable-all");
    configure.arg(format!("--with-tcl={}", tcl_folder()?.display()));
    logged(&mut configure, log)
}

/// The folder of `tclConfig.sh`, which SQLite's configure script needs.
pub fn tcl_folder() -> anyhow::Result<PathBuf> {
    let versions = ["tcl9.0", "tcl8.6"];
    let mut candidates = Vec::new();
    for library in ["/usr/lib", "/usr/local/lib"] {
        candidates.push(PathBuf::from(library));
        for entry in fs::read_dir(library).into_iter().flatten().flatten() {
            candidates.push(entry.path());
            candidates.extend(versions.iter().map(|version| entry.path().join(version)));
        }
    }
    candidates.sort();
    let found = candidates
        .into_iter()
        .find(|folder| folder.join("tclConfig.sh").is_file());
    found.context("tclConfig.sh is nowhere: install Tcl with its headers (Debian: tcl-dev)")
}

fn make(folder: &Path, arguments: &[&str], log: &Path) -> anyhow::Result<()> {
    let start = folder.join("start.o");
    let mut make = program("make");
    make.current_dir(folder).args(arguments);
    make.arg(format!("OPTS=-DSQLITE_EXTRA_INIT={START_FUNCTION}"));
    // The libraries to link; the second name is used since SQLite 3.49.
    for variable in ["TLIBS", "LDFLAGS.libsqlite3"] {
        let start = start.display();
        make.arg(format!("{variable}={start} -lm -ldl -lz -lpthread"));
    }
    logged(&mut make, log)
}

/// Runs a verbose command with its output in a file, which an error names.
fn logged(command: &mut Command, log: &Path) -> anyhow::Result<()> {
    let output = fs::File::options().create(true).append(true).open(log)?;
    let errors = output.try_clone()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(errors))
        .status()
        .with_context(|| format!("cannot start {name}"))?;
    if !status.success() {
        bail!("{name} ended with {status}: see {}", log.display());
    }
    Ok(())
}
