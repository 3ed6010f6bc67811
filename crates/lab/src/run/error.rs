//! Why a run cannot go on.

use std::io;
use std::path::{Path, PathBuf};

use crate::results::ReadError;

/// Why a run cannot go on. A failing engine is a result and not listed here.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file or folder of the run cannot be used.
    #[error(
        "cannot use {path}; choose another folder with --out or free some space",
        path = .path.display()
    )]
    File {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another run writes to the file.
    #[error(
        "another run writes to {path}; wait for it or choose another folder with --out",
        path = .path.display()
    )]
    Busy {
        /// The results file.
        path: PathBuf,
    },
    /// There is no run to continue.
    #[error(
        "there is no run to continue in {path}; leave out --resume to begin one",
        path = .path.display()
    )]
    NothingToContinue {
        /// The results file that is missing.
        path: PathBuf,
    },
    /// The existing run is a different one.
    #[error(
        "the run in {path} cannot be continued: {why}; leave out --resume to begin anew",
        path = .path.display()
    )]
    Another {
        /// The results file.
        path: PathBuf,
        /// Why it cannot be continued.
        why: String,
    },
    /// The results file was damaged.
    #[error("cannot continue from {path}", path = .path.display())]
    Results {
        /// The results file.
        path: PathBuf,
        /// The damage.
        source: ReadError,
    },
    /// The program cannot start itself again.
    #[error("cannot start a worker process; was the program's file replaced or removed?")]
    Worker(#[source] io::Error),
}

pub(crate) fn at(path: &Path, source: io::Error) -> RunError {
    RunError::File {
        path: path.to_owned(),
        source,
    }
}
