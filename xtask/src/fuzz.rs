//! `fuzz`: libFuzzer on the targets of `crates/fuzz-targets`, with the stable toolchain.
//!
//! libFuzzer needs an LLVM pass with options, which `-C passes` and `-C llvm-args` select; neither
//! a nightly toolchain nor another cargo command is needed.

mod coverage;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, bail};

use crate::command::run as run_command;
use crate::sanitizer;

const FOLDER: &str = "fuzz";
/// Maximum input size; the targets read less.
const INPUT_SIZE_MAX: usize = 1024;

/// The instrumentation that libFuzzer needs: edge counters, their addresses, and operands of
/// comparisons (clang.llvm.org/docs/SanitizerCoverage.html).
const COUNTERS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];

/// What to fuzz, and for how long.
#[derive(clap::Args)]
pub struct Options {
    /// One target alone; the folders of `fuzz/corpus` are the targets.
    target: Option<String>,
    /// Minutes for each target.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Give one file to the target and stop.
    #[arg(long, value_name = "FILE", requires = "target")]
    replay: Option<PathBuf>,
    /// Put what was found into the corpus and minimise it.
    #[arg(long)]
    keep: bool,
    /// Compare `sql-rewrite` with PostgreSQL's own grammar: needs libclang, and a minute to build.
    #[arg(long)]
    oracle: bool,
    /// Leave out the measurement of what was reached.
    #[arg(long)]
    no_coverage: bool,
}

/// A long run.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let targets = match &options.target {
        Some(name) => vec![name.clone()],
        None => targets()?,
    };
    let fuzzer = Fuzzer::build(options.oracle)?;
    if let (Some(file), Some(target)) = (&options.replay, &options.target) {
        return run_command(fuzzer.command(target).arg(file));
    }
    let outcome = fuzzer.run_all(&targets, options.minutes * 60);
    if options.keep {
        for target in &targets {
            fuzzer.keep(target)?;
        }
    }
    if !options.no_coverage {
        coverage::report()?;
    }
    outcome
}

/// The folders of the corpus; a test compares them with the code.
fn targets() -> anyhow::Result<Vec<String>> {
    let folder = Path::new(FOLDER).join("corpus");
    let entries = fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

struct Fuzzer {
    program: PathBuf,
    seed: String,
}

/// A running target, and its output.
struct Run<'a> {
    target: &'a str,
    child: Child,
    log: PathBuf,
}

impl Run<'_> {
    /// Waits for the end and prints a summary; returns false if something was found.
    fn finish(&mut self) -> anyhow::Result<bool> {
        let status = self.child.wait()?;
        let log = fs::read(&self.log)?;
        let log = String::from_utf8_lossy(&log);
        if status.success() {
            println!("{}: {}", self.target, summary(&log));
            return Ok(true);
        }
        println!("{}: FOUND SOMETHING ({})", self.target, self.log.display());
        let told = log.lines().filter(|line| is_telling(line));
        for line in told.take(LINES_MAX) {
            println!("    {line}");
        }
        Ok(false)
    }
}

/// Lines of a failed run that are worth showing.
const LINES_MAX: usize = 30;

fn is_telling(line: &str) -> bool {
    const SIGNS: [&str; 6] = [
        "ERROR",
        "panicked",
        "SUMMARY",
        "Test unit",
        "Base64",
        "    #",
    ];
    SIGNS.iter().any(|sign| line.contains(sign))
}

