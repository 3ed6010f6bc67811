//! Performs a run: rounds, passes, and the file they are appended to.

pub(crate) mod error;
pub(crate) mod plan;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::answer::{Answer, hexadecimal};
use crate::machine::{Ticks, clock_mhz, load_one_minute};
use crate::probe::Probe;
use crate::results::{Moment, Pass, Program, Record, Results};
use crate::schedule;
use crate::worker::{Reply, Task};
use crate::worker_process::WorkerProcess;

pub use error::RunError;
pub(crate) use error::at;
pub use plan::{Existing, Plan};

/// Name of the results file in the folder of a run.
pub const RESULTS_FILE: &str = "results.jsonl";

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// The current round, from 0.
    pub round: u32,
    /// The current engine.
    pub engine: &'a str,
    /// How many engines there are.
    pub engines: usize,
    /// Completed passes, including those of the run that this one continues.
    pub passes_done: usize,
    /// The total number of passes.
    pub passes: usize,
    /// Completed tests of this pass.
    pub tests_done: usize,
    /// An estimate from the passes so far, if there are any.
    pub time_left: Option<Duration>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// All measurements, of this run and of the one it continues.
    pub results: Results,
    /// Passes that were taken over from an interrupted run.
    pub passes_resumed: usize,
    /// Rounds that did not fit into the time of the run.
    pub rounds_left_out: u32,
    /// Where an older results file was moved, and why it was not continued.
    pub set_aside: Option<(PathBuf, String)>,
}

/// Runs what is missing and returns all results.
///
/// # Errors
///
/// If files cannot be written or no worker can be started.
pub fn run(plan: &Plan, on_progress: &mut dyn FnMut(Progress<'_>)) -> Result<Outcome, RunError> {
    fs::create_dir_all(&plan.folder).map_err(|source| at(&plan.folder, source))?;
    let mut journal = Journal::open(plan)?;
    let passes_resumed = journal.results.passes.len();
    let mut pace = Pace::new();
    let mut rounds_left_out = 0;
    let count = plan.header.engines.len();
    if plan.probe {
        run_probes(plan, &mut journal, on_progress)?;
    }
    for round in 0..plan.rounds {
        if !pace.has_time_for(round, plan, &journal.results) {
            rounds_left_out = plan.rounds - round;
            break;
        }
        let order = schedule::order(plan.header.seed, round, count);
        for (place, &engine) in order.iter().enumerate() {
            let engine = &plan.header.engines[engine].name;
            if journal.results.has(round, engine) {
                continue;
            }
            let progress = Progress {
                round,
                engine,
                passes_done: journal.results.passes.len(),
                engines: count,
                passes: plan.rounds as usize * count,
                tests_done: 0,
                time_left: pace.time_left(plan, &journal.results),
            };
            let began = Instant::now();
            let (pass, answers) = run_pass(plan, round, place, progress, on_progress)?;
            pace.note(engine, began.elapsed());
            journal.append(pass, answers)?;
        }
    }
    Ok(Outcome {
        results: journal.results,
        passes_resumed,
        rounds_left_out,
        set_aside: journal.set_aside,
    })
}

/// Probes the engines that have no probe in the results file.
fn run_probes(
    plan: &Plan,
    journal: &mut Journal,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), RunError> {
    for profile in &plan.header.engines {
        let engine = &profile.name;
        let probes = &journal.results.probes;
        if probes.iter().any(|probe| probe.engine == *engine) {
            continue;
        }
        let count = plan.header.engines.len();
        on_progress(Progress {
            round: 0,
            engine,
            engines: count,
            passes_done: journal.results.passes.len(),
            passes: plan.rounds as usize * count,
            tests_done: 0,
            time_left: None,
        });
        let mut probe = run_probe(plan, engine)?;
        if probe.waits_unexpectedly(profile) {
            // A browser syncs files of its own from time to time. What an engine does, it does
            // again.
            probe = run_probe(plan, engine)?;
        }
        journal.write(&Record::Probe(probe.clone()))?;
        journal.results.probes.push(probe);
    }
    Ok(())
}

fn run_probe(plan: &Plan, engine: &str) -> Result<Probe, RunError> {
    let mut worker = WorkerProcess::start(plan, engine, Task::Probe)?;
    let mut probe = None;
    worker.listen(|reply| {
        if let Ok(Reply::Probed(found)) = reply {
            probe = Some(found);
        }
    });
    let end = worker.end()?;
    Ok(probe.unwrap_or_else(|| {
        let how = end.early.unwrap_or_default();
        let failure = format!("the worker ended early ({how}) {}", end.said);
        Probe::failed(engine, failure)
    }))
}

/// The current time and load.
pub fn moment() -> Moment {
    let unix_seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    Moment {
        unix_seconds,
        load: load_one_minute(),
        clock_mhz: clock_mhz(),
    }
}

/// This program: its version and the SHA-256 of its file.
///
/// # Errors
///
/// If the file cannot be read.
pub fn this_program(version: &str) -> Result<Program, RunError> {
    let path = std::env::current_exe().map_err(RunError::Worker)?;
    let bytes = fs::read(&path).map_err(RunError::Worker)?;
    let sha256 = hexadecimal(&Sha256::digest(&bytes));
    Ok(Program {
        version: version.to_owned(),
        sha256,
    })
}

/// Time per pass of each engine, to estimate the remaining time.
struct Pace {
    began: Instant,
    seen: HashMap<String, (Duration, u32)>,
}

impl Pace {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            seen: HashMap::new(),
        }
    }

    fn note(&mut self, engine: &str, took: Duration) {
        let entry = self.seen.entry(engine.to_owned()).or_default();
        entry.0 += took;
        entry.1 += 1;
    }

    /// What is missing of all rounds that fit into the time of the run.
    fn time_left(&self, plan: &Plan, results: &Results) -> Option<Duration> {
        let mut left = Duration::ZERO;
        for round in 0..plan.rounds {
            let of_round = self.time_of_round(round, plan, results)?;
            if left > Duration::ZERO && self.is_over_with(left + of_round, plan) {
                break;
            }
            left += of_round;
        }
        Some(left)
    }

    /// Whether the round fits into the time of the run. Of the first that is made nobody knows.
    fn has_time_for(&self, round: u32, plan: &Plan, results: &Results) -> bool {
        self.time_of_round(round, plan, results)
            .is_none_or(|of_round| of_round.is_zero() || !self.is_over_with(of_round, plan))
    }

    fn is_over_with(&self, more: Duration, plan: &Plan) -> bool {
        plan.time_limit
            .is_some_and(|limit| self.began.elapsed() + more > limit)
    }

    /// What is missing of a round takes this long: the mean time of each engine, or the overall
    /// mean for an engine without a pass.
    fn time_of_round(&self, round: u32, plan: &Plan, results: &Results) -> Option<Duration> {
        let (total, passes) = self.seen.values().fold((Duration::ZERO, 0), |sum, one| {
            (sum.0 + one.0, sum.1 + one.1)
        });
        let mean = total.checked_div(passes)?;
        let engines = plan.header.engines.iter();
        let missing = engines.filter(|engine| !results.has(round, &engine.name));
        Some(
            missing
                .map(|engine| {
                    self.seen
                        .get(&engine.name)
                        .map_or(mean, |(total, passes)| *total / *passes)
                })
                .sum(),
        )
    }
}

