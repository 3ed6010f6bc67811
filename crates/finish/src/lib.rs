//! Computes answers to queries from rows that a server returned: the parts of a query that the
//! server cannot do on ciphertext.
//!
//! Fetched rows are pushed one by one as [`Cell`]s ([`Answer::push`]). Rows of the answer are
//! written as [`Field`]s through a [`RowWriter`], which knows the client's protocol, and are kept
//! until the client takes them ([`Answer::take`]). Without an order, rows are written as soon as
//! they are known. Types, NULLs and errors are those of PostgreSQL. Texts are sorted and compared
//! bytewise, as with `COLLATE "C"`.
//!
//! Invariants:
//!
//! 1. A filter, and aggregates without DISTINCT, keep nothing of a row.
//! 2. Everything kept is counted and bounded: [`Limits`].
//! 3. No I/O, no keys, no protocol.
#![forbid(unsafe_code)]

mod answer;
mod equal;
mod error;
mod evaluate;
mod expression;
mod groups;
mod program;
mod row_writer;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Limits, Taken};
pub use error::FinishError;
pub use evaluate::{Cell, Row};
pub use expression::{Constants, Elements, Names, Ready};
pub use program::{Input, Output, Program, Want, accumulator};
pub use row_writer::{Field, RowWriter};
