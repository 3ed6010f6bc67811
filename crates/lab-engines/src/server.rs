//! A server run by the lab: located, given a new data folder and a free port, and stopped.
//!
//! This module has what the products share; an adapter describes its product ([`Product`]).
//! Invariants:
//!
//! 1. A server listens only on 127.0.0.1, with a random password, and only its user can enter its
//!    folder: nobody else on the machine has access.
//! 2. It is a child of this process, so that its work can be measured and its exit is noticed.
//! 3. Servers refuse to run as root: if the lab is root, they run as `nobody`.
//! 4. The last output of a server is part of every message about its failure.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::answer::Answers;
use lab::engine::{Cause, Contention, ScriptCommand};
use lab::tpcc::Terminal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use workloads::tpcc::Isolation;

mod place;

use crate::home::home;
use place::Account;
pub(crate) use place::Place;
#[cfg(feature = "servers")]
pub(crate) use place::drawn_name;

/// Timeout for a server to start answering, or to exit.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between two checks on a server that starts or exits.
const PAUSE: Duration = Duration::from_millis(10);

/// Another program may take the port between its choice and the server's start.
const PORTS_TRIED: usize = 5;

/// An adapter's description of its product.
pub(crate) trait Product: Send + Sync {
    /// Its name, as its makers write it.
    fn name(&self) -> &'static str;

    /// Where it is installed, or what to do to install it.
    fn locate(&self) -> Result<Programs, String>;

    /// Initialises a new data folder.
    fn initialise(&self, programs: &Programs, place: &Place) -> Result<(), Cause>;

    /// The command that starts the server.
    fn command(&self, programs: &Programs, place: &Place, port: u16) -> Command;

    /// Whether the server's own files say that it listens. Before that, the port could belong to
    /// another program.
    fn is_ready(&self, place: &Place) -> bool;

    /// The signal for a clean shutdown without waiting for clients.
    fn end_signal(&self) -> Signal;

    /// Logs in.
    fn connect(&self, address: &Address) -> Result<Box<dyn Session>, Cause>;

    /// Whether terminals of workload `tpcc` are supported.
    fn has_terminals(&self) -> bool {
        false
    }

    /// Logs a terminal in, at the server's address or that of a proxy for it.
    fn terminal(
        &self,
        _address: &Address,
        _witness: Arc<dyn Witness>,
        _isolation: Isolation,
    ) -> Result<Box<dyn Terminal>, Cause> {
        Err(format!("{} has no terminals", self.name()).into())
    }

    /// What gathers the planner's statistics of a table that was filled.
    fn gathering(&self, table: &str) -> String {
        format!("ANALYZE {table}")
    }

    /// The maintenance after the tables of `tpcc` were filled.
    fn settling(&self) -> &'static [&'static str] {
        &[]
    }

    /// The query for the size of the lab's database in bytes.
    fn sizing(&self) -> &'static str;

    /// The command that starts its shell.
    fn shell(&self, programs: &Programs, address: &Address) -> Option<ScriptCommand>;
}

/// A connection to a server.
pub(crate) trait Session: Send {
    /// Runs one statement and keeps its rows.
    fn run(&mut self, statement: &str, answers: &mut Answers) -> Result<(), Cause>;

    /// The kind of contention that made the last statement fail, if any.
    fn contention(&self) -> Option<Contention>;

    /// Whether the last failure was the loss of the connection.
    fn is_lost(&self) -> bool;

    /// The settings that the product reports, name and value.
    fn settings(&mut self) -> Result<Vec<(String, String)>, Cause>;

    /// Logs out.
    fn close(self: Box<Self>) -> Result<(), Cause>;
}

/// Knows what happened to the other side of a connection.
pub(crate) trait Witness: Send + Sync {
    /// The reason to report for a lost connection.
    fn why_lost(&self) -> String;
}

/// The programs of a product.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) server: PathBuf,
    /// The program that initialises a data folder.
    pub(crate) initialiser: PathBuf,
    /// Its shell, if it has one.
    pub(crate) shell: Option<PathBuf>,
}

impl Programs {
    /// Whether the server's user can run them.
    pub(crate) fn check(&self) -> Result<(), ServerError> {
        if Account::needed().is_none() {
            return Ok(());
        }
        let program = self
            .server
            .canonicalize()
            .map_err(|source| at(&self.server, source))?;
        let closed = |folder: &Path| fs::metadata(folder).is_ok_and(|found| found.mode() & 1 == 0);
        if program.ancestors().any(closed) {
            return Err(ServerError::OutOfReach { program });
        }
        Ok(())
    }
}

/// Where and as whom a client logs in.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) port: u16,
    pub(crate) password: String,
}

/// Why there is no usable server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error("{product} is not there: {remedy}")]
    Missing {
        product: &'static str,
        remedy: String,
    },
    #[error(
        "the server must run as the user nobody, who cannot enter {folder}; choose another folder \
         with --out, or do not run as the superuser",
        folder = .folder.display()
    )]
    Unreachable { folder: PathBuf },
    #[error(
        "the server must run as the user nobody, who cannot reach {program}: install it in another \
         place, named in STRONGROOM_LAB_HOME, or do not run as the superuser",
        program = .program.display()
    )]
    OutOfReach { program: PathBuf },
    #[error("cannot use {path}", path = .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot start {program}", program = .program.display())]
    Program { program: PathBuf, source: io::Error },
    #[error("{program} failed ({status}); it said: {said}", program = .program.display())]
    Failed {
        program: PathBuf,
        status: ExitStatus,
        said: String,
    },
    #[error(
        "each of {PORTS_TRIED} ports was taken before the server could listen on it; it said: \
         {said}"
    )]
    PortTaken { said: String },
    #[error("the server does not answer after {seconds} s: {cause}; it said: {said}")]
    Silent {
        seconds: u64,
        cause: Cause,
        said: String,
    },
    #[error("the server has ended ({status}); it said: {said}")]
    Ended { status: ExitStatus, said: String },
    #[error("the server closed the connection; it said: {said}")]
    Lost { said: String },
    #[error("the server did not end within {seconds} s and was killed; it said: {said}")]
    Obstinate { seconds: u64, said: String },
}

