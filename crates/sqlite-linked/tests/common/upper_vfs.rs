//! A VFS stacked above Strongroom's, as tracing, testing and language bindings do: it has its own
//! file objects, and may pass on copies of names.
#![expect(unsafe_code, reason = "SQLite's C interface")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr::null_mut;

use rusqlite::ffi::{self as c, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

/// The behaviour of a stacked VFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// It passes on copies of names.
    pub copies_names: bool,
    /// It does not pass on SQLite's file controls.
    pub keeps_controls: bool,
    /// It reads the whole database when opening it, before SQLite takes a lock.
    pub reads_at_open: bool,
}

struct Upper {
    below: *mut sqlite3_vfs,
    manner: Manner,
}

#[repr(C)]
struct File {
    header: sqlite3_file,
    below: *mut sqlite3_file,
    name: *const c_char,
    keeps_controls: bool,
}

/// Registers a stacked VFS under this name, for the life of the process.
pub fn register(name: &str, manner: Manner) {
    // SAFETY: the names are terminated, and everything that SQLite keeps is leaked.
    unsafe {
        let below = c::sqlite3_vfs_find(c"strongroom".as_ptr());
        assert!(!below.is_null(), "Strongroom is registered");
        let mut vfs = *below;
        vfs.iVersion = 2;
        vfs.szOsFile = size_of::<File>() as c_int;
        vfs.pNext = null_mut();
        vfs.zName = CString::new(name).expect("no zero").into_raw();
        vfs.pAppData = Box::into_raw(Box::new(Upper { below, manner })).cast();
        vfs.xOpen = Some(open);
        vfs.xDelete = Some(delete);
        vfs.xAccess = Some(access);
        vfs.xFullPathname = Some(full_pathname);
        vfs.xDlOpen = None;
        vfs.xRandomness = Some(randomness);
        vfs.xSleep = Some(sleep);
        vfs.xCurrentTime = None;
        vfs.xCurrentTimeInt64 = Some(current_time);
        vfs.xGetLastError = None;
        let code = c::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0);
        assert_eq!(code, c::SQLITE_OK);
    }
}

unsafe fn upper<'a>(vfs: *mut sqlite3_vfs) -> &'a Upper {
    // SAFETY: `register` put it there.
    unsafe { &*(*vfs).pAppData.cast::<Upper>() }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite's contract for xOpen; the file below is leaked memory, as tests need.
    unsafe {
        let Upper { below, manner } = *upper(vfs);
        let size = (*below).szOsFile as usize;
        let memory = vec![0_u128; size.div_ceil(16)].leak();
        let below_file: *mut sqlite3_file = memory.as_mut_ptr().cast();
        let handed_on = if manner.copies_names && !name.is_null() {
            copied(name, flags)
        } else {
            name
        };
        let code = ((*below).xOpen.expect("set"))(below, handed_on, below_file, flags, out_flags);
        (*file).pMethods = std::ptr::null();
        if code == c::SQLITE_OK && manner.reads_at_open && flags & c::SQLITE_OPEN_MAIN_DB != 0 {
            let code = read_all(below_file);
            if code != c::SQLITE_OK {
                return code;
            }
        }
        if code == c::SQLITE_OK {
            file.cast::<File>().write(File {
                header: sqlite3_file { pMethods: &METHODS },
                below: below_file,
                name: handed_on,
                keeps_controls: manner.keeps_controls,
            });
        }
        code
    }
}

unsafe fn read_all(file: *mut sqlite3_file) -> c_int {
    const CHUNK_SIZE: i64 = 1500;
    // SAFETY: the file is open.
    unsafe {
        let methods = &*(*file).pMethods;
        let mut size = 0;
        let mut code = (methods.xFileSize.expect("set"))(file, &raw mut size);
        let mut content = vec![0_u8; size as usize];
        let mut offset = 0;
        while code == c::SQLITE_OK && offset < size {
            let count = CHUNK_SIZE.min(size - offset);
            let out = content[offset as usize..].as_mut_ptr().cast();
            code = (methods.xRead.expect("set"))(file, out, count as c_int, offset);
            offset += count;
        }
        assert!(
            code != c::SQLITE_OK || size == 0 || content.starts_with(b"SQLite format 3\0"),
            "what is read is the database in clear"
        );
        code
    }
}

