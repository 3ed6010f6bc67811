//! `test`: every check and test, in the order in which failures are found soonest.

use std::time::Instant;

use anyhow::bail;
use clap::ValueEnum;

use crate::command::{cargo, run as run_command};
use crate::executables::Tests;
use crate::workspace::ALL_FEATURES;
use crate::{
    browser, built, deny, interop, newest, page, requirements, sanitize, suites, tidy, vectors,
    wasm,
};

/// Which steps to run; without options all of them.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Run this step alone; may be given several times.
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
    /// Leave this step out; may be given several times.
    #[arg(long, value_name = "STEP")]
    skip: Vec<Step>,
}

/// A part of the test.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Step {
    /// Programs that the steps need; installs what it may.
    Requirements,
    /// rustfmt.
    Format,
    /// Rules on the tree.
    Tidy,
    /// Licences, sources and advisories of dependencies.
    Deny,
    /// Lints.
    Clippy,
    /// The extension and the program.
    Build,
    /// Our own vectors, written anew, are the committed ones.
    Vectors,
    /// The module for browsers.
    Wasm,
    /// Unit and integration tests.
    Unit,
    /// Foreign clients.
    Interop,
    /// The module for browsers in Chromium and Firefox.
    Browser,
    /// The lab's page in Chromium, from committed results and from made-up ones.
    Page,
    /// A slice of the tests of protected columns, on the newest PostgreSQL.
    Newest,
    /// A slice of SQLite's own tests under the extension.
    Suites,
    /// Memcheck on the first things that a user does.
    Sanitize,
}

impl Step {
    fn run(self) -> anyhow::Result<()> {
        match self {
            Step::Requirements => requirements::run(),
            Step::Format => run_command(cargo().args(["fmt", "--all", "--check"])),
            Step::Tidy => tidy::run(),
            Step::Deny => deny::run(),
            Step::Clippy => {
                let scope = ["--workspace", "--all-targets", "--locked", "--quiet"];
                let rules = ["--", "--deny", "warnings"];
                run_command(
                    cargo()
                        .arg("clippy")
                        .args(scope)
                        .args(ALL_FEATURES)
                        .args(rules),
                )
            }
            Step::Vectors => vectors::run(),
            Step::Build => built::build().map(drop),
            Step::Wasm => wasm::build(false).map(drop),
            Step::Unit => {
                Tests::default().run()?;
                let documentation = ["test", "--workspace", "--locked", "--doc"];
                run_command(cargo().args(documentation).args(ALL_FEATURES))?;
                // The browsers' cipher implementation, with the same tests as the others.
                let portable = ["--package", "strongroom-crypto", "--features", "portable"];
                run_command(cargo().args(["test", "--locked"]).args(portable))?;
                // What remains in memory depends on the optimiser.
                let wiped = ["--workspace", "--test", "wiped"];
                run_command(
                    cargo()
                        .args(["test", "--locked"])
                        .args(ALL_FEATURES)
                        .args(OPTIMISED.iter().flat_map(|level| ["--config", level]))
                        .args(wiped),
                )
            }
            Step::Interop => interop::run(&interop::Options::default()),
            Step::Browser => browser::run_slice(),
            Step::Page => page::run(&page::Options::default()),
            Step::Newest => newest::run_slice(),
            Step::Suites => suites::run_slice(),
            Step::Sanitize => sanitize::run_short(),
        }
    }

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Optimises what holds keys and plaintext as a release does. In tests, other crates than ours are
/// optimised anyway, so none of them is compiled again.
const OPTIMISED: &[&str] = &[
    "profile.dev.package.strongroom-crypto.opt-level=3",
    "profile.dev.package.strongroom-keyring.opt-level=3",
    "profile.dev.package.strongroom-page-codec.opt-level=3",
    "profile.dev.package.strongroom-vfs.opt-level=3",
    "profile.dev.package.strongroom-sqlite-linked.opt-level=3",
];

/// Expected resources for all steps on two cores.
const HOW_LONG: &str = "every step: about 40 minutes and 20 GB where nothing is built yet, \
                        half of that later";

/// Runs the selected steps and stops at the first failure.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let steps = chosen(options);
    if steps.is_empty() {
        bail!("every step is left out: nothing was tested");
    }
    if steps.len() == Step::value_variants().len() {
        println!("{HOW_LONG}");
    }
    let start = Instant::now();
    for (index, step) in steps.iter().enumerate() {
        println!("[{}/{}] {}", index + 1, steps.len(), step.name());
        let start = Instant::now();
        let result = step.run();
        let seconds = start.elapsed().as_secs_f64();
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        println!(
            "[{}/{}] {} {word} ({seconds:.1} s)",
            index + 1,
            steps.len(),
            step.name()
        );
        result?;
    }
    println!(
        "{} steps ok ({:.1} s)",
        steps.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn chosen(options: &Options) -> Vec<Step> {
    let wanted = |step: &Step| options.only.is_empty() || options.only.contains(step);
    let all = Step::value_variants().iter().copied();
    all.filter(|step| wanted(step) && !options.skip.contains(step))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_options_every_step_runs() {
        assert_eq!(chosen(&Options::default()), Step::value_variants());
    }

    #[test]
    fn only_and_skip_narrow_the_steps() {
        let options = Options {
            only: vec![Step::Unit, Step::Format],
            skip: vec![Step::Unit],
        };
        assert_eq!(chosen(&options), [Step::Format]);
    }
}
