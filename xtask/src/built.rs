//! The program and the libraries that steps and scripts use, with the same features as in the
//! tests. A build of a single package would unify other features of its dependencies: it would
//! compile these again, and replace the program.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::path::PathBuf;

use crate::command::{cargo, run as run_command};
use crate::workspace::{self, ALL_FEATURES};

/// Their paths.
pub struct Built {
    pub extension: PathBuf,
    pub client: PathBuf,
    pub program: PathBuf,
}

/// Builds what is out of date.
pub fn build() -> anyhow::Result<Built> {
    let wanted = [
        "--quiet",
        "--locked",
        "--workspace",
        "--lib",
        "--bin",
        "strongroom",
    ];
    run_command(cargo().arg("build").args(wanted).args(ALL_FEATURES))?;
    let folder = workspace::target_folder()?.join("debug");
    Ok(Built {
        extension: folder.join(format!("{DLL_PREFIX}strongroom{DLL_SUFFIX}")),
        client: folder.join(format!("{DLL_PREFIX}strongroom_client{DLL_SUFFIX}")),
        program: folder.join(format!("strongroom{EXE_SUFFIX}")),
    })
}
