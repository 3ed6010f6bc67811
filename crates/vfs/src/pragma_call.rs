//! Converts a pragma from SQLite's C strings, and its answer back.
//!
//! SQLite runs the pragma while it prepares the statement, even under `EXPLAIN`, and does not say
//! which (sqlite.org/c3ref/c_fcntl_begin_atomic_write.html, SQLITE_FCNTL_PRAGMA).

use std::ffi::{CStr, c_char, c_int};

use crate::abi::{SQLITE_ERROR, SQLITE_NOMEM, SQLITE_NOTFOUND, SQLITE_OK};
use crate::api::SqliteApi;
use crate::connection::is_main;
use crate::database::{Shared, lock};
use crate::error::Outcome;
use crate::foreign_file::{self, SharedForeign};
use crate::key_changes;
use crate::pragma::{Answer, takes_own_value};

/// # Safety
/// As [`pragma`].
pub(crate) unsafe fn foreign_pragma(shared: &SharedForeign, arguments: *mut *mut c_char) -> c_int {
    // SAFETY: by contract; SQLite's strings are terminated.
    let name = unsafe { CStr::from_ptr(*arguments.add(1)).to_string_lossy() };
    let answer = foreign_file::lock(shared).pragma(&name.to_ascii_lowercase());
    match answer {
        // SAFETY: by contract.
        Some(text) => unsafe { give_text(arguments, &text, SQLITE_OK) },
        None => SQLITE_NOTFOUND,
    }
}

/// Returns the answer of a pragma to SQLite.
///
/// # Safety
///
/// `out` must be an out-pointer for a string that SQLite will free.
unsafe fn give_text(out: *mut *mut c_char, text: &str, code: c_int) -> c_int {
    let text = SqliteApi::get().allocate_text(text);
    if text.is_null() {
        return SQLITE_NOMEM;
    }
    // SAFETY: by contract.
    unsafe { *out = text };
    code
}

/// # Safety
/// `arguments` must point to three string pointers: result, name, value or null.
pub(crate) unsafe fn pragma(shared: &Shared, arguments: *mut *mut c_char) -> c_int {
    // SAFETY: by contract; SQLite's strings are terminated.
    let (name, value) = unsafe {
        let value = *arguments.add(2);
        let value = (!value.is_null()).then(|| CStr::from_ptr(value).to_str());
        let name = CStr::from_ptr(*arguments.add(1)).to_string_lossy();
        (name.to_ascii_lowercase(), value.transpose())
    };
    let answer = match value {
        Ok(value) => answer(shared, &name, value),
        // One of SQLite's own pragmas, whose value may be a table name that is not UTF-8.
        Err(_) if !takes_own_value(&name) => Ok(Answer::NotOurs),
        // A lossy conversion, as used elsewhere, would make several passphrases equal.
        Err(_) => Err(lock(shared).fail(
            SQLITE_ERROR,
            "the value of the pragma is not UTF-8 text; give such a passphrase by passphrase_file",
        )),
    };
    let (code, text) = match answer {
        Ok(Answer::NotOurs) => return SQLITE_NOTFOUND,
        Ok(Answer::Text(text)) => (SQLITE_OK, text),
        Err(code) => (code.0, lock(shared).message_for(code)),
    };
    // SAFETY: the first pointer is the out-pointer for the result; SQLite frees it.
    unsafe { give_text(arguments, &text, code) }
}

/// Answers a pragma. Everything that the connection must be asked is asked first, while no lock is
/// held: SQLite may call back into this VFS.
fn answer(shared: &Shared, name: &str, value: Option<&str>) -> Outcome<Answer> {
    if name == "strongroom_last_error" && value.is_none() && is_main(shared) {
        // The main database's key was named by whoever opened the connection, who may see the
        // reason.
        if let Some(reason) = &lock(shared).failures.concealed {
            return Ok(Answer::Text(reason.clone()));
        }
    }
    if let Some(refusal) = key_changes::refusal(shared, name, value) {
        return Err(lock(shared).fail(SQLITE_ERROR, refusal.to_string()));
    }
    lock(shared).pragma(name, value)
}
