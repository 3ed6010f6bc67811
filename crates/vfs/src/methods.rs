//! The C callbacks of an open file: convert, call, map the result.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::{ManuallyDrop, size_of};

use crate::abi::*;
use crate::api::SqliteApi;
use crate::base::BaseFile;
use crate::database::{Connection, Shared, lock};
use crate::error::{Code, Outcome, code, guarded};
use crate::foreign_file::{self, SharedForeign};
use crate::open_files::{self, Owner};
use crate::temporary_file::TemporaryFile;

/// The kind of an open file, with its state.
pub(crate) enum Body {
    Main(Shared),
    Journal(Shared),
    Wal(Shared),
    Temporary(Box<TemporaryFile>),
    /// A database in another product's format, or its log.
    Foreign(SharedForeign),
    ForeignWal(SharedForeign),
    /// A journal that is opened only to read the name of its super-journal; it is never written.
    Names,
    /// Passed through: it contains only file names.
    SuperJournal,
}

/// What SQLite allocates for each file: this structure, followed by the file of the base VFS.
#[repr(C, align(16))]
pub(crate) struct File {
    header: sqlite3_file,
    body: ManuallyDrop<Body>,
}

/// Offset of the base file in the allocation.
pub(crate) const BASE_OFFSET: usize = size_of::<File>();

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    // Version 2 has no xFetch, so SQLite does not ask for maps, which would give it sealed pages.
    version: 2,
    close: Some(close),
    read: Some(read),
    write: Some(write),
    truncate: Some(truncate),
    sync: Some(sync),
    file_size: Some(file_size),
    lock: Some(lock_file),
    unlock: Some(unlock_file),
    check_reserved_lock: Some(check_reserved_lock),
    file_control: Some(file_control),
    sector_size: Some(sector_size),
    device_characteristics: Some(device_characteristics),
    shm_map: Some(shared_memory::map),
    shm_lock: Some(shared_memory::lock_range),
    shm_barrier: Some(shared_memory::barrier),
    shm_unmap: Some(shared_memory::unmap),
    fetch: None,
    unfetch: None,
};

/// For a base file without shared memory, so that SQLite does not try WAL on it.
static METHODS_WITHOUT_SHM: sqlite3_io_methods = sqlite3_io_methods {
    version: 1,
    ..METHODS
};

/// The base file behind a file of this VFS.
///
/// # Safety
///
/// `file` must be an allocation of the size that the VFS asks for.
pub(crate) unsafe fn base_pointer(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the allocation holds `File` and the base file behind it, by contract.
    unsafe { file.cast::<u8>().add(BASE_OFFSET).cast() }
}

/// Turns the allocation at `file`, whose base file is open, into an open file.
///
/// # Safety
///
/// As for [`base_pointer`], and the base file must be open.
pub(crate) unsafe fn install(file: *mut sqlite3_file, base: BaseFile, body: Body) {
    let methods: *const sqlite3_io_methods = if base.has_shared_memory() {
        &METHODS
    } else {
        &METHODS_WITHOUT_SHM
    };
    let whole = File {
        header: sqlite3_file { methods },
        body: ManuallyDrop::new(body),
    };
    // SAFETY: the allocation has room for `File` and is aligned as malloc aligns.
    unsafe { file.cast::<File>().write_unaligned(whole) }
}

/// # Safety
/// `file` must be an open file of this VFS; SQLite makes no two calls on a file at once.
unsafe fn body_of<'a>(file: *mut sqlite3_file) -> &'a mut Body {
    // SAFETY: by contract this is a `File` that `install` wrote and `close` has not dropped.
    unsafe { &mut (*file.cast::<File>()).body }
}

/// # Safety
/// As [`body_of`].
unsafe fn base_of(file: *mut sqlite3_file) -> BaseFile {
    // SAFETY: the base file is open as long as ours is.
    unsafe { BaseFile::new(base_pointer(file)) }
}