/// The number of executions, and the final count of edges.
fn summary(log: &str) -> String {
    let word_after = |line: &str, word: &str| {
        let (_, rest) = line.split_once(word)?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let edges = log.lines().rev().find_map(|line| word_after(line, "cov: "));
    let runs = log.lines().rev().find_map(|line| {
        let rest = line.strip_prefix("Done ")?;
        Some(rest.trim().to_owned())
    });
    format!(
        "{}, {} edges reached",
        runs.unwrap_or_else(|| "no runs counted".to_owned()),
        edges.unwrap_or_else(|| "no".to_owned())
    )
}

impl Fuzzer {
    /// Builds the program, if asked for with PostgreSQL's own grammar for targets that use it.
    fn build(with_oracle: bool) -> anyhow::Result<Self> {
        let sanitized = sanitizer::has_runtime("asan")?;
        let mut flags = Vec::new();
        if sanitized {
            flags.extend(sanitizer::ADDRESS);
        } else {
            println!("this toolchain has no address sanitizer: fuzzing without it");
        }
        flags.extend(COUNTERS);
        // Fuzzed with the dependencies that are shipped; cargo adds libFuzzer's.
        fs::copy("Cargo.lock", Path::new(FOLDER).join("Cargo.lock"))?;
        let manifest = ["--manifest-path", "fuzz/Cargo.toml"];
        let mut build = sanitizer::command(&flags, sanitized)?;
        build.args(["build", "--release", "--quiet"]);
        if with_oracle {
            build.args(["--features", "oracle"]);
        }
        run_command(build.args(manifest).args(["--target-dir", "fuzz/target"]))?;
        let host = sanitizer::host()?;
        Ok(Self {
            program: PathBuf::from(format!("fuzz/target/{host}/release/strongroom-fuzz")),
            seed: std::env::var("STRONGROOM_FUZZ_SEED").unwrap_or_else(|_| "1".to_owned()),
        })
    }

    /// The command for one target. Leaks are failures, and so are inputs that take 20 seconds.
    fn command(&self, target: &str) -> Command {
        let mut command = crate::command::program(&self.program.to_string_lossy());
        command
            .env("STRONGROOM_FUZZ_TARGET", target)
            .env("ASAN_OPTIONS", sanitizer::ADDRESS_OPTIONS)
            .arg(format!("-seed={}", self.seed))
            .arg(format!("-max_len={INPUT_SIZE_MAX}"))
            .arg(format!("-artifact_prefix={FOLDER}/artifacts/{target}/"))
            .args(["-timeout=20", "-rss_limit_mb=4096"]);
        command
    }

    /// Runs each target for this many seconds, as many in parallel as there are processors.
    fn run_all(&self, targets: &[String], seconds: u64) -> anyhow::Result<()> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let mut failed = Vec::new();
        for group in targets.chunks(processors) {
            let mut runs = group
                .iter()
                .map(|target| self.start(target, seconds))
                .collect::<anyhow::Result<Vec<_>>>()?;
            for run in &mut runs {
                if !run.finish()? {
                    failed.push(run.target);
                }
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        bail!(
            "{}: see above; `cargo xtask fuzz TARGET --replay FILE` runs a file again (seed {})",
            failed.join(", "),
            self.seed
        )
    }

    fn start<'a>(&self, target: &'a str, seconds: u64) -> anyhow::Result<Run<'a>> {
        let (found, artifacts) = (folder("found", target)?, folder("artifacts", target)?);
        let log = artifacts.join("log");
        let mut command = self.command(target);
        command
            .arg(format!("-max_total_time={seconds}"))
            .args([&found, &folder("corpus", target)?])
            .stdout(Stdio::null())
            .stderr(File::create(&log)?);
        let child = command.spawn().context("the fuzzer does not start")?;
        Ok(Run { target, child, log })
    }

    /// Replaces the corpus by the fewest inputs with the combined coverage of corpus and finds.
    fn keep(&self, target: &str) -> anyhow::Result<()> {
        let corpus = folder("corpus", target)?;
        let merged = folder("merged", target)?;
        let mut merge = self.command(target);
        merge.arg("-merge=1").args([&merged, &corpus]);
        run_command(merge.arg(folder("found", target)?))?;
        fs::remove_dir_all(&corpus)?;
        fs::rename(&merged, &corpus)?;
        Ok(())
    }
}

fn folder(kind: &str, target: &str) -> anyhow::Result<PathBuf> {
    let folder = Path::new(FOLDER).join(kind).join(target);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_told() {
        let log =
            "#2\tINITED cov: 16 ft: 16\n#9\tNEW    cov: 18 ft: 20\nDone 99 runs in 8 second(s)";
        assert_eq!(summary(log), "99 runs in 8 second(s), 18 edges reached");
    }

    #[test]
    fn what_tells_of_a_find_is_shown() {
        assert!(is_telling(
            "==1==ERROR: AddressSanitizer: heap-use-after-free"
        ));
        assert!(!is_telling("#9\tNEW    cov: 18 ft: 20"));
    }
}
