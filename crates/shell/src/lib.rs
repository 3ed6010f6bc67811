//! The SQL shell: statements, dot commands, output modes.
//!
//! The crate reads lines from a [`console::LineSource`], asks through a [`console::Console`] and
//! writes to the writers in [`session::Surroundings`]; it opens no terminal and prints nothing by
//! itself. Operations on keys and whole files are implemented in the crate `store`.
#![forbid(unsafe_code)]

mod commands;
pub mod completion;
pub mod console;
pub mod database;
pub mod dump;
pub mod error;
pub mod highlight;
pub mod import;
pub mod intent;
pub mod key_pragma;
mod keywords;
pub mod number;
mod output;
mod parameters;
mod pending;
pub mod quote;
pub mod render;
pub mod scanner;
pub mod schema_names;
pub mod secrecy;
pub mod session;
pub mod style;
mod timer;
pub mod words;
