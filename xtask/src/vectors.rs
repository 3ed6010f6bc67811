//! `vectors`: rewrites our own vectors, which must not differ from what is committed.

use anyhow::bail;
use serde_json::Value;

use crate::command::{cargo, program, read, run as run_command};
use crate::workspace;

/// An example with this name writes the vectors of its crate.
const EXAMPLE: &str = "write_vectors";

/// Runs every example that writes vectors and checks for differences with git.
pub fn run() -> anyhow::Result<()> {
    let packages = packages_that_write(&workspace::metadata()?);
    if packages.is_empty() {
        bail!("no package has an example {EXAMPLE}: nothing writes the vectors");
    }
    for package in packages {
        let example = ["--package", &package, "--example", EXAMPLE];
        run_command(cargo().args(["run", "--quiet", "--locked"]).args(example))?;
    }
    let changed = read(program("git").args(["status", "--porcelain", "--", "vectors"]))?;
    if !changed.is_empty() {
        print!("{changed}");
        bail!(
            "vectors differ from what is committed: files of older versions may no longer open. \
             New vectors need a commit; `git checkout vectors` takes a change back"
        );
    }
    Ok(())
}

fn packages_that_write(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| {
            let mut targets = package["targets"].as_array().into_iter().flatten();
            targets.any(|target| target["name"] == EXAMPLE && target["kind"][0] == "example")
        })
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_their_example() {
        let metadata = serde_json::json!({"packages": [
            {"name": "with", "targets": [{"name": EXAMPLE, "kind": ["example"]}]},
            {"name": "without", "targets": [{"name": EXAMPLE, "kind": ["bin"]}]},
        ]});
        assert_eq!(packages_that_write(&metadata), ["with"]);
    }
}
