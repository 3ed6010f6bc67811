//! Executes one pass, in a separate process.
//!
//! The worker reads one request, a line of JSON, from its standard input and writes a line of JSON
//! for each completed step. If it dies, the lines written so far are what is known. Its standard
//! input stays open as long as the lab lives.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use workloads::tpcc::consistency::Acknowledged as AcknowledgedOrders;
use workloads::{Fact, Spec, Test, Work, Workload};

use crate::answer::{Answer, Value};
use crate::concurrent::{self, Acknowledged};
use crate::custom::{self, FolderError};
use crate::driver::Driver;
use crate::engine::{Engine, EngineError, EngineOptions, Mode, whole_message};
use crate::measure::{Meter, Sample};
use crate::probe::{self, Probe, canary};
use crate::results::{Closing, NotPossible, TestSample};
use crate::tpcc;

/// The request to a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Name of the engine.
    pub engine: String,
    /// Engines that the user described.
    pub options: EngineOptions,
    /// The workload.
    pub workload: Spec,
    /// How statements are passed to the engine.
    pub mode: Mode,
    /// The folder of the pass, which is removed when the lab is gone.
    pub pass_folder: PathBuf,
    /// An empty folder for the database, within the former.
    pub folder: PathBuf,
    /// What to do.
    pub task: Task,
}

/// What a worker is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A pass: all tests, timed.
    Pass,
    /// A probe: it starts itself again and traces that process.
    Probe,
    /// The process that is traced.
    Traced,
}

/// What a worker, or its keeper, reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "done", rename_all = "kebab-case")]
pub enum Reply {
    /// The database is open.
    Opened {
        /// The cost of creating the database.
        creating: Sample,
        /// The cost of opening the existing database.
        opening: Sample,
        /// Settings as the engine reports them.
        settings: Vec<(String, String)>,
    },
    /// The answer of a test; sent before the test itself.
    Answer(Answer),
    /// A test is complete.
    Test(TestSample),
    /// The result of a probe; its only line.
    Probed(Probe),
    /// The database is closed; the last line of a successful pass.
    Closed(Closing),
    /// The engine failed; the last line.
    Failed {
        /// The reason.
        message: String,
    },
    /// The keeper has started the worker.
    Started {
        /// The worker's process group.
        group: u32,
    },
    /// The worker and everything it started have ended.
    Ended {
        /// How it ended, unless it exited successfully.
        status: Option<String>,
    },
}

/// Why a worker could not do its work. A failure of the engine is a reply and not listed here.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The request could not be read.
    #[error("the worker got no request; it is started by `compare`, not by hand")]
    Request(#[source] serde_json::Error),
    /// Standard input or output failed.
    #[error("the worker lost the program that started it")]
    Pipe(#[from] io::Error),
    /// A keeper was started without the program of a worker.
    #[error("the keeper was given no program; it is started by `compare`, not by hand")]
    NoProgram,
    /// No such engine.
    #[error("there is no engine `{name}`")]
    Engine {
        /// The name asked for.
        name: String,
    },
    /// There is no such workload in the engine's dialect.
    #[error(transparent)]
    Workload(#[from] FolderError),
}

/// Does what the request on `input` asks for and writes the replies to `output`.
///
/// # Errors
///
/// If the output is closed, or there is no such engine or workload.
pub fn serve(
    mut input: impl BufRead,
    output: &mut dyn Write,
    engine_named: impl Fn(&str, &EngineOptions) -> Option<Box<dyn Engine>>,
) -> Result<(), WorkerError> {
    let mut text = String::new();
    input.read_line(&mut text)?;
    let request: Request = serde_json::from_str(&text).map_err(WorkerError::Request)?;
    let engine =
        engine_named(&request.engine, &request.options).ok_or_else(|| WorkerError::Engine {
            name: request.engine.clone(),
        })?;
    match request.task {
        Task::Pass => {}
        Task::Probe => return Ok(say(output, &Reply::Probed(probe_again(request)?))?),
        Task::Traced => {
            return Ok(probe::commit_and_look(
                engine.as_ref(),
                request.mode,
                &request.folder,
                output,
            )?);
        }
    }
    let workload = custom::build(&request.workload, engine.profile().dialect)?;
    let mut report = |reply: &Reply| say(output, reply);
    let engine = engine.as_ref();
    match pass(
        engine,
        &workload,
        request.mode,
        &request.folder,
        &mut report,
    ) {
        Ok(()) => Ok(()),
        Err(PassError::Engine(error)) => Ok(report(&Reply::Failed {
            message: whole_message(&error),
        })?),
        Err(PassError::Pipe(error)) => Err(error.into()),
    }
}

fn say(output: &mut dyn Write, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *output, reply)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Starts this program again with the same arguments, and traces it.
fn probe_again(request: Request) -> io::Result<Probe> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1));
    let engine = request.engine.clone();
    let request = Request {
        task: Task::Traced,
        ..request
    };
    let line = serde_json::to_string(&request)? + "\n";
    probe::trace(&engine, &mut command, &line)
}

