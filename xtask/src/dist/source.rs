//! The source as it was committed, for what must not write into the tree.

use std::path::PathBuf;

use super::Context;
use crate::command::{program, read, run as run_command};

/// A fresh copy of the last commit.
///
/// # Errors
///
/// Where git or tar fails.
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

/// When the last commit was made, in seconds since 1970: the time that artefacts bear.
///
/// # Errors
///
/// Where git fails.
pub fn time() -> anyhow::Result<String> {
    let time = read(program("git").args(["log", "-1", "--format=%ct"]))?;
    Ok(time.trim().to_owned())
}
