//! Queries about the SQLite connection that a database belongs to.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use crate::api::SqliteApi;
use crate::database::{Connection, Shared, lock};
use crate::keys::main_of;

impl Connection {
    /// Whether the next statements are part of an open transaction, which may be rolled back.
    pub fn is_in_transaction(self) -> bool {
        // SAFETY: SQLite holds the connection's mutex while it calls into the VFS, and the pointer
        // it gave stays valid while the file is open.
        unsafe { (SqliteApi::get().get_autocommit)(*self.0) == 0 }
    }

    /// `PRAGMA query_only`. `None` if the connection does not allow the query, for example by an
    /// authorizer.
    ///
    /// SQLite asks the file of the main database first, so the caller must hold no lock on any
    /// file.
    pub fn is_query_only(self) -> Option<bool> {
        unsafe extern "C" fn take(
            out: *mut c_void,
            count: c_int,
            values: *mut *mut c_char,
            _: *mut *mut c_char,
        ) -> c_int {
            if count == 1 {
                // SAFETY: SQLite passes as many values as it says, terminated or null, and the
                // out-pointer given below.
                unsafe {
                    let value = *values;
                    *out.cast::<Option<bool>>() =
                        (!value.is_null()).then(|| CStr::from_ptr(value) != c"0");
                }
            }
            0
        }
        let mut answer: Option<bool> = None;
        // SAFETY: as above; the out-value outlives the call, and no message is requested.
        let code = unsafe {
            (SqliteApi::get().exec)(
                *self.0,
                c"PRAGMA query_only".as_ptr(),
                Some(take),
                (&raw mut answer).cast(),
                std::ptr::null_mut(),
            )
        };
        if code == 0 { answer } else { None }
    }
}

/// Whether a database is the main one of its connection, so that its name came from whoever opened
/// the connection and not from SQL. The caller holds no lock on it.
pub(crate) fn is_main(shared: &Shared) -> bool {
    let connection = lock(shared).identity.connection;
    connection
        .and_then(main_of)
        .is_some_and(|main| Arc::ptr_eq(&main, shared))
}
