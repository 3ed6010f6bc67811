//! Pragma values that are not UTF-8.
#![expect(
    unsafe_code,
    reason = "SQL that is no text goes through SQLite's C interface"
)]

mod common;

use common::Room;
use rusqlite::{Connection, ffi};

/// The error code and message of a statement with these bytes.
fn said_of(connection: &Connection, sql: &[u8]) -> (i32, String) {
    // SAFETY: the connection is open, and the length is that of the text.
    unsafe {
        let mut statement = std::ptr::null_mut();
        let (text, size) = (sql.as_ptr().cast(), sql.len() as i32);
        let db = connection.handle();
        let code =
            ffi::sqlite3_prepare_v2(db, text, size, &raw mut statement, &mut std::ptr::null());
        let message = std::ffi::CStr::from_ptr(ffi::sqlite3_errmsg(db));
        ffi::sqlite3_finalize(statement);
        (code, message.to_string_lossy().into_owned())
    }
}

#[test]
fn a_value_that_is_not_text_goes_to_sqlite_unless_it_is_a_key() {
    let room = Room::new();
    let connection = room.open("x.db");
    connection
        .execute_batch("CREATE TABLE t(a)")
        .expect("creates");
    let (code, message) = said_of(&connection, b"PRAGMA table_info('caf\xe9')");
    assert_eq!(code, ffi::SQLITE_OK, "{message}");
    for pragma in ["key", "strongroom_cipher", "rekey", "cipher_page_size"] {
        let sql = [b"PRAGMA ", pragma.as_bytes(), b"='caf\xe9'"].concat();
        let (code, message) = said_of(&connection, &sql);
        assert_eq!(code, ffi::SQLITE_ERROR, "{pragma}");
        assert!(message.contains("not UTF-8"), "{pragma}: {message}");
    }
}
