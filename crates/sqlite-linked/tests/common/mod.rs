//! Helpers shared by the engine's tests: a folder with a key, and connections in it.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

pub mod answers;
pub mod children;
pub mod images;
pub mod random;
pub mod statements;

pub mod files;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// A folder for one test.
pub struct Room {
    pub folder: TempDir,
}

impl Room {
    pub fn new() -> Self {
        sqlite_linked::register().expect("registers");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("key"), "11".repeat(32)).expect("a key file");
        std::fs::write(folder.path().join("other-key"), "22".repeat(32)).expect("a key file");
        Room { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// URI of a database in the folder, opened with the folder's key; SQL may change its keys.
    pub fn uri(&self, name: &str, more: &str) -> String {
        format!(
            "file:{}?vfs=strongroom&keys_in_sql=on&key_file={}{more}",
            self.path(name).display(),
            self.path("key").display()
        )
    }

    pub fn open(&self, name: &str) -> Connection {
        self.open_with(name, "")
    }

    pub fn open_with(&self, name: &str, more: &str) -> Connection {
        open_uri(&self.uri(name, more))
    }

    /// Opens the database without a key in its URI.
    pub fn open_keyless(&self, name: &str) -> Connection {
        files::open(self, name, "")
    }

    /// Every file in the folder except the keys.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).expect("readable");
        entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| !path.to_string_lossy().ends_with("key"))
            .collect()
    }
}

pub fn open_uri(uri: &str) -> Connection {
    Connection::open_with_flags(
        uri,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI,
    )
    .expect("opens")
}

/// One text value.
pub fn text(connection: &Connection, sql: &str) -> String {
    connection
        .query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0))
        .map(|value| match value {
            rusqlite::types::Value::Null => String::new(),
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Real(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Blob(bytes) => format!("{bytes:?}"),
        })
        .unwrap_or_else(|error| panic!("{sql}: {error}; {}", last_error(connection)))
}

pub fn last_error(connection: &Connection) -> String {
    connection
        .query_row("PRAGMA strongroom_last_error", [], |row| row.get(0))
        .unwrap_or_default()
}

/// Whether a file contains these bytes.
pub fn file_contains(path: &Path, needle: &[u8]) -> bool {
    let bytes = std::fs::read(path).expect("readable");
    memchr::memmem::find(&bytes, needle).is_some()
}
