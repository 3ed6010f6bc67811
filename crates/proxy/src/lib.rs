//! The proxy before PostgreSQL.
//!
//! A client connects to it as to the server; each client has its own connection to the server, and
//! its own login there. [`session`] decides what happens with the bytes of both and does no I/O;
//! [`connection`] moves them; [`listener`] is where clients arrive; [`server`] has workers and
//! limits.
#![forbid(unsafe_code)]

mod cancel;
pub mod config;
mod connection;
pub mod copy;
mod counters;
mod listener;
mod loaded;
mod logins;
mod metrics;
mod outbox;
mod places;
mod plans;
pub mod process;
mod protection;
pub mod scram;
mod sealing;
mod server;
pub mod session;
mod shared;
mod startup;
mod statement_error;
mod stream;
mod tls;
mod upstream;
mod watch;

pub use config::{Config, ConfigError};
pub use logins::{LineError, LoginsError};
pub use outbox::Outbox;
pub use protection::{CHECK_INTERVAL, Protection, Reading};
pub use sealing::{KeysError, Root, Sealer};
pub use server::{Running, Server, StartError, now, stop_signal};
pub use statement_error::{Fault, StatementError};
pub use tls::{TlsError, client_config, end_point};
pub use watch::rows_of;
