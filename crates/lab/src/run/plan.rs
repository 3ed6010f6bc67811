//! What a run consists of.

use std::path::PathBuf;
use std::time::Duration;

use crate::engine::EngineOptions;
use crate::results::Header;

/// What a run consists of.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The first line of the results file.
    pub header: Header,
    /// Engines that the user described.
    pub options: EngineOptions,
    /// The number of rounds.
    pub rounds: u32,
    /// No round but the first begins if it would probably end later than this.
    pub time_limit: Option<Duration>,
    /// Folder of the results file and of the databases.
    pub folder: PathBuf,
    /// The command that starts a worker; or the one that starts a keeper, followed by that of the
    /// worker.
    pub worker: Vec<PathBuf>,
    /// Whether to probe durability and encryption of each engine first.
    pub probe: bool,
    /// What to do with an existing results file.
    pub existing: Existing,
}

/// What to do with an existing results file in the folder of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Existing {
    /// Continue it if it belongs to the same experiment and is incomplete, else move it aside.
    #[default]
    Either,
    /// Continue it; fail if that is impossible.
    Continued,
    /// Move it aside.
    SetAside,
}
