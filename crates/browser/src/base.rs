//! The base VFS in browsers: the files of a worker.
//!
//! JavaScript opens the files of a database before SQLite does, since OPFS cannot open files
//! synchronously. So a file counts as existing if it is not empty: deleting one empties it, and
//! JavaScript removes empty files when the database is closed.
//!
//! A super-journal, with which SQLite commits to several files at once, would have a new name each
//! time. It cannot be opened, and such a commit fails: see [`NO_SUPER_JOURNAL`].

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlite_wasm_rs as ffi;

use crate::host::{HostError, HostFile};
use crate::locks::{Level, Locks};

/// Its name.
pub const NAME: &str = "opfs";

/// Logged when a commit to several databases fails.
const NO_SUPER_JOURNAL: &str = "strongroom: a transaction over several databases is not possible \
                                in a browser; change one database in a transaction, or keep them \
                                in WAL mode, where each commits by itself";

/// SQLite names super-journals `…-mj` and nine digits.
const SUPER_JOURNAL_SUFFIX_SIZE: usize = 12;

/// SQLite's file object.
#[repr(C)]
struct File {
    methods: *const ffi::sqlite3_io_methods,
    host: HostFile,
    level: Level,
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
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
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// Locks of all files that are locked by some connection.
static LOCKS: Mutex<BTreeMap<HostFile, Locks>> = Mutex::new(BTreeMap::new());

fn locks() -> MutexGuard<'static, BTreeMap<HostFile, Locks>> {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers it with SQLite, as the default.
pub fn register() -> c_int {
    // The registration lasts as long as the module.
    let Ok(name) = CString::new(NAME) else {
        return ffi::SQLITE_MISUSE;
    };
    // SAFETY: SQLite is initialised, and its default VFS, the in-memory one, supplies time and
    // randomness. Both the structure and its name are leaked.
    unsafe {
        let memory = ffi::sqlite3_vfs_find(std::ptr::null());
        if memory.is_null() {
            return ffi::SQLITE_ERROR;
        }
        let vfs = ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<File>() as c_int,
            mxPathname: 512,
            pNext: std::ptr::null_mut(),
            zName: name.into_raw(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            ..*memory
        };
        ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 1)
    }
}

/// SQLite's code for a result; `failed` unless the host gave another reason.
fn code(result: Result<(), HostError>, failed: c_int) -> c_int {
    match result {
        Ok(()) => ffi::SQLITE_OK,
        Err(HostError::Full) => ffi::SQLITE_FULL,
        Err(HostError::Failed) => failed,
    }
}

/// # Safety
///
/// `name` must be a terminated file name from SQLite.
unsafe fn find(name: *const c_char) -> Option<HostFile> {
    // SAFETY: by contract.
    HostFile::find(unsafe { CStr::from_ptr(name) }.to_bytes())
}

/// # Safety
///
/// `file` must have been opened by `open`, and nothing else may refer to it during the call.
unsafe fn opened<'file>(file: *mut ffi::sqlite3_file) -> &'file mut File {
    // SAFETY: by contract.
    unsafe { &mut *file.cast::<File>() }
}

fn exists(file: HostFile) -> bool {
    file.size().is_ok_and(|size| size > 0)
}

