//! The lab: runs workloads on several engines, measures them and computes statistics.
//!
//! - An *engine* is opened, given statements and closed ([`engine`]).
//! - A *pass* is one engine running all tests of a workload on a new database in a separate process
//!   ([`worker`]). A *round* is one pass of each engine, in an order that changes from round to
//!   round ([`schedule`]).
//! - A *sample* is the cost of one test; where it begins and ends is defined only in [`measure`].
//! - Every pass is appended to the results file as soon as it ends ([`results`], [`run`]); all
//!   evaluation is a pure function of that file ([`comparison`], [`statistics`]).

pub mod answer;
pub mod comparison;
pub mod concurrent;
pub mod custom;
pub mod difference;
mod driver;
pub mod engine;
pub mod keeper;
pub mod machine;
pub mod measure;
pub mod probe;
pub mod processes;
pub mod results;
pub mod run;
pub mod schedule;
mod shell;
pub mod statistics;
pub mod tpcc;
pub mod worker;
mod worker_process;
