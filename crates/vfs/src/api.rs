//! The few SQLite functions that the shim calls, either from the linked SQLite or from the one that
//! loaded the extension.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::abi::{SQLITE_FCNTL_FILE_POINTER, sqlite3, sqlite3_file, sqlite3_vfs};

/// Fills a [`SqliteApi`] from a linked SQLite. Expands in the crate that declares its functions.
#[macro_export]
macro_rules! sqlite_functions {
    ($library:ident) => {{
        use std::mem::transmute;
        // SAFETY: each pair of types describes the same C function; they differ only in which Rust
        // declaration of SQLite's structures the pointers name.
        #[expect(
            clippy::missing_transmute_annotations,
            reason = "each field's type says what the pointer becomes"
        )]
        unsafe {
            $crate::SqliteApi {
                vfs_find: transmute::<*const (), _>($library::sqlite3_vfs_find as *const ()),
                vfs_register: transmute::<*const (), _>(
                    $library::sqlite3_vfs_register as *const (),
                ),
                file_control: transmute::<*const (), _>(
                    $library::sqlite3_file_control as *const (),
                ),
                uri_parameter: transmute::<*const (), _>(
                    $library::sqlite3_uri_parameter as *const (),
                ),
                malloc64: transmute::<*const (), _>($library::sqlite3_malloc64 as *const ()),
                free: $library::sqlite3_free,
                log: transmute::<*const (), _>($library::sqlite3_log as *const ()),
                libversion_number: $library::sqlite3_libversion_number,
                db_filename: transmute::<*const (), _>($library::sqlite3_db_filename as *const ()),
                db_name: transmute::<*const (), _>($library::sqlite3_db_name as *const ()),
                get_autocommit: transmute::<*const (), _>(
                    $library::sqlite3_get_autocommit as *const (),
                ),
                exec: transmute::<*const (), _>($library::sqlite3_exec as *const ()),
            }
        }
    }};
}

/// SQLite's functions, filled from the linked library or from a loadable extension's table.
#[derive(Clone, Copy)]
pub struct SqliteApi {
    /// `sqlite3_vfs_find`
    pub vfs_find: unsafe extern "C" fn(*const c_char) -> *mut sqlite3_vfs,
    /// `sqlite3_vfs_register`
    pub vfs_register: unsafe extern "C" fn(*mut sqlite3_vfs, c_int) -> c_int,
    /// `sqlite3_file_control`
    pub file_control:
        unsafe extern "C" fn(*mut sqlite3, *const c_char, c_int, *mut c_void) -> c_int,
    /// `sqlite3_uri_parameter`
    pub uri_parameter: unsafe extern "C" fn(*const c_char, *const c_char) -> *const c_char,
    /// `sqlite3_malloc64`
    pub malloc64: unsafe extern "C" fn(u64) -> *mut c_void,
    /// `sqlite3_free`
    pub free: unsafe extern "C" fn(*mut c_void),
    /// `sqlite3_log`
    pub log: unsafe extern "C" fn(c_int, *const c_char, ...),
    /// `sqlite3_libversion_number`
    pub libversion_number: unsafe extern "C" fn() -> c_int,
    /// `sqlite3_db_filename`
    pub db_filename: unsafe extern "C" fn(*mut sqlite3, *const c_char) -> *const c_char,
    /// `sqlite3_db_name`
    pub db_name: unsafe extern "C" fn(*mut sqlite3, c_int) -> *const c_char,
    /// `sqlite3_get_autocommit`
    pub get_autocommit: unsafe extern "C" fn(*mut sqlite3) -> c_int,
    /// `sqlite3_exec`
    pub exec: unsafe extern "C" fn(
        *mut sqlite3,
        *const c_char,
        Option<RowCallback>,
        *mut c_void,
        *mut *mut c_char,
    ) -> c_int,
}