/// Body and base file of the file passed to a callback.
macro_rules! parts {
    ($file:expr) => {
        // SAFETY: SQLite calls these methods on open files of this VFS only.
        unsafe { (body_of($file), base_of($file)) }
    };
}

mod shared_memory;

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        // Journals and logs use the keys of their database, which is still open.
        let has_own_keys = matches!(body, Body::Main(_) | Body::Temporary(_) | Body::Foreign(_));
        let flushed = match body {
            Body::Journal(shared) => {
                let mut database = lock(shared);
                let flushed = database
                    .flush_main()
                    .and_then(|()| database.flush_journal());
                database.journal = None;
                flushed
            }
            Body::Wal(shared) => {
                let mut database = lock(shared);
                let flushed = database.flush_wal();
                database.log.wal = None;
                flushed
            }
            Body::Main(shared) => lock(shared).flush_main(),
            Body::Temporary(_)
            | Body::Foreign(_)
            | Body::ForeignWal(_)
            | Body::Names
            | Body::SuperJournal => Ok(()),
        };
        match body {
            Body::Main(shared) => {
                let name = lock(shared).identity.name.clone();
                open_files::forget(&name, &Owner::Database(shared.clone()));
            }
            Body::Foreign(shared) => {
                let name = foreign_file::lock(shared).name.clone();
                open_files::forget(&name, &Owner::Foreign(shared.clone()));
            }
            _ => {}
        }
        // SAFETY: `install` wrote the body. Only this call drops it, and SQLite makes no call on
        // the file afterwards.
        unsafe { ManuallyDrop::drop(&mut (*file.cast::<File>()).body) };
        if has_own_keys {
            // The keys themselves were wiped when dropped; what remains is what sealing and opening
            // left on the stack.
            crypto::secret::wipe_stack();
        }
        code(flushed.and(base.close()))
    })
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    out: *mut c_void,
    size: c_int,
    offset: i64,
) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        let (Ok(size), Ok(offset)) = (usize::try_from(size), u64::try_from(offset)) else {
            return SQLITE_IOERR_READ;
        };
        // SAFETY: SQLite passes a buffer of `size` bytes for the VFS to fill. The buffer may be
        // uninitialised memory of SQLite's allocator, which is readable as bytes all the same.
        let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), size) };
        code(match body {
            Body::Main(shared) => lock(shared).read_main(out, offset),
            Body::Journal(shared) => lock(shared).read_journal(base, out, offset),
            Body::Wal(shared) => lock(shared).read_wal(base, out, offset),
            Body::Temporary(temporary) => temporary.read(out, offset),
            Body::Foreign(shared) => foreign_file::lock(shared).read_main(out, offset),
            Body::ForeignWal(shared) => foreign_file::lock(shared).read_wal(base, out, offset),
            Body::Names | Body::SuperJournal => base.read(out, offset),
        })
    })
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    data: *const c_void,
    size: c_int,
    offset: i64,
) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        let (Ok(size), Ok(offset)) = (usize::try_from(size), u64::try_from(offset)) else {
            return SQLITE_IOERR_WRITE;
        };
        // SAFETY: SQLite passes `size` bytes, which it does not change during the call.
        let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
        code(match body {
            Body::Main(shared) => lock(shared).write_main(data, offset),
            Body::Journal(shared) => lock(shared).write_journal(base, data, offset),
            Body::Wal(shared) => lock(shared).write_wal(base, data, offset),
            Body::Temporary(temporary) => temporary.write(data, offset),
            Body::Foreign(shared) | Body::ForeignWal(shared) => {
                foreign_file::lock(shared).refuse_write()
            }
            Body::Names => Err(Code(SQLITE_READONLY)),
            Body::SuperJournal => base.write(data, offset),
        })
    })
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: i64) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        let Ok(size) = u64::try_from(size) else {
            return SQLITE_IOERR;
        };
        code(match body {
            Body::Main(shared) => lock(shared).truncate_main(size),
            Body::Journal(shared) => lock(shared).truncate_journal(base, size),
            Body::Wal(shared) => lock(shared).truncate_wal(base, size),
            Body::Temporary(temporary) => temporary.truncate(size),
            Body::Foreign(shared) | Body::ForeignWal(shared) => {
                foreign_file::lock(shared).refuse_write()
            }
            Body::Names => Err(Code(SQLITE_READONLY)),
            Body::SuperJournal => base.truncate(size),
        })
    })
}

