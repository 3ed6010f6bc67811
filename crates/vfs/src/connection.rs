//! What the connection that a database belongs to says of itself.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::abi::sqlite3_file;
use crate::api::SqliteApi;
use crate::database::{Connection, Database};
use crate::methods::{base_pointer, shared_of};

impl Connection {
    /// The file of its main database; null if that has none.
    pub fn main_file(self) -> *mut sqlite3_file {
        // SAFETY: SQLite holds the connection's mutex while it calls into the VFS, and the pointer
        // that it gave stays valid while the file is open.
        unsafe { SqliteApi::get().file_of(*self.0, c"main") }
    }

    /// Whether statements that follow are part of a transaction that may be rolled back.
    pub fn is_in_transaction(self) -> bool {
        // SAFETY: as in `main_file`.
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
        // SAFETY: as in `main_file`; the place outlives the call, which asks for no message.
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

impl Database {
    /// Whether this is the main database of its connection: whoever opened the connection named
    /// it, and no SQL.
    pub fn is_main(&self) -> bool {
        let Some(connection) = self.connection else {
            return false;
        };
        let main = connection.main_file();
        // SAFETY: the connection's own file, if any, is open. It is ours where it has an owner.
        unsafe {
            !main.is_null() && shared_of(main).is_some() && self.base.is_at(base_pointer(main))
        }
    }
}
