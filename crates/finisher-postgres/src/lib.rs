//! The *finisher*: a PostgreSQL server on the proxy's side that computes answers to queries from
//! rows that a session has fetched and opened. It is a pure function: a query and its values in,
//! rows out.
//!
//! - A server is started on the first question for its major version (`server`), in a folder of its
//!   own in memory, and ends with this process however that ends (`finisher-core`).
//! - It has a database for each locale and each set of enumerations (`enums`) and of PostgreSQL's
//!   own extensions (`extensions`), with the numbers of their types (`type_numbers`), that a
//!   client's database has, and a role that may call functions which compute, and do nothing else
//!   (`walls`).
//! - Where the server's rules of the locale have another version than this machine's, queries that
//!   depend on them are refused (`order`).
//! - Questions are asked over connections that are kept (`pool`), each with the statements that it
//!   has prepared (`connection`).
//!
//! Invariants:
//!
//! 1. No value of a question or an answer is logged, by this process or by the server.
//! 2. The server executes only statements that return rows, as a role that can write nothing.
//! 3. Whoever stops waiting for an answer closes the connection: no answer is ever given to another
//!    question.
//! 4. A connection is kept outside every runtime, since the proxy has one for each worker.
#![forbid(unsafe_code)]

mod connection;
mod enums;
mod error;
mod extensions;
mod finishers;
mod lacking;
mod moment_casts;
mod moments;
mod options;
mod order;
mod pool;
mod programs;
mod server;
mod tree;
mod type_numbers;
mod walls;

pub use finisher_core::FinisherCounters;
pub use finishers::Finishers;
pub use options::{FinisherOptions, Memory};
