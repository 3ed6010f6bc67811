//! The program and the extension that steps and scripts use, of the features that the tests build
//! them with. A build of one package alone would unite other features of its dependencies: it
//! would compile them once more, and leave another program in the same place.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::path::PathBuf;

use crate::command::{cargo, run as run_command};
use crate::workspace::{self, ALL_FEATURES};

/// Where they are.
pub struct Built {
    pub extension: PathBuf,
    pub program: PathBuf,
}

/// Builds what is not fresh.
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
        program: folder.join(format!("strongroom{EXE_SUFFIX}")),
    })
}