fn at(path: &Path, source: io::Error) -> ServerError {
    ServerError::File {
        path: path.to_owned(),
        source,
    }
}

/// Whether this process is root, as which servers refuse to run.
pub(crate) fn is_superuser() -> bool {
    Account::needed().is_some()
}

/// A local port that nobody listens on now.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

/// A running server. Dropping the last reference kills it.
pub(crate) struct Running {
    child: Mutex<Child>,
    place: Place,
    pub(crate) address: Address,
}

impl Running {
    /// Starts a server on an initialised folder, and returns when it answers.
    pub(crate) fn start(
        product: &dyn Product,
        programs: &Programs,
        place: &Place,
        next_port: fn() -> io::Result<u16>,
    ) -> Result<Arc<Self>, ServerError> {
        let mut said = String::new();
        for _ in 0..PORTS_TRIED {
            let port = next_port().map_err(|source| at(&place.private, source))?;
            // Left by a server that was killed.
            drop(fs::remove_file(place.pid_file()));
            let child = place.spawn(&mut product.command(programs, place, port))?;
            let password = place.password()?;
            let running = Self {
                child: Mutex::new(child),
                place: place.clone(),
                address: Address { port, password },
            };
            match running.wait_for(product) {
                Ok(()) => return Ok(Arc::new(running)),
                Err(ServerError::Ended { said: words, .. }) if tells_of_a_taken_port(&words) => {
                    said = words;
                }
                Err(error) => return Err(error),
            }
        }
        Err(ServerError::PortTaken { said })
    }

    fn wait_for(&self, product: &dyn Product) -> Result<(), ServerError> {
        let began = Instant::now();
        loop {
            if let Some(error) = self.obituary() {
                return Err(error);
            }
            let cause = match product.is_ready(&self.place) {
                true => match product.connect(&self.address) {
                    Ok(session) => {
                        // The connection was only a check that it answers.
                        drop(session.close());
                        return Ok(());
                    }
                    Err(cause) => cause,
                },
                false => "it does not say that it listens".into(),
            };
            if began.elapsed() > PATIENCE {
                return Err(ServerError::Silent {
                    seconds: PATIENCE.as_secs(),
                    cause,
                    said: self.place.last_words(),
                });
            }
            sleep(PAUSE);
        }
    }

    /// How the server exited, if it has.
    fn obituary(&self) -> Option<ServerError> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let status = child.try_wait().ok()??;
        let said = self.place.last_words();
        Some(ServerError::Ended { status, said })
    }

    /// A server that was killed may still be exiting.
    fn end_of_connection(&self) -> ServerError {
        const ENDING: Duration = Duration::from_secs(2);
        let began = Instant::now();
        while began.elapsed() < ENDING {
            if let Some(error) = self.obituary() {
                return error;
            }
            sleep(PAUSE);
        }
        let said = self.place.last_words();
        ServerError::Lost { said }
    }

    /// Shuts the server down cleanly.
    pub(crate) fn end(&self, signal: Signal) -> Result<(), ServerError> {
        let pid = self
            .child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .id();
        if self.obituary().is_some() {
            return Ok(());
        }
        // Not reaped yet, so the number is still this process.
        let _reported_by_wait = kill(Pid::from_raw(pid.cast_signed()), signal);
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.obituary().is_some() {
                return Ok(());
            }
            sleep(PAUSE);
        }
        self.kill();
        Err(ServerError::Obstinate {
            seconds: PATIENCE.as_secs(),
            said: self.place.last_words(),
        })
    }

    fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have exited; errors are ignored.
        drop(child.kill());
        drop(child.wait());
    }
}

impl Witness for Running {
    fn why_lost(&self) -> String {
        self.end_of_connection().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// In the messages of PostgreSQL, MariaDB and MySQL.
fn tells_of_a_taken_port(said: &str) -> bool {
    let said = said.to_lowercase();
    said.contains("address already in use") || said.contains("already have another mysqld")
}

/// The first of these programs in one of the folders, or else on the search path.
pub(crate) fn find(names: &[&str], folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders
        .iter()
        .chain(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|program| {
            fs::metadata(program).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
        })
}

/// Folders of a product in the lab's home; `*` matches a whole name.
pub(crate) fn installed(product: &str, within: &str) -> Vec<PathBuf> {
    let Some(home) = home() else {
        return vec![];
    };
    let mut folders = vec![home.join(product)];
    for name in within.split('/') {
        let deeper = |folder: PathBuf| match name {
            "*" => {
                let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
                entries.map(|entry| entry.path()).collect()
            }
            name => vec![folder.join(name)],
        };
        folders = folders.into_iter().flat_map(deeper).collect();
    }
    folders
}

/// A program's output for `--version`.
pub(crate) fn version(program: &Path) -> String {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let output = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    output.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_distinguished_from_other_failures() {
        let said = "Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use";
        assert!(tells_of_a_taken_port(said));
        assert!(!tells_of_a_taken_port("FATAL: lock file exists"));
    }
}
