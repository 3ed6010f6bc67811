//! One pass, in a process of its own.
//!
//! The worker reads one request, a line of JSON, from its standard input and writes a line of JSON
//! for each thing that is done. If it dies, the lines up to then are what is known. Its standard
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
use crate::engine::{Engine, EngineError, EngineOptions, Mode, whole_message};
use crate::hand::Hand;
use crate::measure::{Meter, Sample};
use crate::probe::{self, Probe, canary};
use crate::results::{Closing, NotPossible, TestSample};
use crate::tpcc;

/// What a worker is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Name of the engine.
    pub engine: String,
    /// Engines that the user described.
    pub options: EngineOptions,
    /// The workload.
    pub workload: Spec,
    /// How its statements reach the engine.
    pub mode: Mode,
    /// The folder of the pass, which is removed when the lab is gone.
    pub pass_folder: PathBuf,
    /// An empty folder for the database, within.
    pub folder: PathBuf,
    /// What is to be done with it.
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

/// What a worker has done, and what its keeper says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "done", rename_all = "kebab-case")]
pub enum Reply {
    /// The database is open.
    Opened {
        /// What creating it cost.
        creating: Sample,
        /// What opening it cost, once it was there.
        opening: Sample,
        /// Settings as the engine reports them.
        settings: Vec<(String, String)>,
    },
    /// A test gave this answer; said before the test itself.
    Answer(Answer),
    /// A test has ended.
    Test(TestSample),
    /// What a probe found out; its only line.
    Probed(Probe),
    /// The database is closed; the last line of a pass without failure.
    Closed(Closing),
    /// The engine failed; the last line.
    Failed {
        /// Why.
        message: String,
    },
    /// The keeper has started the worker.
    Started {
        /// The worker's process group.
        group: u32,
    },
    /// The worker has ended, and all that it started.
    Ended {
        /// How, unless it ended as it should.
        status: Option<String>,
    },
}

/// Why a worker could not do its work. A failure of the engine is not among these: it is a reply.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The request could not be read.
    #[error("the worker got no request; it is started by `compare`, not by hand")]
    Request(#[source] serde_json::Error),
    /// Standard input or output failed.
    #[error("the worker lost the program that started it")]
    Pipe(#[from] io::Error),
    /// A keeper without a worker.
    #[error("the keeper was given no program; it is started by `compare`, not by hand")]
    NoProgram,
    /// No such engine.
    #[error("there is no engine `{name}`")]
    Engine {
        /// The name asked for.
        name: String,
    },
    /// No such workload, or not in the SQL that the engine speaks.
    #[error(transparent)]
    Workload(#[from] FolderError),
}

/// Does what the request on `input` asks for and tells it on `output`.
///
/// # Errors
/// When there is nobody to tell, or no such engine or workload.
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
    let mut tell = |reply: &Reply| say(output, reply);
    let engine = engine.as_ref();
    match pass(engine, &workload, request.mode, &request.folder, &mut tell) {
        Ok(()) => Ok(()),
        Err(PassError::Engine(error)) => Ok(tell(&Reply::Failed {
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

/// Starts this program again as it was started, and traces it.
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

/// Why a shell cannot do the work of several connections.
const NO_STEPS: &str = "several connections at once need `--mode direct`";

fn pass(
    engine: &dyn Engine,
    workload: &Workload,
    mode: Mode,
    folder: &Path,
    tell: &mut dyn FnMut(&Reply) -> io::Result<()>,
) -> Result<(), PassError> {
    let server = engine.server();
    let meter = Meter::with(server);
    engine.create(folder)?;
    let creating = meter.stop();
    let meter = Meter::with(server);
    let mut connection = engine.open(folder)?;
    let opening = meter.stop();
    let settings = connection.settings()?;
    let mut hand = Hand::of(mode, engine, connection, folder)?;
    tell(&Reply::Opened {
        creating,
        opening,
        settings,
    })?;
    let mut acknowledged = (Acknowledged::default(), AcknowledgedOrders::default());
    let mut over = None;
    for test in &workload.tests {
        if let Some(why) = &over {
            let sample = TestSample::not_possible(test.number, NotPossible::clone(why));
            tell(&Reply::Test(sample))?;
            continue;
        }
        let (answer, mut sample) = match run_test(&mut hand, test) {
            Err(EngineError::NotPossible { why, ends }) => {
                let why = NotPossible { why, ends };
                let sample = TestSample::not_possible(test.number, why.clone());
                over = ends.then_some(why);
                tell(&Reply::Test(sample))?;
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
                &mut hand,
                &mut acknowledged,
                &mut sample,
            )?;
        }
        tell(&Reply::Answer(answer))?;
        tell(&Reply::Test(sample))?;
    }
    let meter = Meter::with(server);
    hand.close()?;
    engine.stop()?;
    let sample = meter.stop();
    let files = canary::look(folder, workload.canary.as_bytes())?;
    tell(&Reply::Closed(Closing {
        sample,
        file_bytes: files.bytes,
        // A load without a plain text leaves nothing to look for.
        readable_on_disk: !workload.canary.is_empty() && !files.found_in.is_empty(),
    }))?;
    Ok(())
}

/// Does what is no script, and says in the sample what it came to.
fn do_work(
    engine: &dyn Engine,
    folder: &Path,
    work: &Work,
    hand: &mut Hand<'_>,
    acknowledged: &mut (Acknowledged, AcknowledgedOrders),
    sample: &mut TestSample,
) -> Result<(), EngineError> {
    let (acknowledged, orders) = acknowledged;
    match work {
        Work::Concurrent(step) => {
            let outcome = concurrent::run_test(engine, folder, sample.number, step)?;
            *acknowledged += outcome.acknowledged;
            let facts = acknowledged.facts();
            let contradiction = first_contradiction(hand, &facts)?;
            outcome.tell(sample, facts.len(), contradiction);
            Ok(())
        }
        Work::TpccTables { scale } => tpcc::make_tables(engine, folder, *scale, sample),
        Work::Tpcc(step) => tpcc::run_step(engine, folder, step, orders, sample),
    }
}

/// Runs one test and then looks up what is known about the tables.
fn run_test(hand: &mut Hand<'_>, test: &Test) -> Result<(Answer, TestSample), EngineError> {
    let (sample, answers) = hand.run(test)?;
    let contradiction = first_contradiction(hand, &test.oracle)?;
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

fn first_contradiction(hand: &mut Hand<'_>, facts: &[Fact]) -> Result<Option<String>, EngineError> {
    for fact in facts {
        let found = contradicts(hand, fact)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What the engine says instead of the known fact, if it does.
fn contradicts(hand: &mut Hand<'_>, fact: &Fact) -> Result<Option<String>, EngineError> {
    let answers = hand.ask(&[&fact.query])?;
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
