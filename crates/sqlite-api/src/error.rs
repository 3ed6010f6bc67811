//! Errors reported by SQLite.

use std::ffi::{CStr, c_int};

use libsqlite3_sys as codes;

use crate::functions::Functions;

/// An error reported by SQLite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct Error {
    /// SQLite's extended result code; its low eight bits are the primary code.
    pub code: c_int,
    /// SQLite's message. It may quote the statement.
    pub message: String,
}

impl Error {
    /// The error for arguments that SQLite would not accept.
    pub(crate) fn misuse(message: &str) -> Error {
        Error {
            code: codes::SQLITE_MISUSE,
            message: message.to_owned(),
        }
    }
}

impl Functions {
    /// SQLite's generic message for a code.
    pub(crate) fn error_of(&self, code: c_int) -> Error {
        // SAFETY: SQLite returns a text that it never frees, for any number.
        let message = unsafe { CStr::from_ptr((self.errstr)(code)) };
        Error {
            code,
            message: message.to_string_lossy().into_owned(),
        }
    }
}
