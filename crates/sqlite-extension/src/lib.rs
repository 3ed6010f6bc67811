//! Entry point of the VFS as a loadable extension, for any SQLite from 3.40 on.
//!
//! With `STRONGROOM_DEFAULT=1` in the environment it becomes the default VFS, for programs that
//! cannot be told to use another.
#![expect(unsafe_code, reason = "the entry point of a loadable extension")]

mod key_tokens;

use std::ffi::{c_char, c_int, c_void};

use vfs::{Registration, SqliteApi, VFS_NAME, register};

const SQLITE_ERROR: c_int = 1;
/// Result code: loaded, and must stay loaded after the connection closes (sqlite.org/loadext.html).
const SQLITE_OK_LOAD_PERMANENTLY: c_int = 1 << 8;

/// Called by SQLite when it loads `libstrongroom`.
///
/// # Safety
/// Only SQLite may call it, with its own function table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_strongroom_init(
    _connection: *mut c_void,
    message: *mut *mut c_char,
    routines: *const c_void,
) -> c_int {
    let registered = std::panic::catch_unwind(|| {
        // SAFETY: by contract this is SQLite's table.
        let Some(api) = (unsafe { SqliteApi::from_routines(routines) }) else {
            return Err("SQLite 3.40 or newer is needed".to_owned());
        };
        let default = std::env::var("STRONGROOM_DEFAULT").is_ok_and(|value| value == "1");
        let base = std::env::var("STRONGROOM_BASE_VFS").ok();
        let registration = Registration {
            name: VFS_NAME,
            base: base.as_deref(),
            default,
        };
        register(api, &registration).map_err(|error| {
            // SAFETY: SQLite passes an out-pointer for a message, or null, and frees the message.
            unsafe { api.give_message(message, &format!("strongroom: {error}")) };
            error.to_string()
        })
    });
    match registered {
        Ok(Ok(())) => SQLITE_OK_LOAD_PERMANENTLY,
        Ok(Err(_)) | Err(_) => SQLITE_ERROR,
    }
}
