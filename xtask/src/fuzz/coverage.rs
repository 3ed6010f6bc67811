//! Coverage of the kept and found inputs, measured with the compiler's instrumentation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::command::{program, read, run as run_command, succeeds};
use crate::sanitizer;

const FOLDER: &str = "target/coverage";

/// Replays all inputs and prints the coverage of each crate.
pub fn report() -> anyhow::Result<()> {
    let Some(tools) = tools()? else {
        println!("no coverage by lines: `rustup component add llvm-tools` brings what it needs");
        return Ok(());
    };
    let program = build()?;
    let raw = Path::new(FOLDER).join("replay.profraw");
    let indexed = Path::new(FOLDER).join("replay.profdata");
    let mut replay = crate::command::program(&program.to_string_lossy());
    replay.env("LLVM_PROFILE_FILE", std::path::absolute(&raw)?);
    run_command(replay.env("STRONGROOM_FUZZ_FOUND", "1").args([
        "--quiet",
        "--exact",
        "kept_inputs_pass",
    ]))?;
    let mut merge = crate::command::program(&tools.join("llvm-profdata").to_string_lossy());
    run_command(
        merge
            .args(["merge", "-sparse", "-o"])
            .args([&indexed, &raw]),
    )?;
    let mut export = crate::command::program(&tools.join("llvm-cov").to_string_lossy());
    export.args(["export", "--summary-only", "--instr-profile"]);
    let report = read(export.args([&indexed, &program]))?;
    print!("{}", table(&serde_json::from_str(&report)?));
    Ok(())
}

fn tools() -> anyhow::Result<Option<PathBuf>> {
    let folder = sanitizer::library_folder()?.join("bin");
    let present = || folder.join("llvm-cov").is_file();
    if !present() {
        succeeds(program("rustup").args(["component", "add", "llvm-tools"]));
    }
    Ok(present().then_some(folder))
}

/// The replaying test, with instrumentation.
fn build() -> anyhow::Result<PathBuf> {
    let mut build = sanitizer::command(&["-Cinstrument-coverage"], false)?;
    build
        .args(["test", "--no-run", "--locked", "--quiet"])
        .args(["--message-format=json", "--target-dir", FOLDER])
        .args(["--package", "strongroom-fuzz-targets", "--test", "replay"]);
    let messages = read(&mut build)?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "replay")
        .find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .context("cargo built no test `replay`")
}

#[derive(Default)]
struct Reached {
    lines: (u64, u64),
    regions: (u64, u64),
}

/// A line for each product crate that the targets use.
fn table(report: &Value) -> String {
    let mut crates: BTreeMap<&str, Reached> = BTreeMap::new();
    let files = report["data"][0]["files"].as_array();
    for file in files.into_iter().flatten() {
        let Some(name) = file["filename"].as_str().and_then(crate_of) else {
            continue;
        };
        let reached = crates.entry(name).or_default();
        for (kind, sum) in [
            ("lines", &mut reached.lines),
            ("regions", &mut reached.regions),
        ] {
            let count = |field: &str| file["summary"][kind][field].as_u64().unwrap_or(0);
            sum.0 += count("covered");
            sum.1 += count("count");
        }
    }
    let mut text = "reached by all inputs together:\n".to_owned();
    for (name, reached) in crates {
        let share = |(part, whole): (u64, u64)| 100.0 * part as f64 / whole.max(1) as f64;
        text.push_str(&format!(
            "    {name}: {:.1} % of {} lines, {:.1} % of {} regions\n",
            share(reached.lines),
            reached.lines.1,
            share(reached.regions),
            reached.regions.1
        ));
    }
    text
}

/// The crate of a source file of the product.
fn crate_of(path: &str) -> Option<&str> {
    let (_, inside) = path.rsplit_once("/crates/")?;
    let (name, rest) = inside.split_once('/')?;
    (rest.starts_with("src/") && name != "fuzz-targets").then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_summed_up_by_crate() {
        let file = |name: &str, covered: u64| {
            json!({"filename": name, "summary": {
                "lines": {"count": 10, "covered": covered},
                "regions": {"count": 20, "covered": covered}}})
        };
        let report = json!({"data": [{"files": [
            file("/x/crates/vfs/src/lib.rs", 5),
            file("/x/crates/vfs/src/keys.rs", 10),
            file("/x/crates/fuzz-targets/src/lib.rs", 10),
            file("/registry/other-1.0/src/lib.rs", 10)]}]});
        let expected = "reached by all inputs together:\n    vfs: 75.0 % of 20 lines, 37.5 % of 40 \
                        regions\n";
        assert_eq!(table(&report), expected);
    }
}
