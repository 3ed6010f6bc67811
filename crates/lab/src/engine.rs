//! The seam: what an engine must do to take part.

use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::answer::Answers;

/// What an engine is, in words and in relation to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The name on the command line and in the results file.
    pub name: String,
    /// One sentence on what it is.
    pub description: String,
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
    /// Perhaps nothing, perhaps a damaged file: the engine does not wait.
    None,
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
}

/// An open database.
pub trait Connection {
    /// Runs the statements in order and fetches every row of each.
    ///
    /// # Errors
    /// When a statement fails; those after it are not run.
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError>;

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

/// What the engine itself says of its failure.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why an engine failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The database could not be created.
    #[error("the database could not be created")]
    Create(#[source] Cause),
    /// The database could not be opened.
    #[error("the database could not be opened")]
    Open(#[source] Cause),
    /// A statement failed.
    #[error("statement {number} of the test failed: {statement}")]
    Statement {
        /// Its place in the test, from 1.
        number: usize,
        /// Its text.
        statement: String,
        /// What the engine says.
        source: Cause,
    },
    /// The engine did not report its settings.
    #[error("the engine did not report its settings")]
    Settings(#[source] Cause),
    /// The database could not be closed.
    #[error("the database could not be closed")]
    Close(#[source] Cause),
}

/// An error and all its causes in one line.
pub fn whole_message(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