/// A copy of a name with its URI parameters.
unsafe fn copied(name: *const c_char, flags: c_int) -> *const c_char {
    // SAFETY: the name of a main database is followed by its parameters.
    unsafe {
        let mut parameters: Vec<*const c_char> = Vec::new();
        if flags & c::SQLITE_OPEN_MAIN_DB != 0 {
            for index in 0.. {
                let key = c::sqlite3_uri_key(name, index);
                if key.is_null() {
                    break;
                }
                parameters.extend([key, c::sqlite3_uri_parameter(name, key)]);
            }
        }
        c::sqlite3_create_filename(
            name,
            c"".as_ptr(),
            c"".as_ptr(),
            parameters.len() as c_int / 2,
            parameters.as_mut_ptr(),
        )
    }
}

macro_rules! below {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let file = (*$file.cast::<File>()).below;
        ((*(*file).pMethods).$method.expect("set"))(file $(, $argument)*)
    }};
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Callbacks that pass a call on unchanged.
macro_rules! hand_on {
    ($($name:ident, $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> $result {
            // SAFETY: `open` made the file; the arguments are SQLite's.
            unsafe { below!(file, $method $(, $argument)*) }
        }
    )*};
}

hand_on! {
    read, xRead(out: *mut c_void, size: c_int, offset: i64) -> c_int;
    write, xWrite(data: *const c_void, size: c_int, offset: i64) -> c_int;
    truncate, xTruncate(size: i64) -> c_int;
    sync, xSync(flags: c_int) -> c_int;
    file_size, xFileSize(out: *mut i64) -> c_int;
    lock, xLock(level: c_int) -> c_int;
    unlock, xUnlock(level: c_int) -> c_int;
    check_reserved_lock, xCheckReservedLock(out: *mut c_int) -> c_int;
    sector_size, xSectorSize() -> c_int;
    device_characteristics, xDeviceCharacteristics() -> c_int;
    shm_map, xShmMap(region: c_int, size: c_int, extend: c_int, out: *mut *mut c_void) -> c_int;
    shm_lock, xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int;
    shm_barrier, xShmBarrier() -> ();
    shm_unmap, xShmUnmap(delete: c_int) -> c_int;
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: as in `hand_on`. The copy is not needed any more.
    unsafe {
        let code = below!(file, xClose);
        let _ = CStr::from_ptr((*file.cast::<File>()).name);
        code
    }
}

unsafe extern "C" fn file_control(
    file: *mut sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as in `hand_on`.
    unsafe {
        if (*file.cast::<File>()).keeps_controls {
            return c::SQLITE_NOTFOUND;
        }
        below!(file, xFileControl, operation, argument)
    }
}

macro_rules! vfs_below {
    ($vfs:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: `register` made the VFS; the arguments are SQLite's.
        unsafe {
            let below = upper($vfs).below;
            ((*below).$method.expect("set"))(below $(, $argument)*)
        }
    }};
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    vfs_below!(vfs, xDelete, name, sync)
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    vfs_below!(vfs, xAccess, name, flags, out)
}

unsafe extern "C" fn full_pathname(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    vfs_below!(vfs, xFullPathname, name, size, out)
}

unsafe extern "C" fn randomness(vfs: *mut sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    vfs_below!(vfs, xRandomness, size, out)
}

unsafe extern "C" fn sleep(vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    vfs_below!(vfs, xSleep, microseconds)
}

unsafe extern "C" fn current_time(vfs: *mut sqlite3_vfs, out: *mut i64) -> c_int {
    vfs_below!(vfs, xCurrentTimeInt64, out)
}
