//! What *finishers* have in common: database servers that a proxy starts on its own side, which
//! compute answers to queries from rows that a session has fetched and opened.
//!
//! - A server has a folder of its own in memory (`folder`), and ends with this process however that
//!   ends (`keeper`).
//! - Its socket is watched without waking a runtime more often than there is something to read
//!   (`socket`).
//! - It is started when it is first needed, and again when it has died (`starting`).
//! - Connections are kept outside every runtime (`pool`).
//! - What finishers do is counted (`counters`).
//!
//! Which programs a server consists of, how it is set up and what is asked of it is the business of
//! the crates for PostgreSQL and MariaDB.
#![forbid(unsafe_code)]

mod counters;
mod error;
mod folder;
mod keeper;
mod pool;
mod socket;
mod starting;

pub use counters::{Busy, FinisherCounters};
pub use error::{HostError, broken};
pub use folder::{Owner, Place, PrivateFolder, SOCKET_PATH_SIZE_MAX};
pub use keeper::{Keeper, Start};
pub use pool::Pool;
pub use socket::{Socket, is_silent};
pub use starting::{FAILURE_PAUSE, Kept, Starting, end};
