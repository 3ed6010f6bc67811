//! All integration tests of the client, in one executable.

mod common;
mod connections;
mod copy;
mod example;
mod finisher;
mod pool;
mod serve;
mod statements;
mod tls;
