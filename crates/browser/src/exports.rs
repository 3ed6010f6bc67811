//! Functions exported to JavaScript, besides SQLite's own.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CStr, c_char, c_int, c_void};

use crypto::secret::{Key, wipe_stack};
use keyring::Credential;
use sqlite_wasm_rs as ffi;
use vfs::tokens::KeyToken;
use vfs::{Registration, VFS_NAME};
use zeroize::Zeroize;

use crate::{base, host};

/// Alignment of memory for JavaScript: that of its largest number type.
const ALIGNMENT: usize = 8;

/// Log code of a panic, after which the module is unusable.
const PANIC: c_int = -1;

/// Allocates memory for arguments and results; null if memory is exhausted.
#[unsafe(no_mangle)]
extern "C" fn strongroom_alloc(size: usize) -> *mut u8 {
    match Layout::from_size_align(size.max(1), ALIGNMENT) {
        // SAFETY: the size is not zero.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// Wipes and frees memory of [`strongroom_alloc`].
///
/// # Safety
///
/// `memory` and `size` must be those of the allocation.
#[unsafe(no_mangle)]
unsafe extern "C" fn strongroom_free(memory: *mut u8, size: usize) {
    // SAFETY: by contract; the layout was valid when the memory was allocated.
    unsafe {
        std::slice::from_raw_parts_mut(memory, size).zeroize();
        dealloc(
            memory,
            Layout::from_size_align_unchecked(size.max(1), ALIGNMENT),
        );
    }
}

unsafe extern "C" fn write_log(_context: *mut c_void, code: c_int, text: *const c_char) {
    // SAFETY: SQLite passes a terminated text.
    host::log(code, unsafe { CStr::from_ptr(text) }.to_bytes());
}

/// Initialises SQLite and the VFS. Must be called once, before everything else; returns an SQLite
/// code.
#[unsafe(no_mangle)]
extern "C" fn strongroom_start() -> c_int {
    std::panic::set_hook(Box::new(|panic| {
        host::log(PANIC, panic.to_string().as_bytes());
    }));
    let log: unsafe extern "C" fn(*mut c_void, c_int, *const c_char) = write_log;
    // SAFETY: SQLite is not initialised yet; this option takes a function and its context.
    unsafe {
        let context = std::ptr::null_mut::<c_void>();
        let code = ffi::sqlite3_config(ffi::SQLITE_CONFIG_LOG, log, context);
        if code != ffi::SQLITE_OK {
            return code;
        }
        let code = ffi::sqlite3_initialize();
        if code != ffi::SQLITE_OK {
            return code;
        }
    }
    let code = base::register();
    if code != ffi::SQLITE_OK {
        return code;
    }
    let registration = Registration {
        name: VFS_NAME,
        base: Some(base::NAME),
        default: false,
    };
    match vfs::register(vfs::sqlite_functions!(ffi), &registration) {
        Ok(()) => ffi::SQLITE_OK,
        Err(error) => {
            host::log(ffi::SQLITE_ERROR, error.to_string().as_bytes());
            ffi::SQLITE_ERROR
        }
    }
}

/// The kinds of secrets that JavaScript passes.
const PASSPHRASE: c_int = 1;
const RAW_KEY: c_int = 2;

/// Stores a secret for the URI of a database or for a pragma, and returns its number, or 0 if a raw
/// key does not have 32 bytes. JavaScript revokes it.
///
/// # Safety
///
/// `secret` must point to `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn strongroom_deposit(kind: c_int, secret: *const u8, size: usize) -> f64 {
    // SAFETY: by contract.
    let secret = unsafe { std::slice::from_raw_parts(secret, size) };
    let credential = match kind {
        PASSPHRASE => Some(Credential::passphrase(secret)),
        RAW_KEY => Key::from_slice(secret).map(Credential::raw_key),
        _ => None,
    };
    // Tokens are below 2^53.
    credential.map_or(0.0, |credential| {
        KeyToken::new(credential).into_number() as f64
    })
}

/// Wipes the secret behind a number.
#[unsafe(no_mangle)]
extern "C" fn strongroom_revoke(number: f64) {
    KeyToken::revoke(number as u64);
    wipe_stack();
}

/// Opens a database by a terminated URI. Returns the connection, even if opening failed; null if
/// memory is exhausted. The SQLite code is stored in `code`.
///
/// # Safety
///
/// `uri` must be a terminated text, and `code` a valid out-pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn strongroom_open(
    uri: *const c_char,
    flags: c_int,
    code: *mut c_int,
) -> *mut ffi::sqlite3 {
    let mut connection = std::ptr::null_mut();
    let flags = flags | ffi::SQLITE_OPEN_URI | ffi::SQLITE_OPEN_EXRESCODE;
    // SAFETY: by contract.
    unsafe {
        *code = ffi::sqlite3_open_v2(uri, &mut connection, flags, std::ptr::null());
    }
    wipe_stack();
    connection
}

/// Closes a connection without open statements; returns an SQLite code. Closing the last connection
/// to a database wipes its keys.
///
/// # Safety
///
/// `connection` must come from [`strongroom_open`], and must not be used afterwards if this
/// succeeds.
#[unsafe(no_mangle)]
unsafe extern "C" fn strongroom_close(connection: *mut ffi::sqlite3) -> c_int {
    // SAFETY: by contract.
    let code = unsafe { ffi::sqlite3_close(connection) };
    wipe_stack();
    code
}

/// Runs every statement of a terminated text and discards their rows. Returns the number of
/// statements, or an SQLite code as a negative number.
///
/// # Safety
///
/// `connection` must be open, and `text` must be terminated.
#[unsafe(no_mangle)]
unsafe extern "C" fn strongroom_run(connection: *mut ffi::sqlite3, text: *const c_char) -> c_int {
    let mut rest = text;
    let mut count = 0;
    // SAFETY: by contract; `rest` stays within the text, and each statement is finalised.
    unsafe {
        while *rest != 0 {
            let mut statement = std::ptr::null_mut();
            let code = ffi::sqlite3_prepare_v2(connection, rest, -1, &mut statement, &mut rest);
            if code != ffi::SQLITE_OK {
                return -code;
            }
            if statement.is_null() {
                continue;
            }
            count += 1;
            while ffi::sqlite3_step(statement) == ffi::SQLITE_ROW {}
            let code = ffi::sqlite3_finalize(statement);
            if code != ffi::SQLITE_OK {
                return -code;
            }
        }
    }
    count
}
