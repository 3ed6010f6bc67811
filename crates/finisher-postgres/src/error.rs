//! Why there is no finisher, and what a client is told.

use std::io;

use finisher_core::{HostError, broken};
use session_core::StatementError;

/// Why there is no finisher, or no database of a kind in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FinisherError {
    /// No programs of that version.
    #[error("PostgreSQL {major} is not installed on the proxy's machine")]
    NotInstalled { major: u16 },
    /// The server does not run.
    #[error(transparent)]
    Host(#[from] HostError),
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
            Self::Host(error) => error.for_client("PostgreSQL"),
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
