//! Compares two results files: a pure function.
//!
//! The rounds of two runs are not paired, so a ratio here is the ratio of medians, and its interval
//! resamples the rounds of each run separately. Changes of the machine between the runs affect the
//! ratio; therefore the change of the reference engine and the facts that differ are reported with
//! it.

use serde::{Deserialize, Serialize};

use crate::comparison::{Comparison, EngineSummary, compare};
use crate::results::{Pass, Results, TestSample};
use crate::statistics::{ROUNDS_FOR_INTERVAL, Ratio, Verdict, unpaired_ratio, verdict};

/// Why two runs cannot be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DifferenceError {
    /// The runs have different statements.
    #[error(
        "the runs are of different workloads, {before} and {after}; only runs of the same can be \
         compared"
    )]
    Workload {
        /// Name and digest of the first.
        before: String,
        /// Name and digest of the second.
        after: String,
    },
    /// The statements were passed to the engines in different ways.
    #[error("one run handed the statements over directly and the other as scripts")]
    Mode,
    /// The runs have no engine in common.
    #[error("no engine is in both runs: {before} in the first, {after} in the second")]
    Engines {
        /// Engines of the first.
        before: String,
        /// Engines of the second.
        after: String,
    },
    /// A run has no finished pass.
    #[error("the {which} run holds no finished test of any engine that is in both")]
    Empty {
        /// "first" or "second".
        which: &'static str,
    },
}

/// Two runs of the same workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Name of the workload.
    pub workload: String,
    /// The share by which time may grow.
    pub threshold: f64,
    /// When each run began, seconds since 1970.
    pub began: (u64, u64),
    /// Rounds of each run in which every engine had its pass.
    pub rounds: (usize, usize),
    /// Other facts that differ between the runs: name, before, after.
    pub facts: Vec<(String, String, String)>,
    /// Engines in only one of the runs.
    pub unmatched: Vec<String>,
    /// Engines in both.
    pub engines: Vec<EngineDifference>,
}

/// One engine in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineDifference {
    /// Its name.
    pub engine: String,
    /// Whether this is the reference engine a second time; its changes are noise by definition.
    pub control: bool,
    /// Geometric mean over the tests.
    pub mean: Change,
    /// The tests.
    pub tests: Vec<TestDifference>,
}

/// One test of one engine in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestDifference {
    /// Number of the test, from 1.
    pub number: usize,
    /// Title of the test.
    pub title: String,
    /// Median wall time before and after, seconds.
    pub wall_s: (Option<f64>, Option<f64>),
    /// Median processor time before and after, seconds.
    pub cpu_s: (Option<f64>, Option<f64>),
    /// The change.
    pub change: Change,
    /// Why the answer is wrong now, if it was right before.
    pub wrong: Option<String>,
}

/// Ratio of after to before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// In wall time.
    pub wall: Option<Ratio>,
    /// In processor time.
    pub cpu: Option<Ratio>,
    /// The time grew by more than the threshold, and by more than noise explains.
    pub regression: bool,
    /// The time shrank by as much.
    pub improvement: bool,
}

impl Difference {
    /// The engines and tests that became slower, or wrong; the test is `None` for the mean.
    pub fn regressions(&self) -> Vec<(&EngineDifference, Option<&TestDifference>)> {
        let mut found = Vec::new();
        for engine in self.engines.iter().filter(|engine| !engine.control) {
            if engine.mean.regression {
                found.push((engine, None));
            }
            let tests = engine.tests.iter();
            found.extend(
                tests
                    .filter(|test| test.change.regression || test.wrong.is_some())
                    .map(|test| (engine, Some(test))),
            );
        }
        found
    }

    /// Whether a run has too few rounds for an interval, so that no change can be established.
    pub fn too_few_rounds(&self) -> bool {
        self.rounds.0.min(self.rounds.1) < ROUNDS_FOR_INTERVAL
    }
}

