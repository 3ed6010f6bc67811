//! The SQL shell: statements, dot commands, output modes; no decisions about keys.
#![forbid(unsafe_code)]

pub mod dump;
pub mod import;
pub mod number;
pub mod quote;
pub mod render;
pub mod scanner;
pub mod secrecy;
pub mod style;
pub mod words;
