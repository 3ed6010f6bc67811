//! The SQL shell: statements, dot commands, output modes; no decisions about keys.
pub mod scanner;
pub mod number;
pub mod quote;
