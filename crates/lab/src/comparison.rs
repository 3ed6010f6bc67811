//! Evaluates a results file: a pure function.

use serde::{Deserialize, Serialize};

use crate::concurrent::ConcurrentSample;
use crate::engine::Profile;
use crate::measure::{Sample, ServerPart, ServerUsage};
use crate::probe::Probe;
use crate::results::{Header, Moment, NotPossible, Pass, Results, TestSample};
use crate::statistics::{Ratio, mean_ratio, median, paired_ratio};

mod sums;
mod tpcc;
mod verdicts;

pub use tpcc::{TpccCell, TpccKindCell, TpccRunCell};

/// Shortest time that a ratio is computed from: the resolution of the processor clock, in
/// nanoseconds.
const CLOCK_RESOLUTION_NS: u64 = 1000;

/// All engines side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The workload, the program and the machine.
    pub header: Header,
    /// The engines, in the order of the header.
    pub engines: Vec<EngineSummary>,
    /// Rounds in which every engine had its pass.
    pub rounds: usize,
    /// The largest share of processor time that the hypervisor gave to other guests during a pass.
    pub stolen_share_max: Option<f64>,
    /// Smallest and largest load at the start of a pass.
    pub load: Option<(f64, f64)>,
    /// Slowest and fastest processor clock at the start of a pass, MHz.
    pub clock_mhz: Option<(f64, f64)>,
}

/// One engine over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineSummary {
    /// What it is.
    pub profile: Profile,
    /// The engine its ratios refer to; `None` if its base is not in this run.
    pub base: Option<String>,
    /// Settings as the engine reported them in its first pass.
    pub settings: Vec<(String, String)>,
    /// One cell for each test of the workload.
    pub cells: Vec<Cell>,
    /// Geometric mean of the wall-time ratios of the tests with right answers.
    pub wall_mean: Option<Ratio>,
    /// Geometric mean of the processor-time ratios of the tests with right answers.
    pub cpu_mean: Option<Ratio>,
    /// Median over rounds of the sum of all tests, wall, seconds.
    pub wall_total_s: Option<f64>,
    /// The same sum for each round; `None` if the pass failed or left tests out.
    pub wall_sums_s: Vec<Option<f64>>,
    /// Median over rounds of the sum of all tests, processor time, seconds.
    pub cpu_total_s: Option<f64>,
    /// The server's part of the work, if it has a server that was measured.
    pub server: Option<ServerSummary>,
    /// Median time to create the database, seconds.
    pub creating_s: Option<f64>,
    /// Median time to open the existing database, seconds.
    pub opening_s: Option<f64>,
    /// Median of the peak memory of a pass, bytes.
    pub peak_memory_bytes: Option<f64>,
    /// Median bytes moved by read calls in all tests.
    pub read_bytes: Option<f64>,
    /// Median bytes moved by write calls in all tests.
    pub written_bytes: Option<f64>,
    /// Median size of the files it left, bytes.
    pub file_bytes: Option<f64>,
    /// Whether words of the rows were readable in its files after closing.
    pub readable_on_disk: Option<bool>,
    /// What the probe found before the first round.
    pub probe: Option<Probe>,
    /// Observations that contradict the engine's profile, as sentences.
    pub contradictions: Vec<String>,
    /// Passes that completed.
    pub passes: usize,
    /// Test runs whose answer was checked and right.
    pub answers_right: usize,
    /// Facts about the tables that were checked, in tests where all of them held.
    pub facts: usize,
    /// What went wrong in passes that did not complete.
    pub failures: Vec<String>,
}

impl Comparison {
    /// The engine of that name.
    pub fn engine(&self, name: &str) -> Option<&EngineSummary> {
        self.engines
            .iter()
            .find(|engine| engine.profile.name == name)
    }

    /// The names of all engines, with commas between them.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self
            .engines
            .iter()
            .map(|engine| engine.profile.name.as_str())
            .collect();
        names.join(", ")
    }

    /// The engines that are compared with a base, without the control.
    pub fn contenders(&self) -> impl Iterator<Item = &EngineSummary> {
        self.engines
            .iter()
            .filter(|engine| engine.base.is_some() && !engine.profile.control)
    }
}

impl EngineSummary {
    /// The number of tests with a wrong answer.
    pub fn wrong_count(&self) -> usize {
        self.cells
            .iter()
            .filter(|cell| cell.wrong.is_some())
            .count()
    }
}

