//! Licences, sources and advisories of what we depend on, by cargo-deny.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, bail};

use crate::command::{cargo, program, run as run_command};
use crate::workspace;

const VERSION: &str = "0.20.2";

/// Where the program is: the user's own of the same minor version, or ours below `target`.
pub fn find() -> anyhow::Result<Option<PathBuf>> {
    let ours = ours()?;
    let candidates = [ours, PathBuf::from("cargo-deny")];
    let found = candidates.into_iter().find(|path| {
        let version = program(&path.to_string_lossy()).arg("--version").output();
        version.is_ok_and(|output| is_known(&String::from_utf8_lossy(&output.stdout)))
    });
    Ok(found)
}

fn ours() -> anyhow::Result<PathBuf> {
    Ok(workspace::target_folder()?.join("tools/bin/cargo-deny"))
}

/// Configuration keys change between minor versions, not within one.
fn is_known(version: &str) -> bool {
    let known = VERSION.rsplit_once('.').map_or(VERSION, |(minor, _)| minor);
    version
        .trim()
        .strip_prefix("cargo-deny ")
        .and_then(|version| version.strip_prefix(known))
        .is_some_and(|rest| rest.starts_with('.'))
}

/// Builds cargo-deny once, without optimisation: it runs for a second and is built for a minute.
pub fn install() -> anyhow::Result<()> {
    let root = workspace::target_folder()?.join("tools");
    println!(
        "building cargo-deny {VERSION} into {}, once",
        root.display()
    );
    let what = [
        "install",
        "--quiet",
        "--locked",
        "--debug",
        "cargo-deny",
        "--version",
        VERSION,
    ];
    run_command(
        cargo()
            .args(what)
            .arg("--root")
            .arg(root)
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("CARGO_PROFILE_DEV_STRIP", "true"),
    )
}

/// Checks everything that needs no network, then the advisories if their database can be had.
pub fn run() -> anyhow::Result<()> {
    let deny =
        find()?.context("cargo-deny is missing: run `cargo xtask test --only requirements`")?;
    let deny = deny.to_string_lossy();
    let quiet = [
        "--locked",
        "--log-level",
        "error",
        "check",
        "--hide-inclusion-graph",
    ];
    run_command(
        program(&deny)
            .args(quiet)
            .args(["licenses", "bans", "sources"]),
    )?;
    let output = program(&deny)
        .args(quiet)
        .arg("advisories")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .context("cannot start cargo-deny")?;
    let said = String::from_utf8_lossy(&output.stderr);
    match judge(output.status.success(), &said) {
        Advisories::None => println!("advisories: none"),
        Advisories::Unreachable => {
            println!("advisories: skipped, their database cannot be reached from here");
        }
        Advisories::Some => {
            print!("{}{said}", String::from_utf8_lossy(&output.stdout));
            bail!("a dependency has an advisory (above)");
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Advisories {
    None,
    Some,
    Unreachable,
}

fn judge(success: bool, said: &str) -> Advisories {
    match (success, said.contains("failed to fetch advisory database")) {
        (true, _) => Advisories::None,
        (false, true) => Advisories::Unreachable,
        (false, false) => Advisories::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_patch_versions_are_known_and_other_minor_ones_not() {
        assert!(is_known("cargo-deny 0.20.9\n"));
        assert!(!is_known("cargo-deny 0.21.0\n"));
        assert!(!is_known("cargo-deny 0.200.0\n"));
        assert!(!is_known(""));
    }

    #[test]
    fn an_advisory_is_not_taken_for_a_missing_database() {
        assert_eq!(judge(false, "error[vulnerability]: A"), Advisories::Some);
        let offline = "[ERROR] failed to fetch advisory database x: failed to clone";
        assert_eq!(judge(false, offline), Advisories::Unreachable);
        assert_eq!(judge(true, ""), Advisories::None);
    }
}
