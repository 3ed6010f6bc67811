//! The session engine for MySQL and MariaDB: what happens with the bytes of a client and of its
//! server.
//!
//! The server speaks first, and TLS begins in the midst of packets: [`front`] says what both sides
//! get to see until the client has sent its login. From there on [`Session`] takes the bytes of
//! both and gives bytes for both. Neither knows a socket, TLS or a file: the proxy moves the bytes.
//!
//! Without rules everything passes but what [`front::for_client`] hides. With rules, commands are
//! carried out one by one: texts are planned, values sealed and opened.
#![forbid(unsafe_code)]

pub mod finisher;
pub mod front;
mod refusal;
mod rsa;
mod session;

pub use refusal::{Reason, Refusal};
pub use session::{Among, ClientLeg, Elsewhere, ServerLeg, Session, Terms, WAITING_MAX};
