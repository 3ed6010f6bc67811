//! The *finisher* before MariaDB or MySQL: a server of the same product on the proxy's side that
//! computes answers to queries from rows that a session has fetched and opened. It is a pure
//! function: tables with their rows and the client's own text in, rows out.
//!
//! - A server is started on the first question for its series (`server`), in a folder of its own in
//!   memory, and ends with this process however that ends (`finisher-core`).
//! - It has a database of each name that clients use, without a table, and a user who may make
//!   temporary tables and read, and do nothing else (`walls`).
//! - Each question is asked over one connection, whose session is then reset, which drops the
//!   temporary tables (`connection`).
//! - A question that changes rows has a bound of the proxy's own before MySQL, whose bounds are for
//!   queries alone (`bound`).
//!
//! Rows come as temporary tables rather than by `JSON_TABLE`: the client's text is evaluated as it
//! came, and the answer's definitions of columns are those of the tables (keys, NOT NULL, names of
//! databases). `JSON_TABLE` is no more than 1.6 times as fast.
//!
//! Invariants:
//!
//! 1. No value of a question or an answer is logged, by this process or by the server.
//! 2. The user of questions can write nothing but temporary tables, which are in memory.
//! 3. Whoever stops waiting for an answer closes the connection: no answer is ever given to another
//!    question.
//! 4. A connection is kept only after its session was reset, and outside every runtime.
#![forbid(unsafe_code)]

mod bound;
mod connection;
mod error;
mod finishers;
mod options;
mod product;
mod programs;
mod server;
mod walls;

pub use finisher_core::FinisherCounters;
pub use finishers::Finishers;
pub use options::FinisherOptions;
pub use product::Product;
