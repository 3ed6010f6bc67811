//! A folder with an encrypted database, and its key.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part; a test that cannot go on says so by a panic"
)]

use keyring::Credential;
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use store::KeyToken;
use store::database::{Access, open_for_key_changes};

/// Bytes before the first page.
pub const REGION_SIZE: usize = 8192;
/// Bytes of a page of the database that [`Room::make`] makes.
pub const PAGE_SIZE: usize = 4096;

/// A separate folder for each test, and one key.
pub struct Room {
    folder: tempfile::TempDir,
    pub token: KeyToken,
}

impl Room {
    pub fn new() -> Self {
        let key = keyring::random_key().unwrap();
        Room {
            folder: tempfile::tempdir().unwrap(),
            token: KeyToken::new(Credential::raw_key(key)),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn open(&self, name: &str) -> Connection {
        open_for_key_changes(&self.path(name), Access::Create, Some(&self.token), None).unwrap()
    }

    /// Creates a database of several hundred rows, each on its own page.
    pub fn make(&self, name: &str) -> Connection {
        let connection = self.open(name);
        connection
            .execute_batch(
                "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                 INSERT INTO t SELECT i, hex(zeroblob(1500)) FROM n;",
            )
            .unwrap();
        connection
    }

    /// Names in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Offset of a page.
pub fn page_offset(page: usize) -> usize {
    REGION_SIZE + (page - 1) * PAGE_SIZE
}

/// Changes the bytes of a file.
pub fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}
