//! Results of calls on their way to SQLite: a result code, with the message recorded elsewhere for
//! `PRAGMA strongroom_last_error`.

use std::ffi::c_int;

use crate::abi::{SQLITE_IOERR, SQLITE_IOERR_SHORT_READ, SQLITE_OK};

/// A SQLite result code other than `SQLITE_OK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub c_int);

/// What file operations return.
pub(crate) type Outcome<T = ()> = Result<T, Code>;

impl Code {
    /// Whether this is the code of a read beyond the end of the file (`SQLITE_IOERR_SHORT_READ`).
    pub fn is_short_read(self) -> bool {
        self.0 == SQLITE_IOERR_SHORT_READ
    }
}

/// From a C result code.
pub(crate) fn outcome(code: c_int) -> Outcome {
    if code == SQLITE_OK {
        Ok(())
    } else {
        Err(Code(code))
    }
}

/// To a C result code.
pub(crate) fn code(outcome: Outcome) -> c_int {
    match outcome {
        Ok(()) => SQLITE_OK,
        Err(Code(code)) => code,
    }
}

/// Runs a callback so that no panic crosses into C.
pub(crate) fn guarded(callback: impl FnOnce() -> c_int) -> c_int {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(callback)).unwrap_or(SQLITE_IOERR)
}
