//! The committed source, for tools that must not write into the tree.

use std::path::PathBuf;

use super::Context;
use crate::command::{program, read, run as run_command};

/// A fresh copy of the last commit.
///
/// # Errors
///
/// If git or tar fails.
pub fn copy(context: &Context) -> anyhow::Result<PathBuf> {
    let folder = context.empty_folder("source")?;
    let archive = context.scratch.join("source.tar");
    run_command(
        program("git")
            .args(["archive", "--format=tar", "--output"])
            .arg(&archive)
            .arg("HEAD"),
    )?;
    run_command(
        program("tar")
            .args(["--extract", "--file"])
            .arg(&archive)
            .arg("--directory")
            .arg(&folder),
    )?;
    Ok(folder)
}

/// The time of the last commit, in seconds since 1970, which artefacts use as their time.
///
/// # Errors
///
/// If git fails.
pub fn time() -> anyhow::Result<String> {
    let time = read(program("git").args(["log", "-1", "--format=%ct"]))?;
    Ok(time.trim().to_owned())
}
