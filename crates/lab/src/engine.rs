//! The seam: what an engine must do to take part.

mod error;
mod server;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use workloads::Dialect;

use crate::answer::Answers;
use crate::measure::{Meter, Sample};
use crate::tpcc::Terminals;

pub use error::{Cause, Contention, EngineError, whole_message};
pub use server::Server;

/// What an engine is, in words and in relation to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The name on the command line and in the results file.
    pub name: String,
    /// One sentence on what it is.
    pub description: String,
    /// Engines of one family differ in their settings alone.
    pub family: String,
    /// The SQL it speaks.
    pub dialect: Dialect,
    /// The engine that its times are divided by.
    pub base: Option<String>,
    /// What it promises when a statement has returned.
    pub durability: Durability,
    /// The cipher, where there is one.
    pub cipher: Option<String>,
    /// True when it is the base engine a second time: its ratio shows the noise of the machine.
    pub control: bool,
}

/// What remains of a committed transaction when the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// All of it: the engine waits for the disk.
    Full,
    /// All but the transactions of about the last second, and the database is whole: the engine
    /// writes its log to the disk in the background.
    Delayed,
    /// Perhaps nothing, perhaps a damaged file: the engine does not wait.
    None,
}

/// What the user says of engines that the program does not know by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineOptions {
    /// Shared libraries with SQLite's interface.
    pub libraries: Vec<Library>,
    /// Files that describe an engine with a shell.
    pub files: Vec<PathBuf>,
    /// Servers that run already: the product, and the environment variable that holds the URL, as
    /// a URL may hold a password.
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

/// How the statements reach the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Through its interface for programs, on one connection.
    #[default]
    Direct,
    /// As a text that its own shell reads, a process per test; an engine in a browser, which has
    /// no shell, reads it there.
    Script,
}

/// What a test gives to a connection.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// One statement after the other.
    Statements(&'a [&'a str]),
    /// All of them in one text.
    Script {
        /// The text.
        text: &'a str,
        /// The statements in it, for an engine that takes no text.
        statements: &'a [&'a str],
    },
}

/// A database engine under some settings.
pub trait Engine {
    /// What it is.
    fn profile(&self) -> &Profile;

    /// Creates a new database without tables in an empty folder.
    ///
    /// # Errors
    /// When the engine cannot be set up.
    fn create(&self, folder: &Path) -> Result<(), EngineError>;

    /// Connects to the database in the folder, and has read from it when it returns.
    ///
    /// # Errors
    /// When the database cannot be opened.
    fn open(&self, folder: &Path) -> Result<Box<dyn Connection>, EngineError>;

    /// Why the engine cannot be used on this machine, and what to do, if it cannot.
    fn missing(&self) -> Option<String> {
        None
    }

    /// Where its work is done.
    fn server(&self) -> Server {
        Server::None
    }

    /// Ends what [`Engine::create`] or [`Engine::open`] started beside this process. All
    /// connections are closed before. Afterwards the files are at rest, and [`Engine::open`] may
    /// start it anew.
    ///
    /// # Errors
    /// When it could not end as it should.
    fn stop(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// How terminals of workload `tpcc` work at it; none where they cannot.
    fn terminals(&self) -> Option<&dyn Terminals> {
        None
    }

    /// How the engine's shell is started on the database that was created in the folder; none
    /// where it has no shell.
    fn script_command(&self, _folder: &Path) -> Option<ScriptCommand> {
        None
    }
}

/// A process that runs the SQL on its standard input and writes the rows to its standard output.
/// It ends with a status other than 0 at the first statement that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; they hold no secret.
    pub arguments: Vec<OsString>,
    /// Variables of the environment beside those of the lab.
    pub environment: Vec<(OsString, OsString)>,
    /// How it writes rows.
    pub output: ScriptOutput,
}

/// How a shell writes rows, one a line, without titles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScriptOutput {
    /// Values separated by commas, quoted where needed (RFC 4180). NULL is empty, an empty text is
    /// a pair of quotes.
    Csv,
    /// Values separated by tabs, with backslash escapes; NULL is the word `NULL`.
    Tsv,
}

/// An open database. A concurrent test gives each of its threads one.
pub trait Connection: Send {
    /// Runs the statements in order and fetches every row of each.
    ///
    /// # Errors
    /// When a statement fails; those after it are not run.
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError>;

    /// Runs what a test gives, and says what that cost; `start` begins to measure. An engine that
    /// gets its work through another program measures the work and not its way there and back.
    ///
    /// # Errors
    /// When a statement fails, or the engine takes no script.
    fn measured(
        &mut self,
        given: Given<'_>,
        answers: &mut Answers,
        start: &dyn Fn() -> Meter,
    ) -> Result<Sample, EngineError> {
        match given {
            Given::Statements(statements) => {
                let meter = start();
                self.run(statements, answers)?;
                Ok(meter.stop())
            }
            Given::Script { .. } => Err(EngineError::Shell("it takes no script".into())),
        }
    }

    /// Whether it takes scripts itself, without a shell.
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
