//! The results file: JSON lines, first a header, then a line per pass in the order of their ends.
//!
//! A line is complete if it ends with a line feed; anything after the last line feed is left from
//! an interrupted write and is ignored.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use workloads::Spec;

use crate::answer::Answer;
use crate::concurrent::sample::ConcurrentSample;
use crate::engine::{Mode, Profile};
use crate::machine::Machine;
use crate::measure::Sample;
use crate::probe::Probe;
use crate::tpcc::sample::{TpccRun, TpccSample};

/// Raised when a reader of the old format would misread a file of the new one.
pub const FORMAT: u32 = 2;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// The first line.
    Header(Header),
    /// The run was resumed after an interruption.
    Resumed(Moment),
    /// The result of probing an engine, before the first round.
    Probe(Probe),
    /// An answer that later passes refer to by name.
    Answer(Answer),
    /// One engine's pass over all tests.
    Pass(Pass),
}

/// What is run, with which program, on which machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// When and under which load the run began.
    pub began: Moment,
    /// The program that measures.
    pub program: Program,
    /// The workload.
    pub workload: WorkloadHead,
    /// How statements are passed to the engines.
    pub mode: Mode,
    /// The engines, the reference engine first.
    pub engines: Vec<Profile>,
    /// The arguments with which the user described engines, so that the run can be repeated;
    /// without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engine_arguments: Vec<String>,
    /// Seed for the order of the engines and for the bootstrap.
    pub seed: u64,
    /// The machine.
    pub machine: Machine,
}

impl Header {
    /// Whether passes of both files are comparable: the same program, workload, engines, order and
    /// machine.
    pub fn same_experiment(&self, other: &Self) -> bool {
        self.differences(other).is_empty()
    }

    /// Why passes of both files are not comparable.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("format", self.format == other.format),
            ("program", self.program == other.program),
            ("workload", self.workload == other.workload),
            ("mode", self.mode == other.mode),
            ("engines", self.engines == other.engines),
            (
                "arguments of engines",
                self.engine_arguments == other.engine_arguments,
            ),
            ("seed", self.seed == other.seed),
            ("machine", self.machine == other.machine),
        ];
        parts
            .into_iter()
            .filter_map(|(name, same)| (!same).then_some(name))
            .collect()
    }
}

/// A time, with load and clock of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub unix_seconds: u64,
    /// Load average of the last minute.
    pub load: Option<f64>,
    /// Mean clock of the processors, MHz, if known.
    #[serde(default)]
    pub clock_mhz: Option<f64>,
}

/// The measuring program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// SHA-256 of its file, so that samples of two builds are never mixed.
    pub sha256: String,
}

/// The workload, in brief.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadHead {
    /// Its name and parameters.
    pub spec: Spec,
    /// Its name.
    pub name: String,
    /// SHA-256 of its scripts.
    pub sha256: String,
    /// Titles of its tests, starting with test 1.
    pub tests: Vec<String>,
}

impl WorkloadHead {
    /// The head of a workload that was built from `spec`.
    pub fn new(spec: Spec, workload: &workloads::Workload) -> Self {
        let titles = workload.tests.iter().map(|test| test.title.clone());
        Self {
            spec,
            name: workload.name.clone(),
            sha256: workload.sha256.clone(),
            tests: titles.collect(),
        }
    }
}

/// One engine running all tests on a new database in a separate process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Counts from 0.
    pub round: u32,
    /// The engine's name.
    pub engine: String,
    /// Its position in the round, from 0.
    pub place: usize,
    /// When it started.
    pub began: Moment,
    /// Share of the processor time that the hypervisor gave to other guests meanwhile.
    pub stolen_share: Option<f64>,
    /// The cost of creating the database.
    pub creating: Option<Sample>,
    /// The cost of opening the existing database.
    pub opening: Option<Sample>,
    /// Settings as the engine reported them.
    pub settings: Vec<(String, String)>,
    /// The completed tests, in order.
    pub tests: Vec<TestSample>,
    /// The cost of closing, and the files on disk afterwards.
    pub closing: Option<Closing>,
    /// Why the pass ended early.
    pub failure: Option<String>,
}

/// Cost and answer of one test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestSample {
    /// Counts from 1.
    pub number: u32,
    /// The cost.
    pub sample: Sample,
    /// Rows fetched.
    pub rows: usize,
    /// Name of its [`Answer`].
    pub answer: String,
    /// Known facts that were checked after the test.
    pub facts: usize,
    /// The first fact that did not hold.
    pub contradiction: Option<String>,
    /// Why the engine cannot do the test. There is then no cost and no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_possible: Option<NotPossible>,
    /// Results of a test with several connections. `sample` is then the cost of the whole step,
    /// including the warm-up; its duration is fixed, so engines are compared by these results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<ConcurrentSample>,
    /// Results of a test of workload `tpcc`. `sample` is then the cost of filling the tables, or of
    /// the counted seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<Box<TpccSample>>,
}