/// What the processes of a server used, medians over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ServerSummary {
    /// Processor time of all tests, seconds.
    pub cpu_s: f64,
    /// Largest memory at the end of a test, bytes: the proportional set size of all processes.
    pub memory_bytes: f64,
    /// Bytes moved by read calls, including those from the client.
    pub read_bytes: f64,
    /// Bytes moved by write calls, including those to the client.
    pub written_bytes: f64,
}

/// A step of several connections, medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConcurrentCell {
    /// How many connections there are.
    pub connections: u32,
    /// Operations per second that are scheduled; `None` in a closed step.
    pub rate: Option<u32>,
    /// Committed operations per second.
    pub throughput: f64,
    /// Median latency of the operations, from the time one was due, seconds.
    pub p50_s: f64,
    /// 90th percentile.
    pub p90_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// 99.9th percentile.
    pub p999_s: f64,
    /// The longest.
    pub max_s: f64,
    /// How often the engine reported that something is locked.
    pub busy: f64,
    /// How often the engine resolved a deadlock.
    pub deadlocks: f64,
    /// How often an operation was retried.
    pub retries: f64,
    /// Operations that were given up.
    pub given_up: f64,
    /// Operations that were due and never started.
    pub not_begun: f64,
}

/// One engine in one test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Median wall time, seconds.
    pub wall_s: Option<f64>,
    /// Median processor time, seconds.
    pub cpu_s: Option<f64>,
    /// The server's part of the median processor time, seconds, if it has a server that was
    /// measured.
    pub server_cpu_s: Option<f64>,
    /// Results of a test with several connections.
    pub concurrent: Option<ConcurrentCell>,
    /// Results of a test of workload `tpcc`.
    pub tpcc: Option<TpccCell>,
    /// Wall time over that of the base, rounds paired.
    pub wall_ratio: Option<Ratio>,
    /// Processor time over that of the base, rounds paired.
    pub cpu_ratio: Option<Ratio>,
    /// The wall-time ratio of each round, in order.
    pub wall_points: Vec<f64>,
    /// The processor-time ratio of each round.
    pub cpu_points: Vec<f64>,
    /// Why the answer is wrong; such a test has no ratios.
    pub wrong: Option<String>,
    /// Why the engine cannot run the test; such a test has no times.
    pub not_possible: Option<NotPossible>,
}

/// Evaluates a results file.
pub fn compare(results: &Results) -> Comparison {
    let header = &results.header;
    let mut engines: Vec<EngineSummary> = header
        .engines
        .iter()
        .map(|profile| with_probe(summary(profile, results), results))
        .collect();
    for place in 0..engines.len() {
        let Some(base) = engines[place].base.clone() else {
            continue;
        };
        let base_wrong: Vec<bool> = engines
            .iter()
            .find(|engine| engine.profile.name == base)
            .map(|engine| {
                engine
                    .cells
                    .iter()
                    .map(|cell| cell.wrong.is_some() || cell.not_possible.is_some())
                    .collect()
            })
            .unwrap_or_default();
        add_ratios(&mut engines[place], &base, &base_wrong, results);
    }
    let range = |pick: fn(&Moment) -> Option<f64>| {
        let values: Vec<f64> = results
            .passes
            .iter()
            .filter_map(|pass| pick(&pass.began))
            .collect();
        let least = values.iter().copied().min_by(f64::total_cmp);
        least.zip(values.iter().copied().max_by(f64::total_cmp))
    };
    Comparison {
        header: header.clone(),
        rounds: complete_rounds(results),
        stolen_share_max: results
            .passes
            .iter()
            .filter_map(|pass| pass.stolen_share)
            .max_by(f64::total_cmp),
        load: range(|began| began.load),
        clock_mhz: range(|began| began.clock_mhz),
        engines,
    }
}

fn complete_rounds(results: &Results) -> usize {
    (0..sums::rounds(results))
        .filter(|&round| {
            results
                .header
                .engines
                .iter()
                .all(|engine| results.has(round, &engine.name))
        })
        .count()
}

fn passes_of<'a>(results: &'a Results, engine: &str) -> impl Iterator<Item = &'a Pass> {
    results
        .passes
        .iter()
        .filter(move |pass| pass.engine == engine)
}

