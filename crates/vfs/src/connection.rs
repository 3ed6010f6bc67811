//! What the connection that a database belongs to says of itself.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use crate::api::SqliteApi;
use crate::database::{Connection, Shared, lock};
use crate::keys::main_of;

impl Connection {
    /// Whether statements that follow are part of a transaction that may be rolled back.
    pub fn is_in_transaction(self) -> bool {
        // SAFETY: SQLite holds the connection's mutex while it calls into the VFS, and the pointer
        // that it gave stays valid while the file is open.
        unsafe { (SqliteApi::get().get_autocommit)(*self.0) == 0 }
    }

    /// `PRAGMA query_only`. `None` if the connection refuses to tell, as by an authorizer.
    ///
    /// SQLite asks the file of the main database first, so the caller holds no lock on any.
    pub fn is_query_only(self) -> Option<bool> {
        unsafe extern "C" fn take(
            place: *mut c_void,
            count: c_int,
            values: *mut *mut c_char,
            _: *mut *mut c_char,
        ) -> c_int {
            if count == 1 {
                // SAFETY: SQLite passes as many values as it says, terminated or null, and the
                // place that is given below.
                unsafe {
                    let value = *values;
                    *place.cast::<Option<bool>>() =
                        (!value.is_null()).then(|| CStr::from_ptr(value) != c"0");
                }
            }
            0
        }
        let mut answer: Option<bool> = None;
        // SAFETY: as above; the place outlives the call, which asks for no message.
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

/// Whether a database is the main one of its connection: whoever opened the connection named it,
/// and no SQL. The caller holds no lock on it.
pub(crate) fn is_main(shared: &Shared) -> bool {
    let connection = lock(shared).identity.connection;
    connection
        .and_then(main_of)
        .is_some_and(|main| Arc::ptr_eq(&main, shared))
}
