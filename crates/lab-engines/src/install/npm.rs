//! Packages of Node's registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::InstallError;
use super::commands::output;

/// Downloads the package with npm, without running its scripts, and extracts `wanted` from it: a
/// file or folder, whose path begins with `package`. Returns its path.
pub(super) fn fetch(
    folder: &Path,
    package: &'static str,
    wanted: &'static str,
) -> Result<PathBuf, InstallError> {
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--silent", package]);
    let remedy = "npm fetches it; install Node with npm, and check the connection";
    let archive = output(npm.current_dir(folder), remedy)?;
    let archive = folder.join(archive.trim());
    let mut tar = Command::new("tar");
    tar.arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(folder)
        .arg(wanted);
    output(&mut tar, "install tar with gzip")?;
    fs::remove_file(&archive).map_err(|source| InstallError::File {
        path: archive,
        source,
    })?;
    let place = folder.join(wanted);
    if place.exists() {
        Ok(place)
    } else {
        Err(InstallError::Package { package, wanted })
    }
}
