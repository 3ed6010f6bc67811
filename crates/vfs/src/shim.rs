//! The VFS itself: registration, and opening of files.

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_void};
use std::sync::{Arc, Mutex};

use crypto::page::FASTEST;
use thiserror::Error;

use crate::abi::*;
use crate::api::SqliteApi;
use crate::base::BaseFile;
use crate::base_vfs::BaseVfs;
use crate::by_descriptor::is_final;
use crate::credentials::{FileName, Request, request};
use crate::database::{Asked, Database, Failure, Identity, Shared, lock};
use crate::error::{Code, Outcome, code, guarded};
use crate::foreign_file::{ForeignFile, asked_source};
use crate::journal_file::JournalFile;
use crate::methods::{BASE_OFFSET, Body, base_pointer, install};
use crate::open_files::{self, Companion, Owner};
use crate::temporary_file::TemporaryFile;
use crate::wal_file::WalFile;

/// Options for registering a VFS.
pub struct Registration<'a> {
    /// Its name.
    pub name: &'a str,
    /// The base VFS; `None` for the default one.
    pub base: Option<&'a str>,
    /// Whether this becomes the default VFS, used by connections that name none.
    pub default: bool,
}

/// Why a VFS could not be registered.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RegisterError {
    /// A name holds a zero byte.
    #[error("the name of a VFS may not hold a zero byte")]
    Name,
    /// The base VFS does not exist.
    #[error("SQLite knows no VFS of the name that was given for the base")]
    NoBase,
    /// This library's callbacks know the functions of only one SQLite.
    #[error(
        "another SQLite of this process has loaded this file already; have this one load a copy of \
         it, in another folder"
    )]
    OtherSqlite,
    /// SQLite returned an error.
    #[error("SQLite refused the VFS with code {0}")]
    Refused(c_int),
}

/// Registers the VFS with the SQLite whose functions `api` holds. Registering a name again does
/// nothing. The registration lasts as long as the process.
///
/// # Errors
///
/// If the base is unknown, SQLite refuses, or another SQLite has registered it in this process.
pub fn register(api: SqliteApi, registration: &Registration) -> Result<(), RegisterError> {
    if !api.install() {
        return Err(RegisterError::OtherSqlite);
    }
    let name = CString::new(registration.name).map_err(|_| RegisterError::Name)?;
    // SAFETY: the name is a terminated string.
    let present = unsafe { (api.vfs_find)(name.as_ptr()) };
    if !present.is_null() {
        return make_default(api, present, registration.default);
    }
    let base_name = registration.base.map(CString::new).transpose();
    let base_name = base_name.map_err(|_| RegisterError::Name)?;
    let base_name = base_name
        .as_ref()
        .map_or(std::ptr::null(), |name| name.as_ptr());
    // SAFETY: null, for the default, or a terminated string.
    let base = unsafe { (api.vfs_find)(base_name) };
    if base.is_null() {
        return Err(RegisterError::NoBase);
    }
    // SAFETY: a registered VFS is never moved.
    let below = unsafe { &*base };
    let vfs = sqlite3_vfs {
        version: below.version.min(2),
        file_size: BASE_OFFSET as c_int + below.file_size,
        path_size_max: below.path_size_max,
        next: std::ptr::null_mut(),
        // SQLite keeps the pointer for the rest of the process.
        name: name.into_raw(),
        app_data: base.cast(),
        open: Some(open),
        delete: Some(delete),
        access: Some(access),
        full_pathname: Some(full_pathname),
        dl_open: Some(dl_open),
        dl_error: Some(dl_error),
        dl_sym: Some(dl_sym),
        dl_close: Some(dl_close),
        randomness: Some(randomness),
        sleep: Some(sleep),
        current_time: Some(current_time),
        get_last_error: Some(get_last_error),
        current_time_int64: below.current_time_int64.map(|_| current_time_int64 as _),
        set_system_call: None,
        get_system_call: None,
        next_system_call: None,
    };
    // SAFETY: the structure is complete and is never freed.
    let result =
        unsafe { (api.vfs_register)(Box::leak(Box::new(vfs)), c_int::from(registration.default)) };
    if result == SQLITE_OK {
        Ok(())
    } else {
        Err(RegisterError::Refused(result))
    }
}

/// SQLite makes its own VFS the default again when it is reinitialised.
fn make_default(api: SqliteApi, vfs: *mut sqlite3_vfs, default: bool) -> Result<(), RegisterError> {
    if !default {
        return Ok(());
    }
    // SAFETY: the VFS is registered already; registering it again is allowed.
    match unsafe { (api.vfs_register)(vfs, 1) } {
        SQLITE_OK => Ok(()),
        code => Err(RegisterError::Refused(code)),
    }
}

/// The VFS below this one.
///
/// # Safety
///
/// `vfs` must be one that [`register`] made.
unsafe fn below<'a>(vfs: *mut sqlite3_vfs) -> (&'a sqlite3_vfs, *mut sqlite3_vfs) {
    // SAFETY: `register` stored a pointer to a registered VFS.
    unsafe {
        let base = (*vfs).app_data.cast::<sqlite3_vfs>();
        (&*base, base)
    }
}

