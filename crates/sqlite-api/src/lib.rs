//! SQLite's C functions as safe types: of the library that is linked into the program, or of a
//! shared library that is loaded at run time.
//!
//! The lab drives every engine that is an SQLite through this crate, so that what it measures
//! differs by the engine alone. It is thin: a statement costs no allocation but SQLite's own.
//!
//! Invariants:
//! 1. A function pointer of a loaded library is used only while the library is loaded: it is
//!    never unloaded.
//! 2. A library that was built without mutexes is refused. Each connection is opened without a
//!    mutex of its own and is used by one thread at a time: it is `Send`, not `Sync`.
//! 3. A statement borrows its connection, so it is finalised before the connection is closed.
//! 4. A value borrows its statement, so it is gone before the next step.
#![expect(
    unsafe_code,
    reason = "C functions are called, and looked up by name in a loaded library"
)]

mod connection;
mod error;
mod functions;
mod handle;
mod library;
mod script;
mod statement;

pub use connection::Connection;
pub use error::Error;
pub use library::{Library, LoadError};
pub use script::Script;
pub use statement::{Statement, Value};
