//! A user's own library among the engines: the system's SQLite, or one compiled for the test.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lab::engine::{EngineOptions, Library};

/// The options of a user on the command line.
pub fn options() -> EngineOptions {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| of_the_system().unwrap_or_else(compiled));
    let library = Library {
        name: lab_engines::library_name(path),
        path: path.clone(),
        pragmas: vec![],
    };
    EngineOptions {
        libraries: vec![library],
        ..EngineOptions::default()
    }
}

fn of_the_system() -> Option<PathBuf> {
    ["libsqlite3.so.0", "libsqlite3.dylib"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| sqlite_api::Library::load(path).is_ok())
}

/// SQLite's source is in the package of the linked SQLite.
fn compiled() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "libsqlite3-sys");
    let manifest = Path::new(package.unwrap()["manifest_path"].as_str().unwrap());
    let source = manifest.parent().unwrap().join("sqlite3/sqlite3.c");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let input = folder.join("sqlite.c");
    let output = folder.join("libcompiled.so");
    fs::write(&input, format!("#include \"{}\"\n", source.display())).unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
        .args([&output, &input])
        .status();
    assert!(status.unwrap().success(), "cc failed");
    output
}