/// Passes a call on to the VFS below.
macro_rules! pass {
    ($vfs:expr, $method:ident, $missing:expr $(, $argument:expr)*) => {{
        // SAFETY: SQLite calls with the VFS that `register` made, and with arguments that are valid
        // for this method of any VFS.
        unsafe {
            let (methods, base) = below($vfs);
            match methods.$method {
                Some(method) => method(base $(, $argument)*),
                None => $missing,
            }
        }
    }};
}

const TEMPORARY: c_int = SQLITE_OPEN_TEMP_DB
    | SQLITE_OPEN_TRANSIENT_DB
    | SQLITE_OPEN_TEMP_JOURNAL
    | SQLITE_OPEN_SUBJOURNAL;

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    if flags & SQLITE_OPEN_MAIN_DB != 0 {
        // The file's state moves to the heap with its padding, which may contain what another
        // file's ciphers left on the stack.
        crypto::secret::wipe_stack();
    }
    guarded(|| open_in_own_frame(vfs, name, file, flags, out_flags))
}

/// A frame of its own, which lies on the stack that the caller has wiped.
#[inline(never)]
fn open_in_own_frame(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite allocated as many bytes as `register` asked for. A null methods pointer means
    // that there is nothing to close.
    let base_file = unsafe {
        (*file).methods = std::ptr::null();
        base_pointer(file)
    };
    let result = pass!(
        vfs,
        open,
        SQLITE_CANTOPEN,
        name,
        base_file,
        flags,
        out_flags
    );
    if result != SQLITE_OK {
        // SAFETY: as above. Some VFSes set the methods even in a failed open and expect a close,
        // which SQLite would send to them.
        unsafe {
            if !(*base_file).methods.is_null() {
                let _ = BaseFile::new(base_file).close();
            }
        }
        return result;
    }
    // SAFETY: the base VFS has opened the file.
    let base = unsafe { BaseFile::new(base_file) };
    // SAFETY: SQLite calls with the VFS that `register` made, whose base is registered.
    let vfs = unsafe { BaseVfs::new(below(vfs).1) };
    // SAFETY: the pointer is null, or points to the flags that the base VFS has returned.
    let told = unsafe { out_flags.as_ref().copied() };
    match body(vfs, name, file, base, flags, told) {
        Ok(body) => {
            // SAFETY: the base file is open.
            unsafe { install(file, base, body) };
            SQLITE_OK
        }
        Err(error) => {
            let _ = base.close();
            code(Err(error))
        }
    }
}

fn body(
    vfs: BaseVfs,
    name: *const c_char,
    file: *const sqlite3_file,
    base: BaseFile,
    flags: c_int,
    told: Option<c_int>,
) -> Outcome<Body> {
    if flags & SQLITE_OPEN_MAIN_DB != 0 && !name.is_null() {
        let is_read_only = told.unwrap_or(flags) & SQLITE_OPEN_READONLY != 0;
        return open_main(vfs, name, file, base, is_read_only);
    }
    if flags & SQLITE_OPEN_WAL != 0 {
        return open_wal(name, base);
    }
    // SQLite opens journals to see which super-journal they name. It does so with names that do not
    // come from a pager, without asking for the output flags, and reads only file names.
    let read_only = flags & SQLITE_OPEN_READONLY != 0;
    if flags & SQLITE_OPEN_MAIN_JOURNAL != 0 && read_only && told.is_none() {
        return Ok(Body::Names);
    }
    if flags & SQLITE_OPEN_MAIN_JOURNAL != 0 {
        return open_journal(name, base, read_only);
    }
    if flags & TEMPORARY != 0 {
        return Ok(Body::Temporary(Box::new(TemporaryFile::new(
            base, FASTEST,
        )?)));
    }
    if flags & SQLITE_OPEN_SUPER_JOURNAL != 0 {
        return Ok(Body::SuperJournal);
    }
    Err(refuse_to_open(
        name,
        "SQLite does not say what kind of file it is",
    ))
}

fn open_wal(name: *const c_char, base: BaseFile) -> Outcome<Body> {
    match owner_by_name(name, Companion::Wal)? {
        Owner::Database(shared) => {
            let mut database = lock(&shared);
            database.log.wal = Some(WalFile::new(base, database.main.map.is_enabled()));
            drop(database);
            Ok(Body::Wal(shared))
        }
        Owner::Foreign(foreign) => Ok(Body::ForeignWal(foreign)),
    }
}

fn open_journal(name: *const c_char, base: BaseFile, read_only: bool) -> Outcome<Body> {
    match owner_by_name(name, Companion::Journal)? {
        Owner::Database(shared) => {
            let mut database = lock(&shared);
            if read_only && database.journal.is_some() {
                // The pager of the database does not open its journal this way, so this open is for
                // the super-journal's name.
                return Ok(Body::Names);
            }
            database.journal = Some(JournalFile::new(base));
            drop(database);
            Ok(Body::Journal(shared))
        }
        // SQLite checks whether the journal is hot. Writing to it would put plain pages there.
        Owner::Foreign(_) if read_only => Ok(Body::Names),
        Owner::Foreign(_) => Err(Code(SQLITE_READONLY)),
    }
}