#[derive(Debug, thiserror::Error)]
enum PassError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Pipe(#[from] io::Error),
}

/// Why a shell cannot run several connections.
const NO_STEPS: &str = "several connections at once need `--mode direct`";

fn pass(
    engine: &dyn Engine,
    workload: &Workload,
    mode: Mode,
    folder: &Path,
    report: &mut dyn FnMut(&Reply) -> io::Result<()>,
) -> Result<(), PassError> {
    let server = engine.server();
    let meter = Meter::with(server);
    engine.create(folder)?;
    let creating = meter.stop();
    let meter = Meter::with(server);
    let mut connection = engine.open(folder)?;
    let opening = meter.stop();
    let settings = connection.settings()?;
    let mut driver = Driver::of(mode, engine, connection, folder)?;
    report(&Reply::Opened {
        creating,
        opening,
        settings,
    })?;
    let mut acknowledged = (Acknowledged::default(), AcknowledgedOrders::default());
    let mut over = None;
    for test in &workload.tests {
        if let Some(why) = &over {
            let sample = TestSample::not_possible(test.number, NotPossible::clone(why));
            report(&Reply::Test(sample))?;
            continue;
        }
        let (answer, mut sample) = match run_test(&mut driver, test) {
            Err(EngineError::NotPossible { why, ends }) => {
                let why = NotPossible { why, ends };
                let sample = TestSample::not_possible(test.number, why.clone());
                over = ends.then_some(why);
                report(&Reply::Test(sample))?;
                continue;
            }
            ran => ran?,
        };
        if let Some(work) = &test.step {
            if mode == Mode::Script {
                return Err(EngineError::Shell(NO_STEPS.into()).into());
            }
            do_work(
                engine,
                folder,
                work,
                &mut driver,
                &mut acknowledged,
                &mut sample,
            )?;
        }
        report(&Reply::Answer(answer))?;
        report(&Reply::Test(sample))?;
    }
    let meter = Meter::with(server);
    driver.close()?;
    engine.stop()?;
    let sample = meter.stop();
    let files = canary::look(folder, workload.canary.as_bytes())?;
    report(&Reply::Closed(Closing {
        sample,
        file_bytes: files.bytes,
        // A workload without plain text leaves nothing to search for.
        readable_on_disk: !workload.canary.is_empty() && !files.found_in.is_empty(),
    }))?;
    Ok(())
}

/// Runs a test that is not a script, and records the results in the sample.
fn do_work(
    engine: &dyn Engine,
    folder: &Path,
    work: &Work,
    driver: &mut Driver<'_>,
    acknowledged: &mut (Acknowledged, AcknowledgedOrders),
    sample: &mut TestSample,
) -> Result<(), EngineError> {
    let (acknowledged, orders) = acknowledged;
    match work {
        Work::Concurrent(step) => {
            let outcome = concurrent::run_test(engine, folder, sample.number, step)?;
            *acknowledged += outcome.acknowledged;
            let facts = acknowledged.facts();
            let contradiction = first_contradiction(driver, &facts)?;
            outcome.record(sample, facts.len(), contradiction);
            Ok(())
        }
        Work::TpccTables { scale } => tpcc::make_tables(engine, folder, *scale, sample),
        Work::Tpcc(step) => tpcc::run_step(engine, folder, step, orders, sample),
    }
}

/// Runs one test and then checks the known facts about the tables.
fn run_test(driver: &mut Driver<'_>, test: &Test) -> Result<(Answer, TestSample), EngineError> {
    let (sample, answers) = driver.run(test)?;
    let contradiction = first_contradiction(driver, &test.oracle)?;
    let answer = answers.recorded();
    let sample = TestSample {
        number: test.number,
        sample,
        rows: answer.rows,
        answer: answer.name.clone(),
        facts: test.oracle.len(),
        contradiction,
        not_possible: None,
        concurrent: None,
        tpcc: None,
    };
    Ok((answer, sample))
}

fn first_contradiction(
    driver: &mut Driver<'_>,
    facts: &[Fact],
) -> Result<Option<String>, EngineError> {
    for fact in facts {
        let found = contradicts(driver, fact)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What the engine returns instead of the known fact, if it does not match.
fn contradicts(driver: &mut Driver<'_>, fact: &Fact) -> Result<Option<String>, EngineError> {
    let answers = driver.ask(&[&fact.query])?;
    let known: Vec<Value> = fact
        .row
        .iter()
        .map(|&number| Value::Integer(number))
        .collect();
    if answers.row_count() == 1 && answers.values() == known {
        return Ok(None);
    }
    Ok(Some(format!(
        "{}: {:?} instead of {:?}",
        fact.query,
        answers.values(),
        fact.row
    )))
}
