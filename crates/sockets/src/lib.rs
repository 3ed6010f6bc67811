//! Sockets on both sides of a session: of the file system, and of a server's port.
//!
//! The proxy and the client in process drive their sessions over the same ones. Nothing here knows
//! a protocol.
#![forbid(unsafe_code)]

mod local;
mod server;

pub use local::LocalStream;
pub use server::{connect, keep_alive};
