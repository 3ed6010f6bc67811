//! Why there is no finisher, and what a client is told.

use std::io;

use finisher_core::{HostError, broken};
use session_core::StatementError;

use crate::product::{Product, name_of};

/// Why there is no finisher, or no database in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FinisherError {
    /// No programs of that series.
    #[error("{} is not installed on the proxy's machine", name_of(*series))]
    NotInstalled { series: u16 },
    /// Temporary tables have files.
    #[error(
        "the finisher needs a folder in memory, so that rows reach no disk: give /dev/shm 128 \
         MiB, or name a folder on a tmpfs ([finish] folder)"
    )]
    NoMemory,
    /// The server does not run.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The server refuses a statement of its set-up.
    #[error("the server refuses its set-up: {0}")]
    SetUp(StatementError),
    /// A connection broke.
    #[error("a connection to the server broke: {0}")]
    Connection(io::Error),
}

impl FinisherError {
    /// What a client is told. Details of the machine are for the log alone.
    pub(crate) fn for_client(&self, product: Product) -> StatementError {
        match self {
            Self::NotInstalled { series } => {
                let name = name_of(*series);
                StatementError::unsupported(format!(
                    "the proxy computes the answer with {name}, which is not installed on its \
                     machine"
                ))
                .hint(format!(
                    "Install {name} there, or name the folder of its server's program in the \
                     proxy's configuration."
                ))
            }
            Self::NoMemory => broken("the proxy's finisher has no folder in memory")
                .hint("Name a folder on a tmpfs in the proxy's configuration ([finish] folder)."),
            Self::Host(error) => error.for_client(product.name()),
            Self::SetUp(_) => {
                broken("the proxy's finisher cannot be set up").hint("The proxy's log says why.")
            }
            Self::Connection(_) => {
                broken("the proxy's finisher has ended").hint("Try again: it is started anew.")
            }
        }
    }
}