/// Writes out whatever a file has gathered.
fn flush(body: &mut Body) -> Outcome {
    match body {
        Body::Main(shared) => lock(shared).flush_main(),
        Body::Journal(shared) => lock(shared).flush_journal(),
        Body::Wal(shared) => lock(shared).flush_wal(),
        Body::Temporary(_)
        | Body::Foreign(_)
        | Body::ForeignWal(_)
        | Body::Names
        | Body::SuperJournal => Ok(()),
    }
}

/// Writes out what a file has gathered, and finishes the playback of a journal.
fn before_commit(body: &mut Body) -> Outcome {
    flush(body)?;
    match body {
        Body::Main(shared) => {
            let mut database = lock(shared);
            database.finish_resize()?;
            database.end_playback()
        }
        _ => Ok(()),
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        code(match body {
            Body::Wal(shared) => lock(shared).sync_wal(base, flags),
            _ => flush(body).and_then(|()| base.sync(flags)),
        })
    })
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, out: *mut i64) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        let size = match body {
            Body::Main(shared) => {
                let shared = shared.clone();
                if lock(&shared).is_unlocked() {
                    // Without locks (nolock=1) this is the first call of a transaction.
                    crate::keys::inherit_if_locked(&shared);
                    if let Err(error) = crate::keys::make_ready(&shared, file) {
                        return code(Err(error));
                    }
                }
                lock(&shared).size_main()
            }
            Body::Journal(_) | Body::Wal(_) => flush(body).and_then(|()| base.size()),
            Body::Temporary(temporary) => Ok(temporary.size()),
            Body::Foreign(_) | Body::ForeignWal(_) | Body::Names | Body::SuperJournal => {
                base.size()
            }
        };
        match size {
            Ok(size) => {
                // SAFETY: SQLite passes a valid out-pointer for the size.
                unsafe { *out = i64::try_from(size).unwrap_or(i64::MAX) };
                SQLITE_OK
            }
            Err(Code(code)) => code,
        }
    })
}

unsafe extern "C" fn lock_file(file: *mut sqlite3_file, level: c_int) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        let shared = match body {
            Body::Main(shared) => shared,
            Body::Foreign(shared) => return code(foreign_file::lock(shared).lock(level)),
            _ => return code(base.lock(level)),
        };
        let mut database = lock(shared);
        let first = database.is_unlocked();
        if first && !database.is_open() {
            drop(database);
            crate::keys::inherit_if_locked(&shared.clone());
            database = lock(shared);
        }
        let result = database.lock_main(level);
        if !first || result.is_err() || database.is_open() {
            return code(result);
        }
        drop(database);
        let shared = shared.clone();
        let ready = crate::keys::make_ready(&shared, file);
        if ready.is_err() {
            let _ = lock(&shared).unlock_main(SQLITE_LOCK_NONE);
        }
        code(ready)
    })
}

unsafe extern "C" fn unlock_file(file: *mut sqlite3_file, level: c_int) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        code(match body {
            Body::Main(shared) => lock(shared).unlock_main(level),
            Body::Foreign(shared) => foreign_file::lock(shared).unlock(level),
            Body::Journal(_)
            | Body::Wal(_)
            | Body::Temporary(_)
            | Body::ForeignWal(_)
            | Body::Names
            | Body::SuperJournal => base.unlock(level),
        })
    })
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    let (_, base) = parts!(file);
    code(base.check_reserved_lock(out))
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    let (_, base) = parts!(file);
    base.sector_size()
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    let (_, base) = parts!(file);
    base.device_characteristics() & !IOCAP_NOT_PROMISED
}