/// The sample of a test in a pass, if the test was possible.
fn sample_of(pass: &Pass, test: usize) -> Option<&TestSample> {
    pass.tests
        .iter()
        .find(|sample| sample.number as usize == test + 1 && sample.not_possible.is_none())
}

/// Why an engine cannot do a test.
fn not_possible(engine: &str, test: usize, results: &Results) -> Option<NotPossible> {
    passes_of(results, engine)
        .flat_map(|pass| &pass.tests)
        .filter(|sample| sample.number as usize == test + 1)
        .find_map(|sample| sample.not_possible.clone())
}

/// An answer, and the engine that gave it.
#[derive(Clone, Copy)]
struct Reference<'a> {
    engine: &'a str,
    answer: &'a str,
}

/// The answer that all others are compared with: that of the first engine whose answer does not
/// contradict a known fact.
fn reference_answer(results: &Results, test: usize) -> Option<Reference<'_>> {
    results.header.engines.iter().find_map(|engine| {
        passes_of(results, &engine.name)
            .filter_map(|pass| sample_of(pass, test))
            .find(|sample| sample.contradiction.is_none())
            .map(|sample| Reference {
                engine: &engine.name,
                answer: &sample.answer,
            })
    })
}

fn wrong_because(
    sample: &TestSample,
    reference: Option<Reference<'_>>,
    results: &Results,
) -> Option<String> {
    if let Some(contradiction) = &sample.contradiction {
        return Some(contradiction.clone());
    }
    let Reference { engine, answer } = reference?;
    if answer == sample.answer {
        return None;
    }
    let answers = results
        .answers
        .get(&sample.answer)
        .zip(results.answers.get(answer));
    match answers {
        Some((answer, reference)) => answer
            .difference(reference)
            .map(|difference| format!("not the answer of {engine}: {difference}")),
        None => Some(format!(
            "not the answer of {engine}, and the results file does not tell where"
        )),
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The median over passes of the value that `pick` returns.
fn median_of<'a>(
    passes: impl Iterator<Item = &'a Pass>,
    pick: impl Fn(&Pass) -> Option<f64>,
) -> Option<f64> {
    median(&passes.filter_map(pick).collect::<Vec<f64>>())
}

/// Whether a pass completed this many tests.
fn has_ended(pass: &Pass, tests: usize) -> bool {
    pass.failure.is_none() && pass.tests.len() == tests
}

/// Everything about an engine that needs no other engine than the reference.
fn summary(profile: &Profile, results: &Results) -> EngineSummary {
    let name = &profile.name;
    let tests = results.header.workload.tests.len();
    let ended = |pass: &&Pass| has_ended(pass, tests);
    let median_ended = |pick: &dyn Fn(&Pass) -> Option<f64>| {
        median_of(passes_of(results, name).filter(ended), pick)
    };
    let wall_of = |pick: &dyn Fn(&Pass) -> Option<Sample>| {
        median_of(passes_of(results, name), |pass| {
            pick(pass).map(|one| seconds(one.wall_ns))
        })
    };
    let cells: Vec<Cell> = (0..tests).map(|test| cell(name, test, results)).collect();
    let known = |base: &&String| results.header.engines.iter().any(|one| one.name == **base);
    EngineSummary {
        profile: profile.clone(),
        base: profile.base.as_ref().filter(known).cloned(),
        settings: passes_of(results, name)
            .find(|pass| !pass.settings.is_empty())
            .map(|pass| pass.settings.clone())
            .unwrap_or_default(),
        cells,
        wall_mean: None,
        cpu_mean: None,
        wall_total_s: median_ended(&|pass| sum(pass, |one| Some(one.wall_ns)).map(|ns| ns / 1e9)),
        wall_sums_s: sums::of(name, results),
        cpu_total_s: median_ended(&|pass| sum(pass, |one| one.cpu_ns()).map(|ns| ns / 1e9)),
        server: server_of(name, results),
        creating_s: wall_of(&|pass| pass.creating),
        opening_s: wall_of(&|pass| pass.opening),
        peak_memory_bytes: median_ended(&|pass| {
            pass.tests
                .iter()
                .filter_map(|test| test.sample.peak_memory_bytes)
                .max()
                .map(to_float)
        }),
        read_bytes: median_ended(&|pass| sum(pass, |one| one.read_bytes)),
        written_bytes: median_ended(&|pass| sum(pass, |one| one.written_bytes)),
        readable_on_disk: passes_of(results, name)
            .filter_map(|pass| {
                pass.closing
                    .as_ref()
                    .map(|closing| closing.readable_on_disk)
            })
            .reduce(|any, one| any || one),
        file_bytes: median_of(passes_of(results, name), |pass| {
            pass.closing
                .as_ref()
                .map(|closing| to_float(closing.file_bytes))
        }),
        probe: None,
        contradictions: vec![],
        passes: passes_of(results, name).filter(ended).count(),
        answers_right: answers_right(name, tests, results),
        facts: passes_of(results, name)
            .flat_map(|pass| &pass.tests)
            .filter(|test| test.contradiction.is_none())
            .map(|test| test.facts)
            .sum(),
        failures: passes_of(results, name)
            .filter_map(|pass| pass.failure.clone())
            .collect(),
    }
}

/// Sums over all tests of a pass. If one is not possible there is no sum, since a smaller sum would
/// look like a win.
fn sum(pass: &Pass, pick: fn(&Sample) -> Option<u64>) -> Option<f64> {
    let parts = pass.tests.iter();
    parts
        .map(|test| pick(&test.sample).filter(|_| test.not_possible.is_none()))
        .sum::<Option<u64>>()
        .map(to_float)
}

fn server_usage(sample: &Sample) -> Option<ServerUsage> {
    match sample.server {
        Some(ServerPart::Yes(usage)) => Some(usage),
        Some(ServerPart::No) | None => None,
    }
}

fn server_cpu_ns(usage: ServerUsage) -> u64 {
    usage.user_ns + usage.system_ns
}

fn server_of(name: &str, results: &Results) -> Option<ServerSummary> {
    let over_tests = |join: fn(u64, u64) -> u64, pick: fn(ServerUsage) -> u64| {
        median_of(passes_of(results, name), |pass| {
            let usages = pass.tests.iter().map(|test| server_usage(&test.sample));
            let parts = usages.map(|usage| usage.map(pick));
            let parts = parts.collect::<Option<Vec<u64>>>()?;
            parts.into_iter().reduce(join).map(to_float)
        })
    };
    let both = |one: u64, two: u64| one + two;
    Some(ServerSummary {
        cpu_s: over_tests(both, server_cpu_ns)? / 1e9,
        memory_bytes: over_tests(u64::max, |usage| usage.memory_bytes)?,
        read_bytes: over_tests(both, |usage| usage.read_bytes)?,
        written_bytes: over_tests(both, |usage| usage.written_bytes)?,
    })
}

fn with_probe(mut engine: EngineSummary, results: &Results) -> EngineSummary {
    let name = &engine.profile.name;
    engine.probe = results
        .probes
        .iter()
        .find(|probe| probe.engine == *name)
        .cloned();
    if let Some(probe) = &engine.probe {
        engine.contradictions = probe.contradictions(&engine.profile);
    }
    let is_timed = |cell: &Cell| cell.concurrent.is_some() || cell.tpcc.is_some();
    if engine.cells.iter().any(is_timed) {
        // The sum of steps with a fixed duration says nothing.
        (engine.wall_total_s, engine.cpu_total_s) = (None, None);
        engine.wall_sums_s.fill(None);
    }
    engine
}

/// How many answers of all passes agree with the reference answer.
fn answers_right(name: &str, tests: usize, results: &Results) -> usize {
    (0..tests)
        .map(|test| {
            let reference = reference_answer(results, test);
            passes_of(results, name)
                .filter_map(|pass| sample_of(pass, test))
                .filter(|sample| wrong_because(sample, reference, results).is_none())
                .count()
        })
        .sum()
}

fn to_float(bytes: u64) -> f64 {
    bytes as f64
}

fn cell(engine: &str, test: usize, results: &Results) -> Cell {
    let reference = reference_answer(results, test);
    let samples: Vec<&TestSample> = passes_of(results, engine)
        .filter_map(|pass| sample_of(pass, test))
        .collect();
    let times = |pick: &dyn Fn(&TestSample) -> Option<u64>| {
        median(
            &samples
                .iter()
                .filter_map(|one| pick(one).map(seconds))
                .collect::<Vec<f64>>(),
        )
    };
    Cell {
        wall_s: times(&wall_ns),
        cpu_s: times(&TestSample::cpu_ns),
        server_cpu_s: times(&|test| {
            let usage = server_usage(&test.sample)?;
            let operations = test
                .concurrent
                .as_ref()
                .map_or(1, |step| step.completed.max(1));
            Some(server_cpu_ns(usage) / operations)
        }),
        concurrent: concurrent_of(&samples),
        tpcc: tpcc::cell(&samples),
        wrong: samples
            .iter()
            .find_map(|sample| wrong_because(sample, reference, results)),
        not_possible: not_possible(engine, test, results),
        ..Cell::default()
    }
}

/// Medians over the rounds of a test with several connections.
fn concurrent_of(samples: &[&TestSample]) -> Option<ConcurrentCell> {
    let steps: Vec<&ConcurrentSample> = samples
        .iter()
        .filter_map(|sample| sample.concurrent.as_ref())
        .collect();
    let of = |pick: &dyn Fn(&ConcurrentSample) -> f64| {
        median(&steps.iter().map(|step| pick(step)).collect::<Vec<f64>>())
    };
    let first = steps.first()?;
    Some(ConcurrentCell {
        connections: first.step.connections,
        rate: first.step.rate,
        throughput: of(&ConcurrentSample::throughput)?,
        p50_s: of(&|step| seconds(step.latency.p50_ns))?,
        p90_s: of(&|step| seconds(step.latency.p90_ns))?,
        p99_s: of(&|step| seconds(step.latency.p99_ns))?,
        p999_s: of(&|step| seconds(step.latency.p999_ns))?,
        max_s: of(&|step| seconds(step.latency.max_ns))?,
        busy: of(&|step| to_float(step.busy))?,
        deadlocks: of(&|step| to_float(step.deadlocks))?,
        retries: of(&|step| to_float(step.retries))?,
        given_up: of(&|step| to_float(step.given_up))?,
        not_begun: of(&|step| to_float(step.not_begun))?,
    })
}

fn wall_ns(test: &TestSample) -> Option<u64> {
    Some(test.wall_ns())
}

/// Computes the ratio of each test and their geometric means, from the rounds in which both engines
/// completed.
fn add_ratios(engine: &mut EngineSummary, base: &str, base_wrong: &[bool], results: &Results) {
    let name = engine.profile.name.clone();
    let seed = results.header.seed;
    let pair = |round: u32, test: usize, pick: fn(&TestSample) -> Option<u64>| {
        let of = |engine: &str| {
            let pass = passes_of(results, engine).find(|pass| pass.round == round)?;
            let time = pick(sample_of(pass, test)?)?;
            Some(time.max(CLOCK_RESOLUTION_NS) as f64)
        };
        Some((of(&name)?, of(base)?))
    };
    let rounds: Vec<u32> = passes_of(results, &name).map(|pass| pass.round).collect();
    let right: Vec<usize> = (0..engine.cells.len())
        .filter(|&test| engine.cells[test].wrong.is_none())
        .filter(|&test| engine.cells[test].not_possible.is_none())
        .filter(|&test| !base_wrong.get(test).copied().unwrap_or(true))
        .collect();
    for &test in &right {
        let ratio = |pick| {
            let pairs: Vec<_> = rounds
                .iter()
                .filter_map(|&round| pair(round, test, pick))
                .collect();
            let points = pairs.iter().map(|(engine, base)| engine / base).collect();
            (paired_ratio(&pairs, seed), points)
        };
        let cell = &mut engine.cells[test];
        (cell.wall_ratio, cell.wall_points) = ratio(wall_ns);
        (cell.cpu_ratio, cell.cpu_points) = ratio(TestSample::cpu_ns);
    }
    // The tables of `tpcc` are filled only once, so only its terminals count.
    let is_mean = |test: &usize| {
        let tpcc = engine.cells[*test].tpcc.as_ref();
        tpcc.is_none_or(|tpcc| tpcc.run.is_some())
    };
    let right: Vec<usize> = right.into_iter().filter(is_mean).collect();
    let mean = |pick| {
        let whole: Vec<Vec<(f64, f64)>> = rounds
            .iter()
            .filter_map(|&round| right.iter().map(|&test| pair(round, test, pick)).collect())
            .collect();
        mean_ratio(&whole, seed)
    };
    engine.wall_mean = mean(wall_ns);
    engine.cpu_mean = mean(TestSample::cpu_ns);
}