fn is_super_journal(name: &[u8]) -> bool {
    let suffix = name.last_chunk::<SUPER_JOURNAL_SUFFIX_SIZE>();
    suffix.is_some_and(|suffix| suffix.starts_with(b"-mj"))
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes memory of the size that was registered, and a terminated name or null.
    // Null stands for a temporary file, which SQLite never opens here (SQLITE_TEMP_STORE=3).
    unsafe {
        (*file).pMethods = std::ptr::null();
        if name.is_null() {
            return ffi::SQLITE_CANTOPEN;
        }
        let Some(host) = find(name) else {
            if is_super_journal(CStr::from_ptr(name).to_bytes()) {
                crate::host::log(ffi::SQLITE_CANTOPEN, NO_SUPER_JOURNAL.as_bytes());
            }
            return ffi::SQLITE_CANTOPEN;
        };
        if flags & ffi::SQLITE_OPEN_CREATE == 0 && !exists(host) {
            return ffi::SQLITE_CANTOPEN;
        }
        file.cast::<File>().write(File {
            methods: &METHODS,
            host,
            level: Level::None,
        });
        if !out_flags.is_null() {
            *out_flags = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _sync: c_int,
) -> c_int {
    // SAFETY: SQLite passes a terminated name.
    let Some(host) = (unsafe { find(name) }) else {
        return ffi::SQLITE_IOERR_DELETE_NOENT;
    };
    // An empty file counts as deleted. Deleting it again is not an error, since the encrypting VFS
    // empties some before. A journal must be gone durably before SQLite goes on.
    let emptied = host.truncate(0).and_then(|()| host.flush());
    code(emptied, ffi::SQLITE_IOERR_DELETE)
}

unsafe extern "C" fn access(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a terminated name, and a valid out-pointer.
    unsafe { *out = c_int::from(find(name).is_some_and(exists)) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a terminated name, and room for `size` bytes.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if usize::try_from(size).is_ok_and(|size| name.len() <= size) {
            std::ptr::copy_nonoverlapping(name.as_ptr(), out.cast(), name.len());
            return ffi::SQLITE_OK;
        }
    }
    ffi::SQLITE_CANTOPEN
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SQLite has unlocked it before. The worker keeps the file open for the next connection.
    // SAFETY: SQLite passes an open file.
    unsafe { unlock(file, Level::None as c_int) }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    size: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file, and memory of that size.
    let (file, to) = unsafe {
        let to = std::slice::from_raw_parts_mut(to.cast::<u8>(), size as usize);
        (opened(file), to)
    };
    match file.host.read(to, offset) {
        Ok(read) if read == to.len() => ffi::SQLITE_OK,
        Ok(read) => {
            to[read..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(_) => ffi::SQLITE_IOERR_READ,
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    size: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file, and memory of that size.
    let (file, from) = unsafe {
        let from = std::slice::from_raw_parts(from.cast::<u8>(), size as usize);
        (opened(file), from)
    };
    code(file.host.write(from, offset), ffi::SQLITE_IOERR_WRITE)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    let file = unsafe { opened(file) };
    code(file.host.truncate(size), ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let file = unsafe { opened(file) };
    code(file.host.flush(), ffi::SQLITE_IOERR_FSYNC)
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file, and a valid out-pointer.
    let (file, out) = unsafe { (opened(file), &mut *out) };
    let result = file.host.size().map(|size| *out = size);
    code(result, ffi::SQLITE_IOERR_FSTAT)
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    let Some(level) = Level::from_number(level) else {
        return ffi::SQLITE_MISUSE;
    };
    // SAFETY: SQLite passes an open file.
    let file = unsafe { opened(file) };
    let mut locks = locks();
    let (has, granted) = locks.entry(file.host).or_default().raise(file.level, level);
    file.level = has;
    if granted {
        ffi::SQLITE_OK
    } else {
        ffi::SQLITE_BUSY
    }
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    let Some(level) = Level::from_number(level) else {
        return ffi::SQLITE_MISUSE;
    };
    // SAFETY: SQLite passes an open file.
    let file = unsafe { opened(file) };
    let mut locks = locks();
    let entry = locks.entry(file.host).or_default();
    file.level = entry.lower(file.level, level);
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes an open file, and a valid out-pointer.
    let (file, out) = unsafe { (opened(file), &mut *out) };
    let locks = locks();
    *out = c_int::from(locks.get(&file.host).is_some_and(Locks::is_reserved));
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(
    _file: *mut ffi::sqlite3_file,
    _operation: c_int,
    _argument: *mut c_void,
) -> c_int {
    ffi::SQLITE_NOTFOUND
}

/// The usual size; the real one of the disk is unknown.
unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(_file: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN
}
