//! SQLite's source with its tests, from Debian's source package; no part of it is in the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::debian;

/// The unpacked source.
pub struct Source {
    pub folder: PathBuf,
    /// The version of Debian's package of SQLite.
    pub version: String,
}

/// Downloads and unpacks below `work`, unless that was done already: the package of a Debian
/// release, by default the one that the machine uses.
pub fn fetch(work: &Path, release: Option<&str>) -> anyhow::Result<Source> {
    let folder = work.join("source");
    if !folder.join("VERSION").is_file() {
        debian::source(&work.join("download"), "sqlite3", release, &folder)?;
    }
    let version = fs::read_to_string(folder.join("VERSION"))
        .context("the source package of SQLite has no file VERSION")?;
    let changes = fs::read_to_string(folder.join("debian/changelog"))
        .context("the source package of SQLite has no file debian/changelog")?;
    let package = changes.split(['(', ')']).nth(1).unwrap_or("unknown");
    let version = format!("{} (Debian's {package})", version.trim());
    Ok(Source { folder, version })
}
