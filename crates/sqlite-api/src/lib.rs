//! Safe types for SQLite's C functions, either from the linked library or from a shared library
//! loaded at run time.
//!
//! The lab uses every SQLite-based engine through this crate, so that measurements differ only by
//! the engine. It is thin: apart from SQLite's own, a statement needs no allocation.
//!
//! Invariants:
//!
//! 1. A function pointer of a loaded library is used only while the library is loaded: it is never
//!    unloaded.
//! 2. A library that was built without mutexes is refused. Each connection is opened without its
//!    own mutex and is used by one thread at a time: it is `Send`, not `Sync`.
//! 3. A statement borrows its connection, so it is finalised before the connection is closed.
//! 4. A value borrows its statement, so it is dropped before the next step.
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