/// Compares two runs; time may grow by the share `threshold`.
///
/// # Errors
///
/// If they are not runs of the same experiment.
pub fn difference(
    before: &Results,
    after: &Results,
    threshold: f64,
) -> Result<Difference, DifferenceError> {
    let [old, new] = [before, after].map(|results| &results.header);
    if old.workload.sha256 != new.workload.sha256 {
        let name = |header: &crate::results::Header| {
            let digest = header.workload.sha256.get(..12).unwrap_or_default();
            format!("{} ({digest})", header.workload.name)
        };
        return Err(DifferenceError::Workload {
            before: name(old),
            after: name(new),
        });
    }
    if old.mode != new.mode {
        return Err(DifferenceError::Mode);
    }
    let [earlier, later] = [before, after].map(compare);
    let matched: Vec<(&EngineSummary, &EngineSummary)> = earlier
        .engines
        .iter()
        .filter_map(|one| Some((one, later.engine(&one.profile.name)?)))
        .collect();
    if matched.is_empty() {
        return Err(DifferenceError::Engines {
            before: earlier.names(),
            after: later.names(),
        });
    }
    for (results, which) in [(before, "first"), (after, "second")] {
        let some = |(one, _): &(&EngineSummary, &EngineSummary)| {
            passes_of(results, &one.profile.name).any(|pass| !pass.tests.is_empty())
        };
        if !matched.iter().any(some) {
            return Err(DifferenceError::Empty { which });
        }
    }
    let noise = noise(&matched, before, after, threshold);
    let engines = matched
        .iter()
        .map(|(one, two)| engine_difference(one, two, before, after, threshold, noise.as_ref()))
        .collect();
    Ok(Difference {
        workload: new.workload.name.clone(),
        threshold,
        began: (old.began.unix_seconds, new.began.unix_seconds),
        rounds: (earlier.rounds, later.rounds),
        facts: facts(before, after, &matched),
        unmatched: unmatched(&earlier, &later),
        engines,
    })
}

fn unmatched(earlier: &Comparison, later: &Comparison) -> Vec<String> {
    let lacking = |of: &Comparison, from: &Comparison| -> Vec<String> {
        of.engines
            .iter()
            .map(|engine| engine.profile.name.clone())
            .filter(|name| from.engine(name).is_none())
            .collect()
    };
    let mut names = lacking(earlier, later);
    names.extend(lacking(later, earlier));
    names
}

/// Differences other than times.
fn facts(
    before: &Results,
    after: &Results,
    matched: &[(&EngineSummary, &EngineSummary)],
) -> Vec<(String, String, String)> {
    let [old, new] = [before, after].map(|results| &results.header);
    let disk = |machine: &crate::machine::Machine| {
        format!("{} ({})", machine.disk.file_system, machine.disk.device)
    };
    let (one, two) = (&old.machine, &new.machine);
    let mut pairs = vec![
        (
            "program".to_owned(),
            format!("{} {}", old.program.version, short(&old.program.sha256)),
            format!("{} {}", new.program.version, short(&new.program.sha256)),
        ),
        ("processor".to_owned(), one.cpu.clone(), two.cpu.clone()),
        (
            "cores".to_owned(),
            one.cores.to_string(),
            two.cores.to_string(),
        ),
        (
            "system".to_owned(),
            one.operating_system.clone(),
            two.operating_system.clone(),
        ),
        ("kernel".to_owned(), one.kernel.clone(), two.kernel.clone()),
        ("disk".to_owned(), disk(one), disk(two)),
    ];
    for (one, two) in matched {
        for (name, value) in &one.settings {
            let now = two.settings.iter().find(|setting| setting.0 == *name);
            pairs.push((
                format!("{}: {name}", one.profile.name),
                without_identity(value),
                now.map_or_else(|| "not reported".to_owned(), |now| without_identity(&now.1)),
            ));
        }
    }
    pairs.retain(|(_, one, two)| one != two);
    pairs
}