/// The results file, opened for appending and locked.
struct Journal {
    path: PathBuf,
    file: File,
    results: Results,
    set_aside: Option<(PathBuf, String)>,
}

/// What to do with an existing results file.
enum Found {
    Continue(Box<Journal>),
    /// It is not continued, for this reason; `None` if there is no file.
    Leave(Option<String>),
}

impl Journal {
    /// Continues an existing file, or moves it aside and creates a new one.
    fn open(plan: &Plan) -> Result<Self, RunError> {
        let path = plan.folder.join(RESULTS_FILE);
        let why = match Self::resume(plan, &path)? {
            Found::Continue(journal) => return Ok(*journal),
            Found::Leave(why) => why,
        };
        let set_aside = set_aside(&path)?.zip(why);
        let header = plan.header.clone();
        let results = Results {
            header,
            probes: vec![],
            answers: HashMap::new(),
            passes: vec![],
            resumed: vec![],
            complete_bytes: 0,
        };
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(|source| at(&path, source))?;
        lock(&file, &path)?;
        let mut journal = Self {
            path,
            file,
            results,
            set_aside,
        };
        journal.write(&Record::Header(plan.header.clone()))?;
        Ok(journal)
    }

    /// Opens the existing file, if it may be continued.
    fn resume(plan: &Plan, path: &Path) -> Result<Found, RunError> {
        let must = plan.existing == Existing::Continued;
        let mut file = match OpenOptions::new().read(true).append(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = path.to_owned();
                return if must {
                    Err(RunError::NothingToContinue { path })
                } else {
                    Ok(Found::Leave(None))
                };
            }
            Err(source) => return Err(at(path, source)),
        };
        lock(&file, path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)
            .map_err(|source| at(path, source))?;
        let results = match Results::parse(&String::from_utf8_lossy(&text)) {
            Ok(results) => results,
            Err(source) if must => {
                let path = path.to_owned();
                return Err(RunError::Results { path, source });
            }
            // Written by another version, or cut off within its first line: kept, but not
            // continued.
            Err(error) => return Ok(Found::Leave(Some(error.to_string()))),
        };
        if let Some(why) = leave_because(plan, &results) {
            let path = path.to_owned();
            return if must {
                Err(RunError::Another { path, why })
            } else {
                Ok(Found::Leave(Some(why)))
            };
        }
        file.set_len(results.complete_bytes)
            .and_then(|()| file.seek(io::SeekFrom::End(0)).map(drop))
            .map_err(|source| at(path, source))?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            results,
            set_aside: None,
        };
        let now = moment();
        journal.write(&Record::Resumed(now))?;
        journal.results.resumed.push(now);
        Ok(Found::Continue(Box::new(journal)))
    }

    /// Answers that are new to the file are written before the pass that refers to them.
    fn append(&mut self, pass: Pass, answers: Vec<Answer>) -> Result<(), RunError> {
        for answer in answers {
            if !self.results.answers.contains_key(&answer.name) {
                self.write(&Record::Answer(answer.clone()))?;
                self.results.answers.insert(answer.name.clone(), answer);
            }
        }
        self.write(&Record::Pass(pass.clone()))?;
        self.results.passes.push(pass);
        Ok(())
    }

    fn write(&mut self, record: &Record) -> Result<(), RunError> {
        self.file
            .write_all(record.to_line().as_bytes())
            .map_err(|source| at(&self.path, source))
    }
}

