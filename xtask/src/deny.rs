//! Checks licences, sources and advisories of the dependencies with cargo-deny.

use std::process::Stdio;

use anyhow::{Context, bail};

use crate::command::{program, run as run_command};
use crate::tool::Tool;

pub const TOOL: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
};

/// Checks everything that needs no network, then the advisories if their database is available.
pub fn run() -> anyhow::Result<()> {
    let deny = TOOL
        .find()?
        .context("cargo-deny is missing: run `cargo xtask test --only requirements`")?;
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
    fn an_advisory_is_not_taken_for_a_missing_database() {
        assert_eq!(judge(false, "error[vulnerability]: A"), Advisories::Some);
        let offline = "[ERROR] failed to fetch advisory database x: failed to clone";
        assert_eq!(judge(false, offline), Advisories::Unreachable);
        assert_eq!(judge(true, ""), Advisories::None);
    }
}
