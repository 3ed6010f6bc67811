//! What is to be run.

use std::path::PathBuf;

use crate::engine::EngineOptions;
use crate::results::Header;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The first line of the results file.
    pub header: Header,
    /// Engines that the user described.
    pub options: EngineOptions,
    /// How many rounds there shall be.
    pub rounds: u32,
    /// Folder of the results file and of the databases.
    pub folder: PathBuf,
    /// The program that becomes a worker, and its arguments; or a keeper's, and after them those
    /// of the worker.
    pub worker: Vec<PathBuf>,
    /// Look first what each engine does for durability and secrecy.
    pub probe: bool,
    /// What is to become of a results file that is there.
    pub existing: Existing,
}

/// What is to become of a results file that is in the folder of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Existing {
    /// It is continued if it is of the same experiment and lacks something, else set aside.
    #[default]
    Either,
    /// It is continued; that it cannot be is an error.
    Continued,
    /// It is set aside.
    SetAside,
}
