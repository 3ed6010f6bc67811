//! The base VFS `faulty`: files of the thread's [`Disk`], through SQLite's C interface.
//!
//! A panic in a callback aborts the process. That is acceptable, since it means a bug in the test
//! harness.

use std::ffi::{CStr, c_char, c_double, c_int};
use std::sync::Once;

use libsqlite3_sys as c;

use crate::base_file::{File, Handle, install};
use crate::disk::Disk;
use crate::fault::Call;

/// Name of the base VFS; `vfs=faulty` in a URI selects stock SQLite on the in-memory disk.
pub const BASE_NAME: &str = "faulty";
/// The name of Strongroom's VFS over it.
pub const STRONGROOM_NAME: &str = "strongroom-faulty";

const PATH_SIZE_MAX: c_int = 512;

/// Registers both VFSes with the linked SQLite. Registering again does nothing.
///
/// # Panics
///
/// If SQLite refuses.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let vfs = c::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<File>() as c_int,
            mxPathname: PATH_SIZE_MAX,
            pNext: std::ptr::null_mut(),
            zName: c"faulty".as_ptr(),
            pAppData: std::ptr::null_mut(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: Some(current_time_int64),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        };
        // SAFETY: the structure is complete and is never freed.
        let code = unsafe {
            c::sqlite3_initialize();
            c::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 0)
        };
        assert_eq!(code, c::SQLITE_OK, "SQLite refuses the base VFS");
        sqlite_linked::register_over(STRONGROOM_NAME, Some(BASE_NAME)).expect("registers");
    });
}

/// # Safety
/// `name` must be null or a terminated string.
unsafe fn text(name: *const c_char) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: by contract.
    let name = unsafe { CStr::from_ptr(name) };
    Some(name.to_str().expect("tests name files in ASCII").to_owned())
}

unsafe extern "C" fn open(
    _vfs: *mut c::sqlite3_vfs,
    name: *const c_char,
    file: *mut c::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    const JOURNALS: c_int =
        c::SQLITE_OPEN_SUPER_JOURNAL | c::SQLITE_OPEN_MAIN_JOURNAL | c::SQLITE_OPEN_WAL;
    // SAFETY: SQLite passes memory for a file, a terminated name or null, and an out-pointer for
    // flags or null. Null methods mean that nothing is open yet.
    let name = unsafe {
        (*file).pMethods = std::ptr::null();
        if !out_flags.is_null() {
            *out_flags = flags;
        }
        text(name)
    };
    let disk = Disk::current().expect("the thread has entered a disk");
    let mut state = disk.state();
    if let Err((code, _)) = state.gate.pass(Call::Open) {
        return code;
    }
    let existing = name
        .as_ref()
        .and_then(|name| state.names.get(name).copied());
    let node = match (existing, &name) {
        (Some(_), _) if flags & c::SQLITE_OPEN_EXCLUSIVE != 0 => return c::SQLITE_CANTOPEN,
        (Some(node), _) => node,
        (None, None) => state.create_nameless(),
        (None, Some(_)) if flags & c::SQLITE_OPEN_CREATE == 0 => return c::SQLITE_CANTOPEN,
        (None, Some(name)) => state.create(name, flags & JOURNALS != 0),
    };
    state.handles += 1;
    state.open += 1;
    let number = state.handles;
    drop(state);
    let delete_on_close = name.filter(|_| flags & c::SQLITE_OPEN_DELETEONCLOSE != 0);
    let handle = Handle::new(disk, node, number, delete_on_close);
    // SAFETY: SQLite allocated `szOsFile` bytes.
    unsafe { install(file, handle) };
    c::SQLITE_OK
}

unsafe extern "C" fn delete(
    _vfs: *mut c::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    let disk = Disk::current().expect("the thread has entered a disk");
    let mut state = disk.state();
    if let Err((code, _)) = state.gate.pass(Call::Delete) {
        return code;
    }
    // SAFETY: SQLite passes a terminated name.
    let name = unsafe { text(name) }.expect("a name");
    if !state.names.contains_key(&name) {
        return c::SQLITE_IOERR_DELETE_NOENT;
    }
    state.delete(&name);
    if sync_directory != 0 {
        state.log.push(crate::disk::Effect::SyncDirectory);
    }
    c::SQLITE_OK
}

unsafe extern "C" fn access(
    _vfs: *mut c::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let disk = Disk::current().expect("the thread has entered a disk");
    let mut state = disk.state();
    if let Err((code, _)) = state.gate.pass(Call::Access) {
        return code;
    }
    // SAFETY: SQLite passes a terminated name.
    let name = unsafe { text(name) }.expect("a name");
    let node = state.names.get(&name).map(|node| &state.nodes[*node]);
    // Like the unix VFS: an empty file counts as missing in an existence check.
    let is = node.is_some_and(|node| flags != c::SQLITE_ACCESS_EXISTS || !node.bytes.is_empty());
    // SAFETY: SQLite passes a valid out-pointer.
    unsafe { *out = c_int::from(is) };
    c::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut c::sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a terminated name and room for `size` bytes.
    unsafe {
        let length = CStr::from_ptr(name).to_bytes_with_nul().len();
        if length > size as usize {
            return c::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(name, out, length);
    }
    c::SQLITE_OK
}

unsafe extern "C" fn randomness(_: *mut c::sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite passes room for `size` bytes.
    unsafe { std::ptr::write_bytes(out, 0x5a, size as usize) };
    size
}

unsafe extern "C" fn sleep(_: *mut c::sqlite3_vfs, microseconds: c_int) -> c_int {
    microseconds
}

/// Julian day 2,460,000.5, 25 February 2023, in milliseconds: the same in every run.
const NOW_MS: i64 = 212_544_043_200_000;

unsafe extern "C" fn current_time(_: *mut c::sqlite3_vfs, out: *mut c_double) -> c_int {
    // SAFETY: SQLite passes an out-pointer for the time.
    unsafe { *out = NOW_MS as f64 / 86_400_000.0 };
    c::SQLITE_OK
}

unsafe extern "C" fn current_time_int64(_: *mut c::sqlite3_vfs, out: *mut i64) -> c_int {
    // SAFETY: as above.
    unsafe { *out = NOW_MS };
    c::SQLITE_OK
}
