//! What sessions before every kind of server share.
//!
//! Here is what knows no message: schemas as names mean them in a session ([`Loaded`]), plans of
//! texts and their cache ([`plans`]), what all sessions know together ([`Protection`]), keys of
//! columns ([`Sealer`]), why a statement fails ([`StatementError`]), and bytes that wait to be sent
//! ([`Outbox`]). What reads or writes messages is in the crate of its protocol, as
//! `session_postgres`, with the state machine: no protocol shares another's. Sockets, TLS and files
//! are those of the programs above.
//!
//! No I/O. Randomness for nonces is drawn in `sealing.rs`; when a look at the catalogues is due is
//! told by the monotonic clock; the time of day is passed in.
#![forbid(unsafe_code)]

pub mod counters;
mod database;
mod loaded;
mod outbox;
pub mod plans;
mod protection;
mod sealing;
mod statement_error;
mod watch;

pub use database::Database;
pub use loaded::Loaded;
pub use outbox::Outbox;
pub use protection::{CHECK_INTERVAL, Freshness, Protection, Reading};
pub use sealing::{Root, Sealer, unopened};
pub use statement_error::{Fault, StatementError};
pub use watch::{Announced, Requests, Watch, Watching};
