//! Information about the workspace from cargo and git.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::command::{cargo, program, read};

/// All features of the program: parts that a minimal build leaves out are tested as well.
pub const ALL_FEATURES: [&str; 2] = ["--features", "strongroom-cli/full"];

/// Changes to the root of the repository; all paths in this program are relative to it.
pub fn enter_root() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask has no parent folder")?;
    std::env::set_current_dir(root).with_context(|| format!("cannot enter {}", root.display()))
}

/// What `cargo metadata` says about the members.
pub fn metadata() -> anyhow::Result<Value> {
    let text = read(cargo().args(["metadata", "--format-version=1", "--no-deps", "--locked"]))?;
    serde_json::from_str(&text).context("cargo metadata is not JSON")
}

/// The folder that cargo builds into.
pub fn target_folder() -> anyhow::Result<PathBuf> {
    let metadata = metadata()?;
    let folder = metadata["target_directory"]
        .as_str()
        .context("cargo metadata names no target folder")?;
    Ok(PathBuf::from(folder))
}

/// The version that all members have.
pub fn version() -> anyhow::Result<String> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array();
    let member = packages.into_iter().flatten().find(|package| {
        let name = package["name"].as_str();
        name == Some("strongroom-cli")
    });
    let version = member.and_then(|package| package["version"].as_str());
    Ok(version
        .context("cargo metadata has no version of strongroom-cli")?
        .to_owned())
}

/// Every file of the tree that is committed or would be, sorted by name.
pub fn files() -> anyhow::Result<Vec<String>> {
    let list = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let text = read(program("git").args(list))?;
    let mut files: Vec<String> = text
        .split_terminator('\0')
        .filter(|path| Path::new(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}
