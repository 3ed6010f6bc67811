//! The parts of SQLite's C interface (structures and constants) that the shim needs
//! (sqlite.org/c3ref).
#![allow(non_camel_case_types, reason = "the names are SQLite's")]

use std::ffi::{c_char, c_double, c_int, c_void};

/// A database connection.
#[repr(C)]
pub struct sqlite3 {
    _opaque: [u8; 0],
}

/// An open file; every VFS appends its own fields.
#[repr(C)]
pub struct sqlite3_file {
    pub(crate) methods: *const sqlite3_io_methods,
}

pub(crate) type SystemCall = Option<unsafe extern "C" fn()>;

/// A virtual file system.
#[repr(C)]
pub struct sqlite3_vfs {
    pub(crate) version: c_int,
    pub(crate) file_size: c_int,
    pub(crate) path_size_max: c_int,
    pub(crate) next: *mut sqlite3_vfs,
    pub(crate) name: *const c_char,
    pub(crate) app_data: *mut c_void,
    pub(crate) open: Option<
        unsafe extern "C" fn(
            *mut sqlite3_vfs,
            *const c_char,
            *mut sqlite3_file,
            c_int,
            *mut c_int,
        ) -> c_int,
    >,
    pub(crate) delete:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, c_int) -> c_int>,
    pub(crate) access:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, c_int, *mut c_int) -> c_int>,
    pub(crate) full_pathname:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, c_int, *mut c_char) -> c_int>,
    pub(crate) dl_open:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char) -> *mut c_void>,
    pub(crate) dl_error: Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int, *mut c_char)>,
    pub(crate) dl_sym:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void, *const c_char) -> SystemCall>,
    pub(crate) dl_close: Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void)>,
    pub(crate) randomness:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int, *mut c_char) -> c_int>,
    pub(crate) sleep: Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int) -> c_int>,
    pub(crate) current_time: Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_double) -> c_int>,
    pub(crate) get_last_error:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, c_int, *mut c_char) -> c_int>,
    pub(crate) current_time_int64:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut i64) -> c_int>,
    pub(crate) set_system_call:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char, SystemCall) -> c_int>,
    pub(crate) get_system_call:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char) -> SystemCall>,
    pub(crate) next_system_call:
        Option<unsafe extern "C" fn(*mut sqlite3_vfs, *const c_char) -> *const c_char>,
}

type FileCall = Option<unsafe extern "C" fn(*mut sqlite3_file) -> c_int>;
type FileInt = Option<unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int>;

/// The methods of an open file.
#[repr(C)]
pub(crate) struct sqlite3_io_methods {
    pub version: c_int,
    pub close: FileCall,
    pub read: Option<unsafe extern "C" fn(*mut sqlite3_file, *mut c_void, c_int, i64) -> c_int>,
    pub write: Option<unsafe extern "C" fn(*mut sqlite3_file, *const c_void, c_int, i64) -> c_int>,
    pub truncate: Option<unsafe extern "C" fn(*mut sqlite3_file, i64) -> c_int>,
    pub sync: FileInt,
    pub file_size: Option<unsafe extern "C" fn(*mut sqlite3_file, *mut i64) -> c_int>,
    pub lock: FileInt,
    pub unlock: FileInt,
    pub check_reserved_lock: Option<unsafe extern "C" fn(*mut sqlite3_file, *mut c_int) -> c_int>,
    pub file_control: Option<unsafe extern "C" fn(*mut sqlite3_file, c_int, *mut c_void) -> c_int>,
    pub sector_size: FileCall,
    pub device_characteristics: FileCall,
    pub shm_map: Option<
        unsafe extern "C" fn(*mut sqlite3_file, c_int, c_int, c_int, *mut *mut c_void) -> c_int,
    >,
    pub shm_lock: Option<unsafe extern "C" fn(*mut sqlite3_file, c_int, c_int, c_int) -> c_int>,
    pub shm_barrier: Option<unsafe extern "C" fn(*mut sqlite3_file)>,
    pub shm_unmap: FileInt,
    pub fetch:
        Option<unsafe extern "C" fn(*mut sqlite3_file, i64, c_int, *mut *mut c_void) -> c_int>,
    pub unfetch: Option<unsafe extern "C" fn(*mut sqlite3_file, i64, *mut c_void) -> c_int>,
}

