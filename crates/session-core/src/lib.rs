//! What sessions before every kind of server share.
//!
//! Here is what knows no message: schemas as names mean them in a session ([`Loaded`]), plans of
//! texts and their cache ([`plans`]), what all sessions know together ([`Protection`]), keys of
//! columns ([`Sealer`]), what holes are filled with ([`Statement`], [`Inputs`]), the cells of a query
//! that the proxy finishes, the new values of an `UPDATE` ([`Changes`]), rows that a transaction has
//! locked ([`LockedRows`]), why a statement fails ([`StatementError`]), and bytes that wait to be
//! sent ([`Outbox`]). The one seam to a wire is [`ValueFormat`]: how a value is read and written.
//! What reads or writes messages is in the crate of its protocol, as
//! `session_postgres`, with the state machine: no protocol shares another's. Sockets, TLS and files
//! are those of the programs above.
//!
//! No I/O. Randomness for nonces is drawn in `sealing.rs`; when a look at the catalogues is due is
//! told by the monotonic clock; the time of day is passed in.
#![forbid(unsafe_code)]

mod calculated;
mod constants;
pub mod counters;
mod database;
mod fetch;
mod inputs;
mod loaded;
mod locked_rows;
mod modify;
mod outbox;
pub mod plans;
mod protection;
mod sealing;
mod statement_error;
mod statements;
mod value_format;
mod watch;

pub use calculated::{calculated_of_constants, no_parameter};
pub use constants::{check_size, seal, seal_literal};
pub use database::Database;
pub use fetch::{FetchedColumn, cells, fetch_formats, finish_at, program, subject, unfinished};
pub use inputs::{Inputs, Parameter, SealedKeys};
pub use loaded::Loaded;
pub use locked_rows::{LockedRead, LockedRows, RowName, SealedColumns, may_change_all};
pub use modify::{Changed, Changes, Computation, Sealed, modification};
pub use outbox::Outbox;
pub use protection::{CHECK_INTERVAL, Freshness, Protection, Reading};
pub use sealing::{Root, Sealer, unopened};
pub use statement_error::{Fault, StatementError};
pub use statements::{BoundConstants, Statement, UnboundConstants};
pub use value_format::{CutShort, ValueFormat};
pub use watch::{Announced, Requests, Watch, Watching};
