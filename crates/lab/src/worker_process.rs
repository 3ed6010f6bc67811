//! A worker from the lab's side: started with a request, read from, ended, and cleaned up.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::processes::end_group;
use crate::run::error::{RunError, at};
use crate::run::plan::Plan;
use crate::worker::{Reply, Request, Task};

/// Folder of the current pass's database, inside the folder of the run.
const PASS_FOLDER: &str = "pass-under-way";

/// A running worker, with its keeper if it has one.
pub(crate) struct WorkerProcess {
    child: Child,
    /// Its folder, created and removed with it.
    base: PathBuf,
    log: PathBuf,
    /// The worker's process group, as its keeper reported.
    group: Option<u32>,
    /// The keeper's report that the worker has ended, with its status if it failed.
    ended: Option<Option<String>>,
}

/// How a worker ended.
pub(crate) struct WorkerEnd {
    /// How it ended, unless it exited successfully.
    pub(crate) early: Option<String>,
    /// What it wrote to its standard error.
    pub(crate) said: String,
}

impl WorkerProcess {
    /// Starts the worker and sends it its request.
    pub(crate) fn start(plan: &Plan, engine: &str, task: Task) -> Result<Self, RunError> {
        let base = plan.folder.join(PASS_FOLDER);
        remove_folder(&base)?;
        let folder = base.join("database");
        fs::create_dir_all(&folder).map_err(|source| at(&folder, source))?;
        let base = base.canonicalize().map_err(|source| at(&base, source))?;
        let request = Request {
            engine: engine.to_owned(),
            options: plan.options.clone(),
            workload: plan.header.workload.spec.clone(),
            mode: plan.header.mode,
            pass_folder: base.clone(),
            folder: base.join("database"),
            task,
        };
        let log = base.join("worker.log");
        let mut child = spawn(plan, &log)?;
        if let Some(input) = &mut child.stdin {
            let text = serde_json::to_string(&request).map_err(|error| at(&base, error.into()))?;
            // A worker that dies before it reads is reported as ended early, with its own message.
            drop(input.write_all((text + "\n").as_bytes()));
        }
        Ok(Self {
            child,
            base,
            log,
            group: None,
            ended: None,
        })
    }

    /// Reads replies until the worker has ended. A line that is not a reply is passed on as it is.
    pub(crate) fn listen(&mut self, mut hear: impl FnMut(Result<Reply, &str>)) {
        let Some(output) = self.child.stdout.take() else {
            return;
        };
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Reply::Started { group }) => self.group = Some(group),
                Ok(Reply::Ended { status }) => {
                    self.ended = Some(status);
                    return;
                }
                Ok(reply) => hear(Ok(reply)),
                Err(_) if line.is_empty() => {}
                Err(_) => hear(Err(&line)),
            }
        }
    }

    /// Waits for the end and removes what is left.
    pub(crate) fn end(mut self) -> Result<WorkerEnd, RunError> {
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        // Closing this pipe makes the keeper remove the folder and exit.
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(RunError::Worker)?;
        let early = match (self.ended, self.group) {
            (Some(how), _) => how,
            // The keeper was killed: the worker has ended with it, but not what it started.
            (None, Some(group)) => {
                end_group(group.cast_signed());
                Some(format!("its keeper too, {status}"))
            }
            // There is no keeper.
            (None, None) => (!status.success()).then(|| status.to_string()),
        };
        remove_folder(&self.base)?;
        let said = said.trim().to_owned();
        Ok(WorkerEnd { early, said })
    }
}

fn spawn(plan: &Plan, log: &Path) -> Result<Child, RunError> {
    let nothing = || RunError::Worker(io::ErrorKind::NotFound.into());
    let (program, arguments) = plan.worker.split_first().ok_or_else(nothing)?;
    let log = File::create(log).map_err(|source| at(log, source))?;
    Command::new::<&OsStr>(program.as_ref())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        // An interrupt at the terminal reaches only the lab; the others end when the lab does.
        .process_group(0)
        .spawn()
        .map_err(RunError::Worker)
}

/// A process that was just killed may still be writing; then removal is retried.
fn remove_folder(path: &Path) -> Result<(), RunError> {
    const TRIES: usize = 5;
    for _ in 1..TRIES {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => break,
        }
    }
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(at(path, source)),
    }
}
