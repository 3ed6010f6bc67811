//! PostgreSQL's frontend/backend protocol, version 3: bytes to messages and back.
//!
//! Readers borrow from the bytes that came in and check every length once, when a message is read:
//! what they give afterwards cannot fail. They take any bytes whatsoever, in particular names and
//! texts that are no UTF-8, and never panic. Writers append to the buffer that leaves next, so that
//! a value is sealed or opened straight into its message.
//!
//! Why not a library: decoders of `pgwire` panic on short bodies, replace what is no UTF-8 and
//! allocate per value; `postgres-protocol` reads only the server's side and writes only the
//! client's. It is the other opinion in the tests.
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
