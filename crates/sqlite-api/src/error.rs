//! What SQLite says of a failure.

use std::ffi::{CStr, c_int};

use libsqlite3_sys as codes;

use crate::functions::Functions;

/// What SQLite says of a failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct Error {
    /// SQLite's extended result code; its low eight bits are the primary one.
    pub code: c_int,
    /// SQLite's message. It may quote the statement.
    pub message: String,
}

impl Error {
    /// For what was called with what SQLite would not take.
    pub(crate) fn misuse(message: &str) -> Error {
        Error {
            code: codes::SQLITE_MISUSE,
            message: message.to_owned(),
        }
    }
}

impl Functions {
    /// SQLite's general words for a code.
    pub(crate) fn error_of(&self, code: c_int) -> Error {
        // SAFETY: SQLite returns a text that it never frees, for any number.
        let message = unsafe { CStr::from_ptr((self.errstr)(code)) };
        Error {
            code,
            message: message.to_string_lossy().into_owned(),
        }
    }
}
