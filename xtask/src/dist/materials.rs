//! `sbom`: the software bill of materials of the program and of the extension, by cargo-cyclonedx.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{Context, Part, musl, source};
use crate::command::{cargo, program, read, run as run_command};
use crate::tool::Tool;
use crate::workspace::ALL_FEATURES;

pub const PART: Part = Part {
    name: "sbom",
    needs: &[],
    make,
    check,
};

const CYCLONEDX: Tool = Tool {
    name: "cargo-cyclonedx",
    version: "0.5.9",
};

/// A crate with its artefacts, and the file that the tool writes beside its manifest.
struct Delivered {
    artefact: &'static str,
    folder: &'static str,
    written: &'static str,
}

const PROGRAM: Delivered = Delivered {
    artefact: "strongroom",
    folder: "crates/cli",
    written: "strongroom_bin.cdx.json",
};

const EXTENSION: Delivered = Delivered {
    artefact: "libstrongroom",
    folder: "crates/sqlite-extension",
    written: "strongroom_cdylib.cdx.json",
};

fn path(context: &Context, delivered: &Delivered) -> PathBuf {
    let name = format!("{}-{}.cdx.json", delivered.artefact, context.version);
    context.artefacts.join(name)
}

/// The tool writes into the source tree, so it gets a copy.
fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let tool = CYCLONEDX.find_or_install()?;
    let copy = source::copy(context)?;
    let mut paths = Vec::new();
    for delivered in [&PROGRAM, &EXTENSION] {
        let folder = copy.join(delivered.folder);
        let mut command = program(&tool.to_string_lossy());
        command
            .args(["cyclonedx", "--quiet", "--format", "json"])
            .args(["--describe", "binaries", "--spec-version", "1.5"])
            .args(["--target", &musl::X86_64.target()])
            .arg("--manifest-path")
            .arg(folder.join("Cargo.toml"))
            .env("CARGO", cargo().get_program())
            .env("SOURCE_DATE_EPOCH", source::time()?);
        if delivered.artefact == PROGRAM.artefact {
            command.args(["--features", "full"]);
        }
        run_command(&mut command)?;
        let text = fs::read_to_string(folder.join(delivered.written))?;
        let path = path(context, delivered);
        fs::write(&path, without_folder(&text, &copy))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Removes local folders from the names of members.
fn without_folder(text: &str, folder: &Path) -> String {
    text.replace(&format!("path+file://{}/", folder.display()), "")
}

fn check(context: &Context) -> anyhow::Result<String> {
    let listed = components(&fs::read_to_string(path(context, &PROGRAM))?)?;
    let tree = read(
        cargo()
            .args(["tree", "--locked", "--package", "strongroom-cli"])
            .args(ALL_FEATURES)
            .args(["--target", &musl::X86_64.target()])
            .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]),
    )?;
    let used = packages(&tree);
    ensure!(used.len() > 100, "cargo tree lists {} packages", used.len());
    for package in &used {
        let (name, version) = package;
        // The SBOM must describe the program itself.
        ensure!(
            listed.contains(package) || name == "strongroom-cli",
            "the bill of materials lacks {name} {version}"
        );
    }
    let extension = components(&fs::read_to_string(path(context, &EXTENSION))?)?;
    ensure!(
        extension.iter().any(|(name, _)| name == "strongroom-vfs"),
        "the bill of materials of the extension lacks strongroom-vfs"
    );
    Ok(format!(
        "the {} packages that cargo links are among the {} of the program's bill; {} in the \
         extension's",
        used.len(),
        listed.len(),
        extension.len()
    ))
}

type Package = (String, String);

fn components(text: &str) -> anyhow::Result<BTreeSet<Package>> {
    let bill: Value = serde_json::from_str(text).context("the bill of materials is not JSON")?;
    ensure!(
        bill["bomFormat"] == "CycloneDX",
        "the bill of materials is not CycloneDX"
    );
    let list = bill["components"].as_array();
    let list = list.context("the bill of materials lists no components")?;
    let field = |component: &Value, name: &str| Some(component[name].as_str()?.to_owned());
    let package = |it: &Value| Some((field(it, "name")?, field(it, "version")?));
    Ok(list.iter().filter_map(package).collect())
}

/// Lines such as `serde v1.0.2 (proc-macro)`; cargo marks those that it has shown before.
fn packages(tree: &str) -> BTreeSet<Package> {
    let package = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?;
        let version = words.next()?.strip_prefix('v')?;
        Some((name.to_owned(), version.to_owned()))
    };
    let lines = tree.lines().filter(|line| !line.contains("(proc-macro)"));
    lines.filter_map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_read_from_both() {
        let bill = r#"{"bomFormat":"CycloneDX","components":[{"name":"a","version":"1.0.0"}]}"#;
        let expected = BTreeSet::from([("a".to_owned(), "1.0.0".to_owned())]);
        assert_eq!(components(bill).unwrap(), expected);
        assert_eq!(
            packages("a v1.0.0\nb v2 (proc-macro)\na v1.0.0 (*)\n"),
            expected
        );
        assert!(components("{}").is_err());
    }

    #[test]
    fn no_folder_of_this_machine_is_left() {
        let text = r#"{"bom-ref":"path+file:///a/b/crates/cli#x@0.1.0"}"#;
        let text = without_folder(text, Path::new("/a/b"));
        assert_eq!(text, r#"{"bom-ref":"crates/cli#x@0.1.0"}"#);
    }
}
