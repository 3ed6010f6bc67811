//! The session engine for PostgreSQL: what happens with the bytes of a client and of its server.
//!
//! [`Session`] takes the bytes of both and gives bytes for both. It knows no socket, no TLS and no
//! file: the proxy moves the bytes of sockets, the library for Rust programs those of its client.
//! What no message is needed for is in `session_core`.
#![forbid(unsafe_code)]

pub mod copy;
pub mod finisher;
mod server_types;
mod session;
mod target;

pub use session::{ServerKey, Session, Terms, WAITING_MAX};
pub use target::{ServerFacts, Target};
