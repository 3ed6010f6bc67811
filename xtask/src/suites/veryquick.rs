//! Runs scripts of SQLite's suite in three modes, several in parallel, and compares the modes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Context;

use super::differences::Found;
use super::script::{Bench, Mode, Outcome};

/// The result of each script in one mode.
pub type Outcomes = BTreeMap<String, Outcome>;

/// Runs scripts in a mode, `jobs` in parallel, and returns their results.
pub fn run(bench: &Bench, mode: Mode, scripts: &[String], jobs: usize) -> anyhow::Result<Outcomes> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Ok(Outcomes::new()));
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, scripts.len().max(1)) {
            scope.spawn(|| {
                while let Some(script) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = bench.run(mode, script);
                    let mut outcomes = outcomes.lock().expect("no holder panics");
                    match (outcome, outcomes.as_mut()) {
                        (Ok(outcome), Ok(outcomes)) => {
                            outcomes.insert(script.clone(), outcome);
                        }
                        (Err(error), Ok(_)) => *outcomes = Err(error),
                        (_, Err(_)) => return,
                    }
                }
            });
        }
    });
    outcomes.into_inner().expect("no holder panics")
}

/// Saves the results in a file, for investigation.
pub fn write(work: &Path, mode: Mode, outcomes: &Outcomes) -> anyhow::Result<()> {
    let folder = work.join("results");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{}.json", mode.name()));
    fs::write(&file, serde_json::to_string_pretty(outcomes)?)
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The saved results of an earlier run.
pub fn read(work: &Path, mode: Mode) -> anyhow::Result<Outcomes> {
    let file = work.join("results").join(format!("{}.json", mode.name()));
    let text = fs::read_to_string(&file)
        .with_context(|| format!("no earlier run has left {}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// Scripts, tests and failures of a mode.
pub fn summary(mode: Mode, outcomes: &Outcomes) -> String {
    let tests: u64 = outcomes.values().map(|outcome| outcome.tests).sum();
    let failed: usize = outcomes.values().map(|outcome| outcome.failed.len()).sum();
    let seconds: f64 = outcomes.values().map(|outcome| outcome.seconds).sum();
    format!(
        "{}: {} scripts, {tests} tests, {failed} failed, {seconds:.0} s of work",
        mode.name(),
        outcomes.len()
    )
}

/// Tests of a script that failed in `mode` and in none of the others.
pub fn differences(mode: &Outcomes, others: &[&Outcomes]) -> Found {
    let mut differences = Found::new();
    for (script, outcome) in mode {
        let elsewhere = |test: &String| {
            let mut found = others.iter().filter_map(|other| other.get(script));
            found.any(|other| other.failed.contains(test))
        };
        let own = outcome.failed.iter().filter(|test| !elsewhere(test));
        let own: BTreeSet<String> = own.cloned().collect();
        if !own.is_empty() {
            differences.insert(script.clone(), own);
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(failed: &[(&str, &[&str])]) -> Outcomes {
        let outcome = |tests: &[&str]| Outcome {
            failed: tests.iter().map(|&test| test.to_owned()).collect(),
            ..Outcome::default()
        };
        let scripts = failed.iter();
        scripts
            .map(|(script, tests)| ((*script).to_owned(), outcome(tests)))
            .collect()
    }

    #[test]
    fn what_fails_without_us_too_is_no_difference() {
        let ours = outcomes(&[("a.test", &["1", "2", "3"]), ("b.test", &["1"])]);
        let stock = outcomes(&[("a.test", &["1"]), ("b.test", &[])]);
        let reserved = outcomes(&[("a.test", &["3"]), ("b.test", &["1"])]);
        let found = differences(&ours, &[&stock, &reserved]);
        assert_eq!(found.len(), 1);
        assert!(found["a.test"].iter().eq(["2"]));
    }
}