impl TestSample {
    /// The sample of a test that the engine cannot do.
    pub fn not_possible(number: u32, why: NotPossible) -> Self {
        Self {
            number,
            sample: Sample::default(),
            rows: 0,
            answer: String::new(),
            facts: 0,
            contradiction: None,
            not_possible: Some(why),
            concurrent: None,
            tpcc: None,
        }
    }

    /// The time that engines are compared by, nanoseconds. A step of several connections has a
    /// fixed duration. So a closed step gives the time per committed operation, and an open one the
    /// 99th percentile of latency.
    pub fn wall_ns(&self) -> u64 {
        if let Some(run) = self.terminals() {
            return run.measured_ns / run.committed.max(1);
        }
        match &self.concurrent {
            None => self.sample.wall_ns,
            Some(step) if step.step.rate.is_some() => step.latency.p99_ns,
            Some(step) => step.measured_ns / step.completed.max(1),
        }
    }

    /// Results of the terminals, if the test has any.
    pub fn terminals(&self) -> Option<&TpccRun> {
        self.tpcc.as_ref()?.run.as_ref()
    }

    /// Processor time of client and server, nanoseconds. For a step of several connections, per
    /// committed operation, including the warm-up and the opening of its connections.
    pub fn cpu_ns(&self) -> Option<u64> {
        let cpu_ns = self.sample.cpu_ns()?;
        if let Some(run) = self.terminals() {
            return Some(cpu_ns / run.committed.max(1));
        }
        Some(match &self.concurrent {
            None => cpu_ns,
            Some(step) => cpu_ns / step.completed.max(1),
        })
    }
}

/// A test that an engine cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotPossible {
    /// Why.
    pub why: String,
    /// Whether the database cannot be used any further.
    pub ends: bool,
}

/// The end of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// What closing cost.
    pub sample: Sample,
    /// Size of the files the engine left.
    pub file_bytes: u64,
    /// Whether words of the stored rows were readable in those files.
    pub readable_on_disk: bool,
}

/// A parsed results file.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// Its first line.
    pub header: Header,
    /// Results of probing the engines.
    pub probes: Vec<Probe>,
    /// The answers of its passes, by name.
    pub answers: HashMap<String, Answer>,
    /// Its passes, in the order in which they ended.
    pub passes: Vec<Pass>,
    /// Times at which the run was resumed.
    pub resumed: Vec<Moment>,
    /// Length of the complete lines, bytes.
    pub complete_bytes: u64,
}

/// Why a results file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The first line is incomplete.
    #[error("the results file has no header; remove it to begin anew")]
    NoHeader,
    /// A line is not a record.
    #[error("line {line} of the results file is not a record of this program; move the file away")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A second header.
    #[error("line {line} of the results file is a second header; move the file away")]
    SecondHeader {
        /// Its number, from 1.
        line: usize,
    },
    /// The file has another format.
    #[error("the results file has format {found}, this program reads {FORMAT}; move the file away")]
    Format {
        /// The format in its header.
        found: u32,
    },
}

impl Results {
    /// Parses the text of a results file.
    ///
    /// # Errors
    ///
    /// If a complete line is not a valid record.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..complete].lines().zip(1..);
        let parse = |text: &str, line| {
            serde_json::from_str(text).map_err(|source| ReadError::Line { line, source })
        };
        let header = match lines.next() {
            Some((text, line)) => match parse(text, line)? {
                Record::Header(header) => header,
                Record::Probe(_) | Record::Answer(_) | Record::Pass(_) | Record::Resumed(_) => {
                    return Err(ReadError::NoHeader);
                }
            },
            None => return Err(ReadError::NoHeader),
        };
        if header.format != FORMAT {
            return Err(ReadError::Format {
                found: header.format,
            });
        }
        let complete_bytes = complete as u64;
        let mut results = Self {
            header,
            probes: vec![],
            answers: HashMap::new(),
            passes: vec![],
            resumed: vec![],
            complete_bytes,
        };
        for (text, line) in lines {
            match parse(text, line)? {
                Record::Header(_) => return Err(ReadError::SecondHeader { line }),
                Record::Resumed(moment) => results.resumed.push(moment),
                Record::Probe(probe) => results.probes.push(probe),
                Record::Answer(answer) => {
                    results.answers.insert(answer.name.clone(), answer);
                }
                Record::Pass(pass) => results.passes.push(pass),
            }
        }
        Ok(results)
    }

    /// Whether that engine has completed its pass of that round.
    pub fn has(&self, round: u32, engine: &str) -> bool {
        self.passes
            .iter()
            .any(|pass| pass.round == round && pass.engine == engine)
    }
}

impl Record {
    /// The record as a line, including the line feed.
    pub fn to_line(&self) -> String {
        let text = serde_json::to_string(self).expect("records hold no map with foreign keys");
        text + "\n"
    }
}
