//! The proxy before real servers of MariaDB and MySQL: logins by every method, over legs of every
//! kind, and what clients do behind them.

mod columns;
mod commands;
mod failures;
mod logins;
mod raw;
mod setup;
pub mod several;
