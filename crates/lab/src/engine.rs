//! The interface that an engine implements to take part.

pub(crate) mod error;
pub(crate) mod server;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use workloads::Dialect;

use crate::answer::Answers;
use crate::measure::{Meter, Sample};
use crate::tpcc::terminal::Terminals;

pub use error::{Cause, Contention, EngineError, whole_message};
pub use server::Server;

/// Description of an engine, and its relation to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The name on the command line and in the results file.
    pub name: String,
    /// One sentence on what it is.
    pub description: String,
    /// Engines of one family differ only in their settings.
    pub family: String,
    /// The SQL it speaks.
    pub dialect: Dialect,
    /// The engine whose times its own are divided by.
    pub base: Option<String>,
    /// Durability of a statement that has returned.
    pub durability: Durability,
    /// The cipher, if any.
    pub cipher: Option<String>,
    /// Whether it is the base engine a second time; its ratio shows the noise of the machine.
    pub control: bool,
}

/// What is left of a committed transaction after a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Everything: the engine waits for the disk.
    Full,
    /// Everything but about the last second, in an intact database: the engine writes its log to
    /// disk in the background.
    Delayed,
    /// Possibly nothing, or a damaged file: the engine does not wait for the disk.
    None,
}

/// Engines that the user has described on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineOptions {
    /// Shared libraries with SQLite's interface.
    pub libraries: Vec<Library>,
    /// Files that each describe an engine with a shell.
    pub files: Vec<PathBuf>,
    /// Running servers: the product, and the environment variable with its URL (a URL may contain a
    /// password).
    pub url_variables: Vec<(String, String)>,
}

/// A shared library with SQLite's interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// Name of the engine.
    pub name: String,
    /// The library.
    pub path: PathBuf,
    /// Pragmas that are run first on every connection, as `key = '…'`.
    pub pragmas: Vec<String>,
}

/// How statements are passed to the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Through its programming interface, on one connection.
    #[default]
    Direct,
    /// As a text for its own shell, one process per test. An engine in a browser has no shell and
    /// runs the text itself.
    Script,
}

/// What a test passes to a connection.
#[derive(Debug, Clone, Copy)]
pub enum TestInput<'a> {
    /// Statements, one after the other.
    Statements(&'a [&'a str]),
    /// All statements in one text.
    Script {
        /// The text.
        text: &'a str,
        /// The statements in it, for an engine that does not accept a text.
        statements: &'a [&'a str],
    },
}

/// A database engine with particular settings.
pub trait Engine {
    /// Its description.
    fn profile(&self) -> &Profile;

    /// Creates a database without tables in an empty folder.
    ///
    /// # Errors
    ///
    /// If the engine cannot be set up.
    fn create(&self, folder: &Path) -> Result<(), EngineError>;

    /// Connects to the database in the folder, and reads from it before returning.
    ///
    /// # Errors
    ///
    /// If the database cannot be opened.
    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError>;

    /// Why the engine cannot be used on this machine and what to do; `None` if it can.
    fn missing(&self) -> Option<String> {
        None
    }

    /// Where the engine runs.
    fn server(&self) -> Server {
        Server::None
    }

    /// Stops what [`Engine::create`] or [`Engine::open`] started besides this process. All
    /// connections are closed before. Afterwards the files are at rest, and [`Engine::open`] may
    /// restart it.
    ///
    /// # Errors
    ///
    /// If it could not be stopped cleanly.
    fn stop(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// How terminals of workload `tpcc` use it; `None` if they cannot.
    fn terminals(&self) -> Option<&dyn Terminals> {
        None
    }

    /// The command that starts the engine's shell on the database in the folder; `None` if it has
    /// no shell.
    fn script_command(&self, _folder: &Path) -> Option<ScriptCommand> {
        None
    }
}

/// A process that runs the SQL on its standard input and writes the rows to its standard output. It
/// exits with a non-zero status at the first statement that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, without secrets.
    pub arguments: Vec<OsString>,
    /// Environment variables in addition to the lab's.
    pub environment: Vec<(OsString, OsString)>,
    /// The format of its rows.
    pub output: ScriptOutput,
}

/// The format of a shell's rows, one per line, without headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScriptOutput {
    /// Values separated by commas, quoted where needed (RFC 4180). NULL is empty; an empty text is
    /// a pair of quotes.
    Csv,
    /// Values separated by tabs, with backslash escapes; NULL is the word `NULL`.
    Tsv,
}

/// An open database. In a concurrent test each thread has one.
pub trait Connection: Send {
    /// Runs the statements in order and fetches every row of each.
    ///
    /// # Errors
    /// When a statement fails; those after it are not run.
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError>;

    /// Runs a test's input and returns its cost; `start` starts the measurement. An engine that
    /// gets its work through another program measures the work without the way there and back.
    ///
    /// # Errors
    ///
    /// If a statement fails, or the engine accepts no script.
    fn measured(
        &mut self,
        input: TestInput<'_>,
        answers: &mut Answers,
        start: &dyn Fn() -> Meter,
    ) -> Result<Sample, EngineError> {
        match input {
            TestInput::Statements(statements) => {
                let meter = start();
                self.run(statements, answers)?;
                Ok(meter.stop())
            }
            TestInput::Script { .. } => Err(EngineError::Shell("it takes no script".into())),
        }
    }

    /// Whether it runs scripts itself, without a shell.
    fn takes_scripts(&self) -> bool {
        false
    }

    /// Versions and settings as the engine itself reports them, name and value.
    ///
    /// # Errors
    /// When the engine does not answer.
    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError>;

    /// Closes the database.
    ///
    /// # Errors
    /// When the engine could not write what it still held.
    fn close(self: Box<Self>) -> Result<(), EngineError>;
}
