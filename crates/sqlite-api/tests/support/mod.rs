//! A shared library to load: SQLite's source from cargo's registry, compiled for the test.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use sqlite_api::Library;

/// A compile option that the linked library does not have.
pub const MARK: &str = "LIKE_DOESNT_MATCH_BLOBS";

/// An SQLite other than the linked one. It compiles without optimisation in a few seconds, once per
/// test process.
pub fn loaded() -> &'static Library {
    static LOADED: OnceLock<&'static Library> = OnceLock::new();
    LOADED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = format!(
            "#define SQLITE_{MARK} 1\n#include \"{}\"\n",
            amalgamation().display()
        );
        Library::load(&library(folder.path(), "sqlite", &source)).unwrap()
    })
}

/// Compiles a shared library.
pub fn library(folder: &Path, name: &str, source: &str) -> PathBuf {
    let input = folder.join(format!("{name}.c"));
    let output = folder.join(format!("{name}.so"));
    fs::write(&input, source).unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O0", "-w", "-o"])
        .args([&output, &input])
        .status();
    assert!(status.unwrap().success(), "cc failed");
    output
}

/// The folder with the source of the linked SQLite's package.
fn amalgamation() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "libsqlite3-sys")
        .unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().join("sqlite3/sqlite3.c")
}
