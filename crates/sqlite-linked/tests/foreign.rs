//! Databases in another format, presented to SQLite by a page source: read correctly, never
//! written.

mod common;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::{Room, file_contains, text};
use keyring::Credential;
use rusqlite::{Connection, OpenFlags};
use sqlite_linked::{KeyToken, PageSource, PageSourceToken};

const PAGE_SIZE: usize = 1024;
const MARKER: &str = "plain words that must not reach the disk";

/// A toy format: each byte is XORed with the page number. Checksums of pages are stored separately.
struct Toy {
    sums: Vec<u8>,
}

fn mask(number: u32, from: &[u8], to: &mut [u8]) {
    for (from, to) in from.iter().zip(to.iter_mut()) {
        *to = from ^ number.to_le_bytes()[0] ^ 0x5a;
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(7, |sum, byte| sum.wrapping_add(*byte))
}

impl PageSource for Toy {
    fn page_size(&self) -> u32 {
        PAGE_SIZE as u32
    }

    fn open_page(
        &self,
        number: u32,
        stored: &[u8],
        plain: &mut [u8],
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if self.sums.get(number as usize - 1) != Some(&sum(stored)) {
            return Err("its sum is wrong".into());
        }
        mask(number, stored, plain);
        Ok(())
    }
}

/// Creates a database of several hundred pages in the toy format.
fn make(path: &Path) -> PageSourceToken {
    let plain = path.with_extension("plain");
    let connection = Connection::open(&plain).expect("works");
    connection
        .pragma_update(None, "page_size", PAGE_SIZE as u32)
        .expect("works");
    connection
        .execute_batch(
            "CREATE TABLE t(a INTEGER PRIMARY KEY, b);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO t SELECT i, zeroblob(i) FROM n;",
        )
        .expect("works");
    connection
        .execute("INSERT INTO t VALUES(1000, ?1)", [MARKER])
        .expect("works");
    drop(connection);
    let mut bytes = fs::read(&plain).expect("works");
    for (index, page) in bytes.chunks_exact_mut(PAGE_SIZE).enumerate() {
        let from = page.to_vec();
        mask(index as u32 + 1, &from, page);
    }
    let sums = bytes.chunks_exact(PAGE_SIZE).map(sum).collect();
    fs::write(path, bytes).expect("works");
    fs::remove_file(plain).expect("works");
    PageSourceToken::new(Arc::new(Toy { sums }))
}

fn open(path: &Path, token: &PageSourceToken, flags: OpenFlags) -> Connection {
    sqlite_linked::register().expect("works");
    let name = format!(
        "file:{}?vfs=strongroom&page_source={}",
        path.display(),
        token.number()
    );
    Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI).expect("works")
}

fn read_only() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_ONLY
}

/// No file in the room contains plaintext.
fn nothing_is_plain(room: &Room) {
    for file in room.files() {
        assert!(
            !file_contains(&file, MARKER.as_bytes()),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_foreign_database_is_copied_into_an_encrypted_one() {
    let room = Room::new();
    let path = room.path("toy.db");
    let token = make(&path);
    let connection = open(&path, &token, read_only());
    let query = "SELECT count(*) || ' ' || sum(length(b)) FROM t";
    let expected = text(&connection, query);
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    let key = KeyToken::new(Credential::passphrase("pass"));
    let copy = room.path("copy.db");
    let name = format!(
        "file:{}?vfs=strongroom&key_token={}",
        copy.display(),
        key.number()
    );
    connection.execute("VACUUM INTO ?1", [&name]).unwrap();
    let encrypted = Connection::open(&name).unwrap();
    assert_eq!(text(&encrypted, query), expected);
    nothing_is_plain(&room);
}

#[test]
fn a_foreign_database_is_never_written() {
    let room = Room::new();
    let path = room.path("toy.db");
    let token = make(&path);
    let before = fs::read(&path).unwrap();
    for (mode, statement) in [
        ("DELETE", "UPDATE t SET b = 'x'"),
        ("TRUNCATE", "PRAGMA user_version=5"),
        ("OFF", "DELETE FROM t"),
        ("MEMORY", "DELETE FROM t"),
        ("DELETE", "VACUUM"),
        ("MEMORY", "VACUUM"),
        ("OFF", "VACUUM"),
        ("WAL", "DELETE FROM t"),
    ] {
        let connection = open(&path, &token, OpenFlags::SQLITE_OPEN_READ_WRITE);
        // Switching to WAL is itself a write.
        let result = connection
            .execute_batch(&format!("PRAGMA journal_mode={mode}"))
            .and_then(|()| connection.execute_batch(statement));
        assert!(result.is_err(), "{statement} with {mode}");
        drop(connection);
        assert_eq!(fs::read(&path).unwrap(), before, "{statement} with {mode}");
    }
    nothing_is_plain(&room);
}

#[test]
fn a_foreign_page_that_does_not_open_is_named() {
    let room = Room::new();
    let path = room.path("toy.db");
    let token = make(&path);
    let whole = fs::read(&path).unwrap();
    let mut altered = whole.clone();
    altered[100 * PAGE_SIZE + 5] ^= 1;
    let cases = [
        (altered, "page 101 does not open: its sum is wrong"),
        (
            whole[..whole.len() - 100].to_vec(),
            "does not open: the file ends in the middle",
        ),
    ];
    for (bytes, expected) in cases {
        fs::write(&path, bytes).unwrap();
        let connection = open(&path, &token, read_only());
        assert!(
            connection
                .query_row("SELECT sum(length(b)) FROM t", [], |_| Ok(()))
                .is_err()
        );
        let message = text(&connection, "PRAGMA strongroom_last_error");
        assert!(message.contains(expected), "{message}");
    }
    fs::write(&path, &whole[..whole.len() - 3 * PAGE_SIZE]).unwrap();
    let connection = open(&path, &token, read_only());
    assert!(
        connection
            .query_row("SELECT sum(length(b)) FROM t", [], |_| Ok(()))
            .is_err()
    );
}

#[test]
fn without_a_source_there_is_no_opening() {
    let room = Room::new();
    let path = room.path("toy.db");
    let token = make(&path);
    let name = format!(
        "file:{}?vfs=strongroom&page_source={}",
        path.display(),
        token.number()
    );
    drop(token);
    let opened = Connection::open_with_flags(&name, read_only() | OpenFlags::SQLITE_OPEN_URI);
    assert!(opened.is_err());
}