/// The row callback of `sqlite3_exec`: argument, column count, values, column names.
pub type RowCallback =
    unsafe extern "C" fn(*mut c_void, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

static API: OnceLock<SqliteApi> = OnceLock::new();

/// Offsets in `sqlite3_api_routines` (sqlite3ext.h), counted in pointers. The table only grows.
mod routine {
    pub const EXEC: usize = 55;
    pub const FREE: usize = 58;
    pub const GET_AUTOCOMMIT: usize = 60;
    pub const LIBVERSION_NUMBER: usize = 67;
    pub const FILE_CONTROL: usize = 127;
    pub const VFS_FIND: usize = 141;
    pub const VFS_REGISTER: usize = 142;
    pub const LOG: usize = 167;
    pub const URI_PARAMETER: usize = 189;
    pub const MALLOC64: usize = 197;
    pub const DB_FILENAME: usize = 180;
    pub const DB_NAME: usize = 264;
}

impl SqliteApi {
    /// The oldest SQLite that the shim works with: 3.40.0.
    pub const VERSION_MIN: c_int = 3_040_000;

    /// Reads the table that SQLite hands to a loadable extension.
    ///
    /// Returns `None` if that SQLite is older than [`Self::VERSION_MIN`].
    ///
    /// # Safety
    ///
    /// `routines` must be the `sqlite3_api_routines` pointer that SQLite passed to the entry point.
    #[expect(
        clippy::missing_transmute_annotations,
        reason = "each field's type says what the pointer becomes"
    )]
    pub unsafe fn from_routines(routines: *const c_void) -> Option<SqliteApi> {
        let table = routines.cast::<*const c_void>();
        // SAFETY: the caller passes SQLite's table. `libversion_number` has had this position and
        // this signature since SQLite 3.3.
        let version: unsafe extern "C" fn() -> c_int =
            unsafe { std::mem::transmute(*table.add(routine::LIBVERSION_NUMBER)) };
        // SAFETY: a function of SQLite that takes no arguments.
        if unsafe { version() } < Self::VERSION_MIN {
            return None;
        }
        // SAFETY: in SQLite 3.39 and later the table holds non-null pointers to functions of
        // exactly these signatures at these positions.
        unsafe {
            Some(SqliteApi {
                vfs_find: std::mem::transmute::<*const c_void, _>(*table.add(routine::VFS_FIND)),
                vfs_register: std::mem::transmute::<*const c_void, _>(
                    *table.add(routine::VFS_REGISTER),
                ),
                file_control: std::mem::transmute::<*const c_void, _>(
                    *table.add(routine::FILE_CONTROL),
                ),
                uri_parameter: std::mem::transmute::<*const c_void, _>(
                    *table.add(routine::URI_PARAMETER),
                ),
                malloc64: std::mem::transmute::<*const c_void, _>(*table.add(routine::MALLOC64)),
                free: std::mem::transmute::<*const c_void, _>(*table.add(routine::FREE)),
                log: std::mem::transmute::<*const c_void, _>(*table.add(routine::LOG)),
                libversion_number: version,
                db_filename: std::mem::transmute::<*const c_void, _>(
                    *table.add(routine::DB_FILENAME),
                ),
                db_name: std::mem::transmute::<*const c_void, _>(*table.add(routine::DB_NAME)),
                get_autocommit: std::mem::transmute::<*const c_void, _>(
                    *table.add(routine::GET_AUTOCOMMIT),
                ),
                exec: std::mem::transmute::<*const c_void, _>(*table.add(routine::EXEC)),
            })
        }
    }

    /// Stores the functions for all callbacks. Returns false if those of another SQLite are stored
    /// already: they would receive connections and memory that are not theirs.
    pub(crate) fn install(self) -> bool {
        let kept = API.get_or_init(|| self);
        std::ptr::fn_addr_eq(kept.exec, self.exec)
    }

    pub(crate) fn get() -> &'static SqliteApi {
        API.get()
            .expect("`register` installs the table before it hands out any callback")
    }

    /// Writes to SQLite's error log (sqlite.org/errlog.html).
    pub(crate) fn write_log(&self, code: c_int, message: &str) {
        if let Ok(text) = CString::new(message.replace('\0', "?")) {
            // SAFETY: the format takes one string, which lives through the call.
            unsafe { (self.log)(code, c"%s".as_ptr(), text.as_ptr()) }
        }
    }

    /// Copies `text` into memory of SQLite's allocator. Returns null if that is exhausted.
    pub(crate) fn allocate_text(&self, text: &str) -> *mut c_char {
        let bytes = text.as_bytes();
        // SAFETY: allocates one byte more than the text has, for the terminating zero.
        let memory = unsafe { (self.malloc64)(bytes.len() as u64 + 1) }.cast::<u8>();
        if !memory.is_null() {
            // SAFETY: the allocation above has room for the bytes and a terminating zero.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
                *memory.add(bytes.len()) = 0;
            }
        }
        memory.cast()
    }

    /// Stores a message in the out-parameter of an entry point.
    ///
    /// # Safety
    ///
    /// `out` must be null or point to a string pointer whose string SQLite will free.
    pub unsafe fn give_message(&self, out: *mut *mut c_char, text: &str) {
        if !out.is_null() {
            // SAFETY: by contract.
            unsafe { *out = self.allocate_text(text) };
        }
    }

    /// Frees memory that SQLite allocated. Null is allowed.
    ///
    /// # Safety
    ///
    /// `memory` must be null or from SQLite's allocator, and must not be used afterwards.
    pub(crate) unsafe fn release(&self, memory: *mut c_void) {
        // SAFETY: by contract.
        unsafe { (self.free)(memory) }
    }

    /// The file object of schema `name` of a connection.
    ///
    /// # Safety
    /// `db` must be a live connection whose mutex this thread holds or may take.
    pub(crate) unsafe fn file_of(&self, db: *mut sqlite3, name: &CStr) -> *mut sqlite3_file {
        let mut file: *mut sqlite3_file = std::ptr::null_mut();
        let out = (&raw mut file).cast();
        // SAFETY: `db` is live by contract; this operation writes one pointer to `out`.
        let code =
            unsafe { (self.file_control)(db, name.as_ptr(), SQLITE_FCNTL_FILE_POINTER, out) };
        if code == 0 {
            file
        } else {
            std::ptr::null_mut()
        }
    }
}
