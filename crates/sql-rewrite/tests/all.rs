//! All integration tests of the plans, in one executable.

mod canary;
mod common;
mod derived;
mod explain;
mod finisher;
mod gathered;
mod golden;
mod meanings;
mod mysql;
mod oracle;
mod postgres;
mod regressions;
mod safety;
mod statements;
mod tpcc;
mod written;
