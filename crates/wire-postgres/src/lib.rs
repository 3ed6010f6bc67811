//! PostgreSQL's frontend/backend protocol, version 3: parses and writes messages.
//!
//! Readers borrow from the input and check every length once, when a message is read; afterwards
//! their accessors cannot fail. They accept arbitrary bytes, including names and texts that are not
//! UTF-8, and never panic. Writers append to the output buffer, so that a value is sealed or opened
//! directly into its message.
//!
//! Why no library is used: decoders of `pgwire` panic on short bodies, replace invalid UTF-8 and
//! allocate per value; `postgres-protocol` reads only the server's side and writes only the
//! client's. The tests use it as a second implementation.
//!
//! No I/O, no SQL, no keys.

pub mod backend;
pub mod frame;
pub mod frontend;
mod reader;
pub mod startup;
pub mod values;

pub use frame::{FrameError, HEADER_SIZE, Header};
pub use reader::{Formats, Malformed, Values};