/// Why the results are not continued. An explicit request to continue accepts a complete file:
/// nothing is left to do then.
fn leave_because(plan: &Plan, results: &Results) -> Option<String> {
    if plan.existing == Existing::SetAside {
        return Some("a new run was asked for".to_owned());
    }
    let differences = results.header.differences(&plan.header);
    if !differences.is_empty() {
        return Some(format!("it differs in {}", differences.join(", ")));
    }
    let complete = (0..plan.rounds).all(|round| {
        plan.header
            .engines
            .iter()
            .all(|engine| results.has(round, &engine.name))
    });
    (complete && plan.existing == Existing::Either).then(|| "it is complete".to_owned())
}

/// Locks a results file. Between fork and exec a new process holds copies of its parent's locks, so
/// a lock that is taken is retried for a while.
fn lock(file: &File, path: &Path) -> Result<(), RunError> {
    const TRIES: usize = 20;
    const PAUSE: Duration = Duration::from_millis(25);
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(source)) => return Err(at(path, source)),
        }
    }
    Err(RunError::Busy {
        path: path.to_owned(),
    })
}

/// Renames an existing file to the next free number. Measurements are never overwritten.
fn set_aside(path: &Path) -> Result<Option<PathBuf>, RunError> {
    if !path.exists() {
        return Ok(None);
    }
    let free = (1u32..)
        .map(|number| path.with_extension(format!("{number}.jsonl")))
        .find(|candidate| !candidate.exists())
        .expect("there are more numbers than files");
    fs::rename(path, &free).map_err(|source| at(path, source))?;
    Ok(Some(free))
}

fn run_pass<'a>(
    plan: &Plan,
    round: u32,
    place: usize,
    mut progress: Progress<'a>,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(Pass, Vec<Answer>), RunError> {
    on_progress(progress);
    let mut pass = Pass {
        round,
        engine: progress.engine.to_owned(),
        place,
        began: moment(),
        stolen_share: None,
        creating: None,
        opening: None,
        settings: vec![],
        tests: vec![],
        closing: None,
        failure: None,
    };
    let mut answers = Vec::new();
    let ticks = Ticks::now();
    let mut worker = WorkerProcess::start(plan, progress.engine, Task::Pass)?;
    let mut unknown = None;
    worker.listen(|reply| {
        match reply {
            Ok(reply) => take_reply(&mut pass, &mut answers, reply),
            Err(line) => unknown = Some(line.to_owned()),
        }
        progress.tests_done = pass.tests.len();
        on_progress(progress);
    });
    pass.stolen_share = ticks
        .zip(Ticks::now())
        .and_then(|(before, after)| after.stolen_share_since(before));
    let end = worker.end()?;
    if pass.failure.is_none() {
        pass.failure = match (end.early, unknown) {
            // The last line may have been cut off.
            (Some(how), _) => Some(format!("the worker ended early ({how}) {}", end.said)),
            (None, Some(line)) => Some(format!("the worker said something unknown: {line}")),
            (None, None) if pass.closing.is_none() => {
                Some(format!("the worker ended before the pass did {}", end.said))
            }
            (None, None) => None,
        };
    }
    Ok((pass, answers))
}

fn take_reply(pass: &mut Pass, answers: &mut Vec<Answer>, reply: Reply) {
    match reply {
        Reply::Opened {
            creating,
            opening,
            settings,
        } => {
            pass.creating = Some(creating);
            pass.opening = Some(opening);
            pass.settings = settings;
        }
        Reply::Answer(answer) => answers.push(answer),
        Reply::Test(sample) => pass.tests.push(sample),
        Reply::Closed(closing) => pass.closing = Some(closing),
        // Not expected in a pass, or from the keeper and handled before.
        Reply::Probed(_) | Reply::Started { .. } | Reply::Ended { .. } => {}
        Reply::Failed { message } => pass.failure = Some(message),
    }
}
