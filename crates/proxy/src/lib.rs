//! The proxy before PostgreSQL, and before MySQL and MariaDB.
//!
//! A client connects to it as to the server; each client has its own connection to the server, and
//! its own login there. `session_postgres` or `session_mysql` decides what happens with the bytes
//! of both and does no I/O; [`connection`] moves them; [`startup`] and [`mysql`] come before;
//! [`listener`] is where clients arrive; [`server`] has workers and limits.
#![forbid(unsafe_code)]

mod cancel;
mod connection;
mod counters;
mod finishers;
mod listener;
mod logins;
mod looking;
mod metrics;
mod monitor;
mod mysql;
mod patroni;
mod places;
mod postgres;
pub mod process;
pub mod scram;
mod server;
mod servers;
mod shared;
mod startup;
mod stream;
mod tls;
mod upstream;
mod watch;

pub use logins::{LineError, LoginsError};
pub use mysql::UnsupportedError;
pub use server::{Running, Server, StartError, stop_signal};
pub use watch::rows_of;
