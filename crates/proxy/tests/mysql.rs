//! The proxy before real servers of MariaDB and MySQL: logins by every method, over legs of every
//! kind, and what clients do behind them.

#[path = "mysql/commands.rs"]
mod commands;
#[path = "mysql/failures.rs"]
mod failures;
#[path = "mysql/logins.rs"]
mod logins;
#[path = "mysql/setup.rs"]
mod setup;
