//! Computes the answer to a query over rows that the server gave: what the server cannot do with
//! sealed columns.
//!
//! Rows come one by one ([`Answer::push`]); rows of the answer leave as DataRow messages
//! ([`Answer::take`]), without an order as soon as they are known. Types, NULLs and errors are
//! those of the server. Texts are sorted and compared by their bytes, as with `COLLATE "C"`.
//!
//! Invariants:
//! 1. A filter, and aggregates without DISTINCT, keep nothing of a row.
//! 2. What is kept is counted, and bounded: [`Limits`].
//! 3. No I/O, no keys.

mod answer;
mod equal;
mod evaluate;
mod expression;
mod groups;
mod program;
#[cfg(test)]
mod tests;

pub(crate) use answer::{Answer, Limits};
pub(crate) use evaluate::{Cell, Row};
pub(crate) use expression::{Constants, Elements, Names, Ready};
pub(crate) use program::{Given, Program, Want, fetch_formats};
