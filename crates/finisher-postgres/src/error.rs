//! Why there is no finisher, and what a client is told.

use std::io;
use std::path::PathBuf;

use session_core::{Fault, StatementError};
use sqlstate::SqlState;

/// Why there is no finisher, or no database of a kind in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FinisherError {
    /// No programs of that version.
    #[error("PostgreSQL {major} is not installed on the proxy's machine")]
    NotInstalled { major: u16 },
    /// PostgreSQL refuses to run as root.
    #[error("the finisher is a PostgreSQL server, which does not run as root")]
    Root,
    /// Another user was configured, and this process may not become that one.
    #[error("only root can run the finisher as another user, {name}")]
    NotRoot { name: String },
    /// The user has no name, or the configured name no user.
    #[error("the system knows no user {name}")]
    UnknownUser { name: String },
    /// The folder cannot be made or filled.
    #[error("{path}: {error}")]
    Folder { path: PathBuf, error: io::Error },
    /// The system has a limit for paths of sockets.
    #[error("{path} is too long for the path of a socket")]
    LongPath { path: PathBuf },
    /// The keeper of the server cannot be started.
    #[error("the server's keeper does not start: {0}")]
    Keeper(io::Error),
    /// The server ended before it was ready. It said this.
    #[error("the server does not start: {said}")]
    Ended { said: String },
    /// The server took too long.
    #[error("the server is not ready in time")]
    Late,
    /// The database of a kind cannot be created, since the machine lacks its locale.
    #[error("the locale {locale} is not installed: {said}")]
    Locale { locale: String, said: String },
    /// The server has no such locale provider in this version.
    #[error("PostgreSQL {major} has no locale provider {provider}")]
    Provider { major: u16, provider: String },
    /// The server refuses a statement of its set-up.
    #[error("the server refuses its set-up: {0}")]
    SetUp(StatementError),
    /// A connection broke.
    #[error("a connection to the server broke: {0}")]
    Connection(io::Error),
}

impl FinisherError {
    /// What a client is told. Details of the machine are for the log alone.
    pub(crate) fn for_client(&self) -> StatementError {
        match self {
            Self::NotInstalled { major } => StatementError::unsupported(format!(
                "the proxy computes the answer with PostgreSQL {major}, which is not installed on \
                 its machine"
            ))
            .hint(format!(
                "Install PostgreSQL {major} there, or name the folder of its programs in the \
                 proxy's configuration."
            )),
            Self::Root => broken("the proxy's own PostgreSQL server does not run as root")
                .hint("Start the proxy as another user, or name one for the server (run_as)."),
            Self::NotRoot { .. } | Self::UnknownUser { .. } => {
                broken("the proxy's own PostgreSQL server cannot run as the user it should")
                    .hint("Correct run_as in the proxy's configuration; its log says more.")
            }
            Self::Folder { .. }
            | Self::LongPath { .. }
            | Self::Keeper(_)
            | Self::Ended { .. }
            | Self::Late => broken("the proxy's own PostgreSQL server does not start")
                .hint("The proxy's log says why."),
            Self::Locale { locale, .. } => StatementError::unsupported(format!(
                "the proxy computes the answer in the database's locale, {locale}, which is not \
                 installed on its machine"
            ))
            .hint(format!(
                "Install the locale {locale} on the proxy's machine."
            )),
            Self::Provider { provider, .. } => StatementError::unsupported(format!(
                "the proxy's own PostgreSQL server has no locales of the provider \"{provider}\""
            )),
            Self::SetUp(_) => broken("the proxy's own PostgreSQL server cannot be set up")
                .hint("The proxy's log says why."),
            Self::Connection(_) => broken("the proxy's own PostgreSQL server has ended")
                .hint("Try again: it is started anew."),
        }
    }
}

/// An error of the proxy's surroundings. Its class is not that of broken connections: the client's
/// own goes on.
pub(crate) fn broken(message: &str) -> StatementError {
    StatementError::new(Fault::Server, SqlState::SYSTEM_ERROR, message)
}
