//! What sessions before every kind of server share.
//!
//! This crate knows no message. It has:
//!
//! - what all sessions know together: rules, schemas, plans and their cache, keys of columns
//!   ([`Protection`], [`plans`], [`Loaded`], [`Sealer`]), tokens of texts ([`Weights`]);
//! - what fills the holes of a statement: parameters, constants, calculated values ([`Statement`],
//!   [`Inputs`]);
//! - the fetched cells of a query that the proxy finishes ([`cells`]), the new values of an
//!   `UPDATE` ([`Changes`]), and rows that the transaction has locked ([`LockedRows`]);
//! - why a statement fails ([`StatementError`]), and bytes that wait to be sent ([`Outbox`]).
//!
//! Values of a wire are read and written by one trait, [`ValueFormat`], which each protocol
//! implements. Code is generic over it, so that nothing is dispatched per value.
//!
//! Messages and the state machine are in the crate of their protocol, as `session_postgres`: no
//! protocol shares another's. Texts of SQL with sealed constants are there, too, since they are
//! written as the server's dialect has it. Sockets, TLS and files belong to the programs above.
//!
//! No I/O. `sealing.rs` draws randomness for nonces, and the monotonic clock decides when the
//! catalogues are looked at; the time of day is passed in.
#![forbid(unsafe_code)]

mod calculated;
mod constants;
pub mod counters;
mod database;
mod fetch;
mod inputs;
mod known_plans;
mod loaded;
mod locked_rows;
mod modify;
mod outbox;
pub mod plans;
mod protection;
mod sealing;
mod statement_error;
mod statements;
mod tokens;
mod value_format;
mod watch;
pub mod wiped;

pub use column_codec::{TOKEN_PREFIX_SIZE, behind};

pub use calculated::{calculated_of_constants, no_parameter};
pub use constants::{
    check_size, read_literal, seal, seal_computed, seal_literal, seal_together, store,
};
pub use database::Database;
pub use fetch::{FetchedColumn, cells, fetch_formats, finish_at, program, subject, unfinished};
pub use inputs::{Inputs, Parameter, SealedKeys};
pub use loaded::Loaded;
pub use locked_rows::{LockedRead, LockedRows, RowName, SealedColumns, may_change_all};
pub use modify::{Changed, Changes, Computation, Sealed, modification};
pub use outbox::Outbox;
pub use protection::{CHECK_INTERVAL, Freshness, OffersFinisher, Protection, Reading};
pub use sealing::{OpenedGroup, Root, Sealer, Unopened, unopened};
pub use statement_error::{Fault, StatementError};
pub use statements::{BoundConstants, Statement, UnboundConstants};
pub use tokens::{KeylessText, TEXTS_MAX, Weights};
pub use value_format::{CutShort, ValueFormat};
pub use watch::{Announced, Requests, Watch, Watching};
