//! The table of SQLite functions, as pointers.

use std::ffi::{c_char, c_double, c_int, c_void};

use libsqlite3_sys::{self as linked, sqlite3, sqlite3_stmt};

/// Declares the table, and fills it from the linked or a loaded library.
macro_rules! functions {
    ($($name:ident = $symbol:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The SQLite functions of one library, with the types that SQLite documents.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// The functions of the linked library.
            pub(crate) const fn linked() -> Self {
                Self { $($name: linked::$symbol,)* }
            }

            /// The functions of a loaded library; the name of the first missing one otherwise.
            ///
            /// # Safety
            ///
            /// The library's functions of these names must be SQLite's, and the library must stay
            /// loaded as long as the table is used.
            pub(crate) unsafe fn loaded(
                library: &libloading::Library,
            ) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        let name = concat!(stringify!($symbol), "\0").as_bytes();
                        // SAFETY: the caller vouches for type and lifetime.
                        let symbol = unsafe { library.get(name) };
                        *symbol.map_err(|_| stringify!($symbol))?
                    },)*
                })
            }
        }
    };
}

functions! {
    libversion = sqlite3_libversion: fn() -> *const c_char;
    threadsafe = sqlite3_threadsafe: fn() -> c_int;
    open = sqlite3_open_v2:
        fn(*const c_char, *mut *mut sqlite3, c_int, *const c_char) -> c_int;
    close = sqlite3_close: fn(*mut sqlite3) -> c_int;
    busy_timeout = sqlite3_busy_timeout: fn(*mut sqlite3, c_int) -> c_int;
    extended_errcode = sqlite3_extended_errcode: fn(*mut sqlite3) -> c_int;
    errmsg = sqlite3_errmsg: fn(*mut sqlite3) -> *const c_char;
    errstr = sqlite3_errstr: fn(c_int) -> *const c_char;
    prepare = sqlite3_prepare_v2: fn(
        *mut sqlite3, *const c_char, c_int, *mut *mut sqlite3_stmt, *mut *const c_char
    ) -> c_int;
    step = sqlite3_step: fn(*mut sqlite3_stmt) -> c_int;
    finalize = sqlite3_finalize: fn(*mut sqlite3_stmt) -> c_int;
    column_count = sqlite3_column_count: fn(*mut sqlite3_stmt) -> c_int;
    column_type = sqlite3_column_type: fn(*mut sqlite3_stmt, c_int) -> c_int;
    column_int64 = sqlite3_column_int64: fn(*mut sqlite3_stmt, c_int) -> i64;
    column_double = sqlite3_column_double: fn(*mut sqlite3_stmt, c_int) -> c_double;
    column_text = sqlite3_column_text: fn(*mut sqlite3_stmt, c_int) -> *const u8;
    column_blob = sqlite3_column_blob: fn(*mut sqlite3_stmt, c_int) -> *const c_void;
    column_bytes = sqlite3_column_bytes: fn(*mut sqlite3_stmt, c_int) -> c_int;
}
