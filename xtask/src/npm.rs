//! npm: programs from Node's registry, in the versions of lock files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::command::{program, run as run_command};

/// An npm command in a folder that runs no package scripts.
pub fn command(command: &str, folder: &Path) -> Command {
    let mut npm = program("npm");
    npm.args([command, "--prefer-offline", "--no-audit", "--no-fund"]);
    npm.args(["--ignore-scripts", "--loglevel=error"]);
    npm.current_dir(folder);
    npm
}

/// Installs the programs that build one of our packages, in the versions of its lock file.
pub fn install_programs(package: &Path) -> anyhow::Result<()> {
    let lock = fs::read(package.join("package-lock.json"))?;
    // Records what was last installed completely.
    let stamp = package.join("node_modules/.installed-by-xtask");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    run_command(&mut self::command("ci", package)).with_context(|| {
        let package = package.display();
        format!("the programs that build {package} cannot be had")
    })?;
    fs::write(stamp, lock)?;
    Ok(())
}
