//! SQLite's handle of an open database, which is closed when dropped.

use std::ffi::{CStr, c_int};
use std::ptr;

use libsqlite3_sys as codes;

use crate::error::Error;
use crate::functions::Functions;

/// SQLite's handle of an open database.
pub(crate) struct Handle {
    functions: &'static Functions,
    raw: *mut codes::sqlite3,
}

// SAFETY: invariant 2: SQLite was built with mutexes, and `Handle` is not `Sync`.
unsafe impl Send for Handle {}

impl Handle {
    /// Opens the database with this URI.
    ///
    /// # Errors
    ///
    /// If SQLite refuses.
    pub(crate) fn open(
        functions: &'static Functions,
        uri: &CStr,
        flags: c_int,
    ) -> Result<Self, Error> {
        let mut raw = ptr::null_mut();
        // SAFETY: a text that ends in zero, a valid out-pointer for the handle, and no VFS name.
        let code = unsafe { (functions.open)(uri.as_ptr(), &raw mut raw, flags, ptr::null()) };
        if raw.is_null() {
            return Err(functions.error_of(code));
        }
        // From here on dropping closes the handle, which is required even on failure.
        let handle = Handle { functions, raw };
        if code == codes::SQLITE_OK {
            Ok(handle)
        } else {
            Err(handle.error())
        }
    }

    /// SQLite's functions.
    pub(crate) fn functions(&self) -> &'static Functions {
        self.functions
    }

    /// The raw pointer for SQLite's functions.
    pub(crate) fn raw(&self) -> *mut codes::sqlite3 {
        self.raw
    }

    /// How many milliseconds SQLite waits for a lock of another connection.
    ///
    /// # Errors
    ///
    /// If SQLite refuses.
    pub(crate) fn set_busy_timeout(&self, milliseconds: c_int) -> Result<(), Error> {
        // SAFETY: the handle is open.
        match unsafe { (self.functions.busy_timeout)(self.raw, milliseconds) } {
            codes::SQLITE_OK => Ok(()),
            _ => Err(self.error()),
        }
    }

    /// SQLite's error for the last failure.
    pub(crate) fn error(&self) -> Error {
        // SAFETY: the handle is open; the text is copied before another call could replace it.
        unsafe {
            let message = CStr::from_ptr((self.functions.errmsg)(self.raw));
            Error {
                code: (self.functions.extended_errcode)(self.raw),
                message: message.to_string_lossy().into_owned(),
            }
        }
    }

    /// Closes the database.
    ///
    /// # Errors
    ///
    /// If SQLite refuses, as it does while a statement exists.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        // SAFETY: the handle is open.
        let code = unsafe { (self.functions.close)(self.raw) };
        if code != codes::SQLITE_OK {
            return Err(self.error());
        }
        // It is closed, so there is nothing to drop.
        self.raw = ptr::null_mut();
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is open, or null after `close`, which SQLite ignores.
        unsafe { (self.functions.close)(self.raw) };
    }
}
