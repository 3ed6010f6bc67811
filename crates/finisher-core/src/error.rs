//! Why a server of the proxy's own does not run, and what a client is told.

use std::io;
use std::path::PathBuf;

use session_core::{Fault, StatementError};
use sqlstate::SqlState;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Database servers refuse to run as root.
    #[error("the finisher is a database server, which does not run as root")]
    Root,
    /// Another user was configured, and this process may not become that one.
    #[error("only root can run the finisher as another user, {name}")]
    NotRoot {
        /// Who it should be.
        name: String,
    },
    /// The user has no name, or the configured name no user.
    #[error("the system knows no user {name}")]
    UnknownUser {
        /// The name, or the number.
        name: String,
    },
    /// The folder cannot be made or filled.
    #[error("{path}: {error}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The system has a limit for paths of sockets.
    #[error("{path} is too long for the path of a socket")]
    LongPath {
        /// The path.
        path: PathBuf,
    },
    /// The keeper of the server cannot be started.
    #[error("the server's keeper does not start: {0}")]
    Keeper(io::Error),
    /// The server ended before it was ready. It said this.
    #[error("the server does not start: {said}")]
    Ended {
        /// What it said.
        said: String,
    },
    /// The server took too long.
    #[error("the server is not ready in time")]
    Late,
}

impl HostError {
    /// What a client is told, if the server is of this product. Details of the machine are for the
    /// log alone.
    pub fn for_client(&self, product: &str) -> StatementError {
        match self {
            Self::Root => broken(format!(
                "the proxy's own {product} server does not run as root"
            ))
            .hint("Start the proxy as another user, or name one for the server (run_as)."),
            Self::NotRoot { .. } | Self::UnknownUser { .. } => broken(format!(
                "the proxy's own {product} server cannot run as the user it should"
            ))
            .hint("Correct run_as in the proxy's configuration; its log says more."),
            Self::Folder { .. }
            | Self::LongPath { .. }
            | Self::Keeper(_)
            | Self::Ended { .. }
            | Self::Late => broken(format!("the proxy's own {product} server does not start"))
                .hint("The proxy's log says why."),
        }
    }
}

/// An error of the proxy's surroundings. Its class is not that of broken connections: the client's
/// own goes on.
pub fn broken(message: impl Into<String>) -> StatementError {
    StatementError::new(Fault::Server, SqlState::SYSTEM_ERROR, message)
}