/// Finds the open database that owns a journal or log.
fn owner_by_name(name: *const c_char, companion: Companion) -> Outcome<Owner> {
    if name.is_null() {
        return Err(refuse_to_open(name, "it has no name"));
    }
    // SAFETY: SQLite passes a terminated name.
    let text = unsafe { CStr::from_ptr(name) };
    open_files::owner_of(name, text, companion).ok_or_else(|| {
        refuse_to_open(
            name,
            "no open database of Strongroom is known that this journal or log belongs to; a VFS \
             above Strongroom must leave the names of files as they are",
        )
    })
}

/// A failed open cannot carry a message, except to SQLite's error log.
fn refuse_to_open(name: *const c_char, reason: &str) -> Code {
    let path = if name.is_null() {
        "a file".into()
    } else {
        // SAFETY: SQLite passes a terminated name.
        unsafe { CStr::from_ptr(name) }.to_string_lossy()
    };
    Failure::note(&path, SQLITE_CANTOPEN, format!("not opened: {reason}"));
    Code(SQLITE_CANTOPEN)
}

fn open_main(
    vfs: BaseVfs,
    name: *const c_char,
    file: *const sqlite3_file,
    base: BaseFile,
    is_read_only: bool,
) -> Outcome<Body> {
    // SAFETY: SQLite passes a terminated name, with its URI parameters behind it.
    let (name, parameters) = unsafe { (CStr::from_ptr(name).to_owned(), FileName::new(name)) };
    if let Some(source) = asked_source(parameters) {
        let foreign = ForeignFile::new(base, name.clone(), source?);
        open_files::note(file, &name, parameters, &Owner::Foreign(foreign.clone()));
        return Ok(Body::Foreign(foreign));
    }
    let requested = request(parameters);
    let (wanted, problem) = match requested {
        Ok(wanted) => (wanted, None),
        Err(error) => (Request::refused(), Some(error)),
    };
    let identity = Identity {
        path: name.to_string_lossy().into_owned(),
        name: name.clone(),
        name_address: parameters.address(),
        connection: None,
    };
    let asked = Asked {
        plain_asked: wanted.plain,
        plain_inherited: false,
        keys_in_sql: wanted.keys_in_sql,
        credential: wanted.credential,
        key_named: wanted.named_by_uri,
        unlock_work: wanted.unlock_work,
        cipher: wanted.cipher.unwrap_or(FASTEST),
        is_read_only,
    };
    let mut database = Database::new(base, vfs, identity, asked);
    database.freshness.asked = wanted.freshness;
    database.load_as_asked(problem)?;
    if !database.is_plain() {
        database.set_map(wanted.map);
    }
    let shared: Shared = Arc::new(Mutex::new(database));
    open_files::note(file, &name, parameters, &Owner::Database(shared.clone()));
    Ok(Body::Main(shared))
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    pass!(vfs, delete, SQLITE_IOERR, name, sync)
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    pass!(vfs, access, SQLITE_IOERR, name, flags, out)
}

unsafe extern "C" fn full_pathname(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    size: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a terminated name, and a buffer of the size it gives.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if is_final(bytes) && usize::try_from(size).is_ok_and(|size| bytes.len() <= size) {
            std::ptr::copy_nonoverlapping(name, out, bytes.len());
            return SQLITE_OK;
        }
    }
    pass!(vfs, full_pathname, SQLITE_CANTOPEN, name, size, out)
}

unsafe extern "C" fn dl_open(vfs: *mut sqlite3_vfs, name: *const c_char) -> *mut c_void {
    pass!(vfs, dl_open, std::ptr::null_mut(), name)
}

unsafe extern "C" fn dl_error(vfs: *mut sqlite3_vfs, size: c_int, out: *mut c_char) {
    pass!(vfs, dl_error, (), size, out);
}

unsafe extern "C" fn dl_sym(
    vfs: *mut sqlite3_vfs,
    library: *mut c_void,
    name: *const c_char,
) -> SystemCall {
    pass!(vfs, dl_sym, None, library, name)
}

unsafe extern "C" fn dl_close(vfs: *mut sqlite3_vfs, library: *mut c_void) {
    pass!(vfs, dl_close, (), library);
}

unsafe extern "C" fn randomness(vfs: *mut sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    pass!(vfs, randomness, 0, size, out)
}

unsafe extern "C" fn sleep(vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    pass!(vfs, sleep, 0, microseconds)
}

unsafe extern "C" fn current_time(vfs: *mut sqlite3_vfs, out: *mut c_double) -> c_int {
    pass!(vfs, current_time, SQLITE_ERROR, out)
}

unsafe extern "C" fn get_last_error(vfs: *mut sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    pass!(vfs, get_last_error, 0, size, out)
}

unsafe extern "C" fn current_time_int64(vfs: *mut sqlite3_vfs, out: *mut i64) -> c_int {
    pass!(vfs, current_time_int64, SQLITE_ERROR, out)
}
