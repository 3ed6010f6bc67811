//! Types and values of SQL columns as the proxy understands them.
//!
//! A protected column is `bytea` in the server, so the server no longer checks what goes in:
//! length,
//! scale, range. This crate is the one home of those rules, and of the errors that the server
//! would have
//! given. It knows no protocol (formats on the wire are with `wire-postgres`) and no key.

mod logical;
mod value;

pub use logical::{LogicalType, TypeNameError};
pub use value::{Value, ValueError};
