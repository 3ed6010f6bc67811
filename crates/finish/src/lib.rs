//! Computes the answer to a query over rows that a server gave: what the server cannot do with
//! ciphertext.
//!
//! Fetched rows come one by one as [`Cell`]s ([`Answer::push`]). Rows of the answer leave as
//! [`Field`]s through a [`RowWriter`], which knows the client's protocol; what it wrote is kept
//! until the client takes it ([`Answer::take`]). Without an order, rows leave as soon as they are
//! known. Types, NULLs and errors are those of PostgreSQL. Texts are sorted and compared by their
//! bytes, as with `COLLATE "C"`.
//!
//! Invariants:
//! 1. A filter, and aggregates without DISTINCT, keep nothing of a row.
//! 2. What is kept is counted, and bounded: [`Limits`].
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
