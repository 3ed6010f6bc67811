//! `vectors`: rewrites our own vectors, which must not differ from what is committed.

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::command::{cargo, program, read, run as run_command};
use crate::workspace::{self, ALL_FEATURES};

/// Runs every example that writes vectors and checks for differences with git.
pub fn run() -> anyhow::Result<()> {
    let examples = examples_that_write(&workspace::metadata()?);
    if examples.is_empty() {
        bail!("no package has an example write_…_vectors: nothing writes the vectors");
    }
    for executable in build(&examples)? {
        run_command(&mut program(&executable))?;
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

/// Builds the examples with the features of the whole workspace, so that nothing is compiled a
/// second time for them; returns their executables.
fn build(examples: &[String]) -> anyhow::Result<Vec<String>> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--workspace"]);
    build.args(ALL_FEATURES);
    build.arg("--message-format=json-render-diagnostics");
    build.args(examples.iter().flat_map(|name| ["--example", name]));
    let mut executables = Vec::new();
    for line in read(&mut build)?.lines() {
        let message: Value = serde_json::from_str(line).context("cargo wrote no JSON")?;
        executables.extend(message["executable"].as_str().map(str::to_owned));
    }
    ensure!(
        executables.len() == examples.len(),
        "cargo made {executables:?} of {examples:?}"
    );
    Ok(executables)
}

fn examples_that_write(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .flat_map(|package| package["targets"].as_array().into_iter().flatten())
        .filter(|target| target["kind"][0] == "example")
        .filter_map(|target| target["name"].as_str())
        .filter(|name| name.starts_with("write_") && name.ends_with("_vectors"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_found_by_their_names() {
        let metadata = serde_json::json!({"packages": [
            {"targets": [
                {"name": "write_page_vectors", "kind": ["example"]},
                {"name": "write_page_vectors", "kind": ["test"]},
                {"name": "write_pages", "kind": ["example"]},
            ]},
            {"targets": [{"name": "without", "kind": ["bin"]}]},
        ]});
        assert_eq!(examples_that_write(&metadata), ["write_page_vectors"]);
    }
}
