//! `test`: every check and test, in the order in which failures are found soonest.

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
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
            Step::Page => page::run_slice(),
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

/// Steps that run beside each other: each waits for servers and browsers for a part of its time.
/// They come last, and both lanes begin when all steps before them have passed.
const LANES: [&[Step]; 2] = [
    &[Step::Interop, Step::Newest],
    &[Step::Browser, Step::Page, Step::Suites, Step::Sanitize],
];

/// Expected resources for all steps on two cores.
const HOW_LONG: &str = "every step: about 35 minutes and 20 GB where nothing is built yet, 20 \
                        minutes later";

/// Runs the selected steps and stops at the first failure.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let steps = chosen(options);
    if steps.is_empty() {
        bail!("every step is left out: nothing was tested");
    }
    if steps.len() == Step::value_variants().len() {
        println!("{HOW_LONG}");
    }
    // A build of another kind may put another file in its place meanwhile.
    let this = env::current_exe().context("cannot find this program")?;
    let start = Instant::now();
    let count = steps.len();
    let is_in_lane = |step: &Step| LANES.iter().any(|lane| lane.contains(step));
    // With a choice of steps their output is wanted as it comes.
    let has_lanes = count == Step::value_variants().len();
    for (index, step) in steps.iter().enumerate() {
        if !has_lanes || !is_in_lane(step) {
            report(index, count, *step, || step.run())?;
        }
    }
    if has_lanes {
        run_lanes(&this, &steps)?;
    }
    println!("{count} steps ok ({:.1} s)", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs a step between two lines that name it.
fn report(
    index: usize,
    count: usize,
    step: Step,
    run: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (number, name) = (index + 1, step.name());
    println!("[{number}/{count}] {name}");
    let start = Instant::now();
    let result = run();
    let seconds = start.elapsed().as_secs_f64();
    let word = if result.is_ok() { "ok" } else { "FAILED" };
    println!("[{number}/{count}] {name} {word} ({seconds:.1} s)");
    result
}

/// Runs the steps of the lanes. After a failure, the other lane ends with its current step.
fn run_lanes(this: &Path, steps: &[Step]) -> anyhow::Result<()> {
    let logs = tempfile::tempdir().context("cannot make a temporary folder")?;
    let has_failed = AtomicBool::new(false);
    let run_lane = |lane: &[Step]| {
        for step in lane {
            if has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let index = steps.iter().position(|one| one == step);
            let index = index.expect("lanes run only where every step does");
            let log = logs.path().join(step.name());
            let result = report(index, steps.len(), *step, || run_alone(this, *step, &log));
            if result.is_err() {
                has_failed.store(true, Ordering::Relaxed);
                return result;
            }
        }
        Ok(())
    };
    let [first, second] = LANES;
    thread::scope(|scope| {
        let beside = scope.spawn(|| run_lane(first));
        let result = run_lane(second);
        let beside = beside.join().expect("a lane does not panic");
        result.and(beside)
    })
}

/// Runs a step as a process of its own and prints its output when it has ended, so that the output
/// of two steps is not mixed.
fn run_alone(this: &Path, step: Step, log: &Path) -> anyhow::Result<()> {
    let output = File::create(log).with_context(|| format!("cannot make {}", log.display()))?;
    let status = Command::new(this)
        .args(["test", "--only", &step.name()])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()
        .with_context(|| format!("cannot start the step {}", step.name()))?;
    let said = fs::read(log).unwrap_or_default();
    print!("{}", String::from_utf8_lossy(&said));
    ensure!(status.success(), "{} failed: see above", step.name());
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
    fn the_lanes_have_the_last_steps() {
        let steps = Step::value_variants();
        let (_, last) =
            steps.split_at(steps.len() - LANES.iter().map(|lane| lane.len()).sum::<usize>());
        assert!(
            last.iter()
                .all(|step| LANES.iter().any(|lane| lane.contains(step)))
        );
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