pub(crate) const SQLITE_OK: c_int = 0;
pub(crate) const SQLITE_ERROR: c_int = 1;
pub(crate) const SQLITE_BUSY: c_int = 5;
pub(crate) const SQLITE_NOMEM: c_int = 7;
pub(crate) const SQLITE_READONLY: c_int = 8;
pub(crate) const SQLITE_IOERR: c_int = 10;
pub(crate) const SQLITE_NOTFOUND: c_int = 12;
pub(crate) const SQLITE_FULL: c_int = 13;
pub(crate) const SQLITE_CANTOPEN: c_int = 14;
pub(crate) const SQLITE_AUTH: c_int = 23;
pub(crate) const SQLITE_NOTADB: c_int = 26;
pub(crate) const SQLITE_IOERR_READ: c_int = SQLITE_IOERR | (1 << 8);
pub(crate) const SQLITE_IOERR_SHORT_READ: c_int = SQLITE_IOERR | (2 << 8);
pub(crate) const SQLITE_IOERR_WRITE: c_int = SQLITE_IOERR | (3 << 8);
pub(crate) const SQLITE_IOERR_DATA: c_int = SQLITE_IOERR | (32 << 8);

pub(crate) const SQLITE_ACCESS_EXISTS: c_int = 0;

pub(crate) const SQLITE_OPEN_READONLY: c_int = 0x1;
pub(crate) const SQLITE_OPEN_READWRITE: c_int = 0x2;
pub(crate) const SQLITE_OPEN_CREATE: c_int = 0x4;
pub(crate) const SQLITE_OPEN_DELETEONCLOSE: c_int = 0x8;
pub(crate) const SQLITE_OPEN_EXCLUSIVE: c_int = 0x10;
pub(crate) const SQLITE_OPEN_MAIN_DB: c_int = 0x100;
pub(crate) const SQLITE_OPEN_TEMP_DB: c_int = 0x200;
pub(crate) const SQLITE_OPEN_TRANSIENT_DB: c_int = 0x400;
pub(crate) const SQLITE_OPEN_MAIN_JOURNAL: c_int = 0x800;
pub(crate) const SQLITE_OPEN_TEMP_JOURNAL: c_int = 0x1000;
pub(crate) const SQLITE_OPEN_SUBJOURNAL: c_int = 0x2000;
pub(crate) const SQLITE_OPEN_SUPER_JOURNAL: c_int = 0x4000;
pub(crate) const SQLITE_OPEN_WAL: c_int = 0x8_0000;

pub(crate) const SQLITE_LOCK_NONE: c_int = 0;
pub(crate) const SQLITE_LOCK_SHARED: c_int = 1;
pub(crate) const SQLITE_LOCK_RESERVED: c_int = 2;

pub(crate) const SQLITE_SYNC_NORMAL: c_int = 2;

pub(crate) const SQLITE_FCNTL_SIZE_HINT: c_int = 5;
pub(crate) const SQLITE_FCNTL_CHUNK_SIZE: c_int = 6;
pub(crate) const SQLITE_FCNTL_FILE_POINTER: c_int = 7;
pub(crate) const SQLITE_FCNTL_VFSNAME: c_int = 12;
pub(crate) const SQLITE_FCNTL_PRAGMA: c_int = 14;
pub(crate) const SQLITE_FCNTL_MMAP_SIZE: c_int = 18;
/// Index of the WAL's write lock in shared memory (sqlite.org/walformat.html 2.3).
pub(crate) const SHM_WRITE_LOCK: c_int = 0;
/// Index of the WAL's checkpoint lock in shared memory.
pub(crate) const SHM_CHECKPOINT_LOCK: c_int = 1;
/// Index of the first WAL read lock, `WAL_READ_LOCK(0)` in sqlite.org/walformat.html 2.3.
pub(crate) const SHM_READ_LOCK_FIRST: c_int = 3;
/// `SQLITE_SHM_LOCK | SQLITE_SHM_SHARED`.
pub(crate) const SHM_LOCK_SHARED: c_int = 2 | 4;
/// `SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED`.
pub(crate) const SHM_UNLOCK_SHARED: c_int = 1 | 4;
/// `SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE`.
pub(crate) const SHM_UNLOCK_EXCLUSIVE: c_int = 1 | 8;
/// `SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE`.
pub(crate) const SHM_LOCK_EXCLUSIVE: c_int = 2 | 8;

pub(crate) const SQLITE_FCNTL_SYNC: c_int = 21;
pub(crate) const SQLITE_FCNTL_COMMIT_PHASETWO: c_int = 22;
pub(crate) const SQLITE_FCNTL_PDB: c_int = 30;
pub(crate) const SQLITE_FCNTL_RESERVE_BYTES: c_int = 38;
pub(crate) const SQLITE_FCNTL_CKPT_START: c_int = 39;
pub(crate) const SQLITE_FCNTL_CKPT_DONE: c_int = 37;
pub(crate) const SQLITE_FCNTL_BEGIN_ATOMIC_WRITE: c_int = 31;
pub(crate) const SQLITE_FCNTL_COMMIT_ATOMIC_WRITE: c_int = 32;
pub(crate) const SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE: c_int = 33;

/// Capabilities of the base VFS that the shim must not pass on: atomic writes, since the header
/// region shifts all pages, and subpage reads, since a page can only be opened as a whole.
pub(crate) const IOCAP_NOT_PROMISED: c_int = 0x1ff | 0x4000 | 0x8000;