/// A setting without the identifier that is random for every new database: it always differs, and
/// is meaningless.
fn without_identity(value: &str) -> String {
    match serde_json::from_str(value) {
        Ok(serde_json::Value::Object(mut members)) if members.contains_key("file_id") => {
            members.remove("file_id");
            serde_json::Value::Object(members).to_string()
        }
        _ => value.to_owned(),
    }
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// The change of the control between the runs, if there is one: the noise.
fn noise(
    matched: &[(&EngineSummary, &EngineSummary)],
    before: &Results,
    after: &Results,
    threshold: f64,
) -> Option<Change> {
    let (one, two) = matched.iter().find(|(one, _)| one.profile.control)?;
    Some(engine_difference(one, two, before, after, threshold, None).mean)
}

fn passes_of<'a>(results: &'a Results, engine: &'a str) -> impl Iterator<Item = &'a Pass> {
    results
        .passes
        .iter()
        .filter(move |pass| pass.engine == engine)
}

fn engine_difference(
    one: &EngineSummary,
    two: &EngineSummary,
    before: &Results,
    after: &Results,
    threshold: f64,
    noise: Option<&Change>,
) -> EngineDifference {
    let name = &one.profile.name;
    let right: Vec<usize> = (0..one.cells.len())
        .filter(|&test| one.cells[test].wrong.is_none())
        .filter(|&test| two.cells.get(test).is_some_and(|cell| cell.wrong.is_none()))
        .collect();
    let change = |tests: &[usize], noise: Option<&Change>| {
        let ratio = |pick: fn(&TestSample) -> Option<u64>| {
            let [old, new] = [before, after].map(|results| rounds(results, name, tests, pick));
            unpaired_ratio(&old, &new, after.header.seed)
        };
        judged(
            ratio(|test| Some(test.wall_ns())),
            ratio(TestSample::cpu_ns),
            threshold,
            noise,
        )
    };
    let tests = one
        .cells
        .iter()
        .zip(&two.cells)
        .zip(&after.header.workload.tests)
        .enumerate()
        .map(|(test, ((old, new), title))| TestDifference {
            number: test + 1,
            title: title.clone(),
            wall_s: (old.wall_s, new.wall_s),
            cpu_s: (old.cpu_s, new.cpu_s),
            change: if right.contains(&test) {
                change(&[test], None)
            } else {
                Change::default()
            },
            wrong: new.wrong.clone().filter(|_| old.wrong.is_none()),
        });
    EngineDifference {
        engine: name.clone(),
        control: one.profile.control,
        mean: change(&right, noise),
        tests: tests.collect(),
    }
}

/// The times of the tests, for each round that has all of them.
fn rounds(
    results: &Results,
    engine: &str,
    tests: &[usize],
    pick: fn(&TestSample) -> Option<u64>,
) -> Vec<Vec<f64>> {
    /// The resolution of the processor clock, nanoseconds.
    const SHORTEST_NS: u64 = 1000;
    let time = |pass: &Pass, test: usize| {
        let sample = pass
            .tests
            .iter()
            .find(|sample| sample.number as usize == test + 1)?;
        Some(pick(sample)?.max(SHORTEST_NS) as f64)
    };
    passes_of(results, engine)
        .filter_map(|pass| tests.iter().map(|&test| time(pass, test)).collect())
        .collect()
}

fn judged(
    wall: Option<Ratio>,
    cpu: Option<Ratio>,
    threshold: f64,
    noise: Option<&Change>,
) -> Change {
    let beyond = |ratio: Option<Ratio>, noise: Option<Ratio>, wanted: Verdict| {
        ratio.is_some_and(|ratio| {
            verdict(&ratio, noise.as_ref()) == wanted
                && ratio.value.ln().abs() > (1.0 + threshold).ln()
        })
    };
    let either = |wanted| {
        beyond(wall, noise.and_then(|noise| noise.wall), wanted)
            || beyond(cpu, noise.and_then(|noise| noise.cpu), wanted)
    };
    Change {
        wall,
        cpu,
        regression: either(Verdict::Slower),
        improvement: either(Verdict::Faster),
    }
}