unsafe extern "C" fn file_control(
    file: *mut sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    guarded(|| {
        let (body, base) = parts!(file);
        match (operation, &mut *body) {
            (SQLITE_FCNTL_PRAGMA, Body::Main(shared)) => {
                // SAFETY: SQLite passes an array of at least three string pointers.
                unsafe { crate::pragma_call::pragma(shared, argument.cast()) }
            }
            (SQLITE_FCNTL_PDB, Body::Main(shared)) => {
                lock(shared).identity.connection = Some(Connection(argument.cast()));
                code(base.file_control(operation, argument))
            }
            (SQLITE_FCNTL_VFSNAME, _) => {
                let result = base.file_control(operation, argument);
                // SAFETY: the argument is an out-pointer for a string in SQLite's memory.
                unsafe { prefix_name(argument.cast()) };
                if result.is_ok() {
                    SQLITE_OK
                } else {
                    SQLITE_NOTFOUND
                }
            }
            // Preallocated space would look like pages that do not open.
            (SQLITE_FCNTL_SIZE_HINT | SQLITE_FCNTL_CHUNK_SIZE, Body::Main(shared))
                if !lock(shared).is_plain() =>
            {
                SQLITE_OK
            }
            // The shim controls the map of the base file; SQLite gets none.
            (SQLITE_FCNTL_MMAP_SIZE, Body::Main(_) | Body::Foreign(_)) => SQLITE_NOTFOUND,
            (SQLITE_FCNTL_SIZE_HINT | SQLITE_FCNTL_CHUNK_SIZE, Body::Foreign(_)) => SQLITE_OK,
            (SQLITE_FCNTL_PRAGMA, Body::Foreign(shared)) => {
                // SAFETY: SQLite passes an array of at least three string pointers.
                unsafe { crate::pragma_call::foreign_pragma(shared, argument.cast()) }
            }
            (
                SQLITE_FCNTL_BEGIN_ATOMIC_WRITE
                | SQLITE_FCNTL_COMMIT_ATOMIC_WRITE
                | SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE,
                _,
            ) => SQLITE_NOTFOUND,
            (SQLITE_FCNTL_COMMIT_PHASETWO, Body::Main(shared)) => {
                lock(shared).committed();
                code(base.file_control(operation, argument))
            }
            (SQLITE_FCNTL_CKPT_START, Body::Main(shared)) => {
                lock(shared).begin_checkpoint();
                code(base.file_control(operation, argument))
            }
            (SQLITE_FCNTL_CKPT_DONE, Body::Main(shared)) => {
                lock(shared).main.size_known = None;
                code(base.file_control(operation, argument))
            }
            // SQLite sends this before each commit, even without a sync, and checks the result.
            (SQLITE_FCNTL_SYNC, Body::Main(_)) => {
                code(before_commit(body).and_then(|()| base.file_control(operation, argument)))
            }
            _ => code(base.file_control(operation, argument)),
        }
    })
}

/// Prepends this VFS's name to the answer to `SQLITE_FCNTL_VFSNAME`.
///
/// # Safety
///
/// `name` must point to null or to a string in SQLite's memory.
unsafe fn prefix_name(name: *mut *mut c_char) {
    // SAFETY: by contract.
    let base = unsafe {
        if (*name).is_null() {
            "".into()
        } else {
            CStr::from_ptr(*name).to_string_lossy()
        }
    };
    let text = SqliteApi::get().allocate_text(&format!("{}/{base}", crate::VFS_NAME));
    if !text.is_null() {
        // SAFETY: by contract. The caller frees only the string it finds at the end, as with
        // SQLite's own shims, so the former string is freed here.
        unsafe {
            SqliteApi::get().release((*name).cast());
            *name = text;
        }
    }
}
