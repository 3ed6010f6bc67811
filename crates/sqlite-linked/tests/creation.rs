//! A power cut damages the first header of a database, on a disk that writes whole sectors or loses
//! them.

mod common;

use std::fs;

use common::files::{failure, fill, read_rows};
use common::{Room, text};
use page_codec::header::REGION_SIZE;
use rusqlite::ffi::SQLITE_NOTADB;

/// Leaves `x.db` and its journal as they are during the transaction that creates the database,
/// after the journal was synced and the first pages were written.
fn interrupted(room: &Room) {
    let connection = room.open("living.db");
    let create = "PRAGMA cache_size=5; BEGIN; CREATE TABLE t(a INTEGER PRIMARY KEY, b);
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO t SELECT i, hex(randomblob(40)) FROM n";
    connection.execute_batch(create).expect("creates");
    for suffix in ["", "-journal"] {
        let from = room.path(&format!("living.db{suffix}"));
        fs::copy(from, room.path(&format!("x.db{suffix}"))).expect("there");
    }
    let size = fs::metadata(room.path("x.db")).expect("there").len();
    assert!(size > REGION_SIZE as u64, "pages have left the cache");
}

/// Replaces the database by bytes that are not a header.
fn spoil(room: &Room, size: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..size).map(|index| (index % 251) as u8 | 1).collect();
    fs::write(room.path("x.db"), &bytes).expect("writable");
    bytes
}

#[test]
fn a_creation_whose_header_a_power_cut_has_spoiled_is_rolled_back() {
    for size in [100, 4096, REGION_SIZE] {
        let room = Room::new();
        interrupted(&room);
        spoil(&room, size);
        let connection = room.open("x.db");
        let tables = text(&connection, "SELECT count(*) FROM sqlite_schema");
        assert_eq!(tables, "0", "{size}");
        let left = fs::metadata(room.path("x.db")).expect("there").len();
        assert_eq!(
            left, 0,
            "{size}: nothing that the next to open would refuse"
        );
        assert!(!room.path("x.db-journal").exists(), "{size}");
        fill(&connection, "t", 3);
        drop(connection);
        assert_eq!(read_rows(&room.open("x.db"), "t").expect("reads"), 3);
    }
}

/// It may belong to another program.
#[test]
fn a_foreign_file_is_left_unchanged() {
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let cases: [(&str, usize, Change); 5] = [
        ("an empty journal", 4096, &|bytes| bytes.clear()),
        ("a finished journal", 4096, &|bytes| bytes[..28].fill(0)),
        ("a journal of a page", 4096, &|bytes| bytes[19] = 1),
        ("a sealed journal", 4096, &|bytes| bytes[30] = 1),
        ("pages behind", REGION_SIZE + 1, &|_| ()),
    ];
    for (what, size, change) in cases {
        let room = Room::new();
        interrupted(&room);
        let before = spoil(&room, size);
        let mut journal = fs::read(room.path("x.db-journal")).expect("there");
        change(&mut journal);
        fs::write(room.path("x.db-journal"), journal).expect("writable");
        let connection = room.open("x.db");
        let refused = failure(&connection, "SELECT count(*) FROM sqlite_schema");
        assert_eq!(refused.code, SQLITE_NOTADB, "{what}: {refused:?}");
        let created = failure(&connection, "CREATE TABLE t(a)");
        assert_eq!(created.code, SQLITE_NOTADB, "{what}: {created:?}");
        assert_eq!(
            fs::read(room.path("x.db")).expect("there"),
            before,
            "{what}"
        );
        assert!(room.path("x.db-journal").exists(), "{what}");
    }
}
