//! `crates`: packages the libraries as cargo would publish them, and compiles each from its package
//! alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::build::C_COMPILER;
use super::{Context, Part};
use crate::command::{cargo, program, read, run as run_command};
use crate::workspace;

pub const PART: Part = Part {
    name: "crates",
    needs: &[C_COMPILER],
    make,
    check,
};

/// Files that each package must have.
const FILES: [&str; 3] = ["src/lib.rs", "LICENSE-MIT", "LICENSE-APACHE"];

/// A dry run: packages are built and compiled, but not uploaded.
fn make(_: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let metadata = workspace::metadata()?;
    let crates = published(&metadata);
    let mut command = cargo();
    command.args(["publish", "--dry-run", "--locked", "--quiet"]);
    for (name, _) in &crates {
        command.args(["--package", name]);
    }
    run_command(&mut command)
        .context("cargo would not publish the libraries; what it packages has to be committed")?;
    crates.iter().map(packaged).collect()
}

/// Names and versions of the members that do not say `publish = false`.
fn published(metadata: &Value) -> Vec<(String, String)> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| package["publish"].is_null())
        .filter_map(|package| {
            let field = |name: &str| Some(package[name].as_str()?.to_owned());
            Some((field("name")?, field("version")?))
        })
        .collect()
}

/// The path of the package.
fn packaged((name, version): &(String, String)) -> anyhow::Result<PathBuf> {
    let folder = workspace::target_folder()?.join("package");
    let file = format!("{name}-{version}.crate");
    // Depending on cargo's version: the path of `cargo publish`, then that of `cargo package`.
    let candidates = [folder.join("tmp-crate").join(&file), folder.join(&file)];
    let found = candidates.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("cargo left no {file} in {}", folder.display()))
}

fn check(_: &Context) -> anyhow::Result<String> {
    let crates = published(&workspace::metadata()?);
    ensure!(!crates.is_empty(), "no member would be published");
    let mut size = 0;
    for package in &crates {
        let path = packaged(package)?;
        size += fs::metadata(&path)?.len();
        holds_what_a_user_needs(&path, &format!("{}-{}", package.0, package.1))?;
    }
    Ok(format!(
        "{} libraries, {size} bytes in all, were compiled from their packages alone",
        crates.len()
    ))
}

fn holds_what_a_user_needs(path: &Path, folder: &str) -> anyhow::Result<()> {
    let list = read(program("tar").args(["--list", "--file"]).arg(path))?;
    for file in FILES {
        let wanted = format!("{folder}/{file}");
        ensure!(
            list.lines().any(|line| line == wanted),
            "{} lacks {file}",
            path.display()
        );
    }
    let manifest = read(
        program("tar")
            .args(["--extract", "--to-stdout", "--file"])
            .arg(path)
            .arg(format!("{folder}/Cargo.toml")),
    )?;
    let manifest: toml::Table = toml::from_str(&manifest)?;
    for key in ["description", "license"] {
        ensure!(
            manifest["package"].get(key).is_some(),
            "{} has no {key}",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check of the packages says so too, but only once all of them are compiled.
    #[test]
    fn each_library_that_would_be_published_has_its_licences() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut count = 0;
        for entry in fs::read_dir(crates).unwrap() {
            let folder = entry.unwrap().path();
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let manifest: toml::Table = toml::from_str(&manifest).unwrap();
            if manifest["package"].get("publish") != Some(&toml::Value::Boolean(true)) {
                continue;
            }
            for file in FILES {
                let path = folder.join(file);
                assert!(path.is_file(), "{} is missing", path.display());
            }
            count += 1;
        }
        assert!(count > 10, "{count}");
    }

    #[test]
    fn members_that_say_no_are_left_out() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "version": "0.1.0", "publish": null},
            {"name": "b", "version": "0.1.0", "publish": []},
        ]});
        let expected = [("a".to_owned(), "0.1.0".to_owned())];
        assert_eq!(published(&metadata), expected);
    }
}
