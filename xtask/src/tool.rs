//! A program from the package registry in a pinned version, built once below the target folder.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::command::{cargo, program, run as run_command};
use crate::workspace;

/// A package with a program of the same name.
pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
}

impl Tool {
    /// The path of the program: ours below `target`, or the user's own with the same minor version.
    pub fn find(&self) -> anyhow::Result<Option<PathBuf>> {
        if let Some(ours) = self.ours()? {
            return Ok(Some(ours));
        }
        let version = program(self.name).arg("--version").output();
        let known =
            version.is_ok_and(|output| self.is_known(&String::from_utf8_lossy(&output.stdout)));
        Ok(known.then(|| PathBuf::from(self.name)))
    }

    /// The path of the program, which is built first if needed.
    pub fn find_or_install(&self) -> anyhow::Result<PathBuf> {
        if let Some(found) = self.find()? {
            return Ok(found);
        }
        self.install()?;
        self.find()?
            .with_context(|| format!("{} was installed, and is not there", self.name))
    }

    /// The version is taken from cargo's record: not every program knows its own.
    fn ours(&self) -> anyhow::Result<Option<PathBuf>> {
        let root = workspace::target_folder()?.join("tools");
        let list = cargo()
            .args(["install", "--list", "--root"])
            .arg(&root)
            .output()
            .context("cannot start cargo")?;
        let list = String::from_utf8_lossy(&list.stdout);
        let path = root.join("bin").join(self.name);
        Ok((list.lines().any(|line| self.is_known(line)) && path.is_file()).then_some(path))
    }

    /// Configuration keys change only between minor versions.
    fn is_known(&self, said: &str) -> bool {
        let minor = self.version.rsplit_once('.');
        let known = minor.map_or(self.version, |(minor, _)| minor);
        said.trim()
            .strip_prefix(self.name)
            .and_then(|rest| rest.strip_prefix(' '))
            .map(|version| version.strip_prefix('v').unwrap_or(version))
            .and_then(|version| version.strip_prefix(known))
            .is_some_and(|rest| rest.starts_with('.'))
    }

    /// Builds it without optimisation: it runs for a second, and building takes a minute.
    pub fn install(&self) -> anyhow::Result<()> {
        let Self { name, version } = self;
        let root = workspace::target_folder()?.join("tools");
        println!("building {name} {version} into {}, once", root.display());
        let how = ["install", "--quiet", "--locked", "--debug"];
        run_command(
            cargo()
                .args(how)
                .args([*name, "--version", *version])
                .arg("--root")
                .arg(root)
                .env("CARGO_PROFILE_DEV_DEBUG", "false")
                .env("CARGO_PROFILE_DEV_STRIP", "true"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_patch_versions_are_known_and_other_minor_ones_not() {
        let deny = Tool {
            name: "cargo-deny",
            version: "0.20.2",
        };
        assert!(deny.is_known("cargo-deny 0.20.9\n"));
        assert!(!deny.is_known("cargo-deny 0.21.0\n"));
        assert!(!deny.is_known("cargo-deny 0.200.0\n"));
        assert!(!deny.is_known("cargo-denying 0.20.2\n"));
        assert!(!deny.is_known(""));
    }

    #[test]
    fn a_version_may_begin_with_v() {
        let book = Tool {
            name: "mdbook",
            version: "0.5.2",
        };
        assert!(book.is_known("mdbook v0.5.2\n"));
        assert!(book.is_known("mdbook v0.5.2:"), "as cargo lists it");
        assert!(!book.is_known("mdbook v0.4.52\n"));
    }
}
