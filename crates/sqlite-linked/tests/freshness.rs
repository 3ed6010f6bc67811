//! Freshness: older copies of pages that are put back while the database is open.

mod common;

use std::path::Path;

use common::files::{PAGE_SIZE, edit, fill, page_offset, read_rows};
use common::{Room, last_error, text};
use rusqlite::Connection;

const ROWS: i64 = 2000;
/// A page in the middle of the table that [`fill`] creates.
const PAGE: usize = 40;

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}; {}", last_error(connection)));
}

/// A connection with a small cache, so that it rereads most pages.
fn forgetful(room: &Room, more: &str) -> Connection {
    let connection = room.open_with("a.db", more);
    run(&connection, "PRAGMA cache_size=5");
    connection
}

fn page(path: &Path, number: usize) -> Vec<u8> {
    std::fs::read(path).expect("readable")[page_offset(number)..][..PAGE_SIZE].to_vec()
}

fn put_back(path: &Path, number: usize, page: &[u8]) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).open(path);
    // Writes a whole page into the same file, as an attacker with access to the disk would.
    file.expect("opens")
        .write_all_at(page, page_offset(number) as u64)
        .expect("writes");
}

/// Changes every row, after `between` has saved an older page; returns what a reader gets
/// afterwards.
fn replayed(more: &str, journal_mode: &str) -> Result<i64, String> {
    let room = Room::new();
    let path = room.path("a.db");
    let connection = forgetful(&room, more);
    run(&connection, &format!("PRAGMA journal_mode={journal_mode}"));
    fill(&connection, "t", ROWS);
    text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    let old = page(&path, PAGE);
    run(&connection, "UPDATE t SET b = replace(b, '0-', '9-')");
    text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    assert_eq!(
        text(&connection, "SELECT count(*) FROM t WHERE b LIKE '0-%'"),
        "0"
    );
    put_back(&path, PAGE, &old);
    let answer = connection.query_row("SELECT count(*) FROM t WHERE b LIKE '0-%'", [], |row| {
        row.get(0)
    });
    answer.map_err(|_| last_error(&connection))
}

#[test]
fn an_older_copy_of_a_page_is_an_error_that_says_so() {
    for more in ["&freshness=on", "&freshness=on&mmap=off"] {
        for journal_mode in ["DELETE", "WAL"] {
            let error = replayed(more, journal_mode).expect_err("found out");
            assert!(
                error.contains(&format!("page {PAGE} does not open")),
                "{error}"
            );
            assert!(error.contains("older copy of itself"), "{error}");
        }
    }
}

#[test]
fn without_freshness_it_is_content_like_any_other() {
    let old_rows = replayed("", "DELETE").expect("reads");
    assert!(old_rows > 0, "the test puts back what it means to");
}

#[test]
fn writes_of_other_connections_are_never_taken_for_old_copies() {
    for journal_mode in ["DELETE", "PERSIST", "WAL"] {
        let room = Room::new();
        let first = forgetful(&room, "&freshness=on");
        run(&first, "PRAGMA auto_vacuum=INCREMENTAL");
        run(&first, &format!("PRAGMA journal_mode={journal_mode}"));
        fill(&first, "t", ROWS);
        let second = forgetful(&room, "");
        for round in 0..6 {
            for (reader, writer) in [(&first, &second), (&second, &first)] {
                assert_eq!(read_rows(reader, "t").expect("reads"), ROWS);
                run(writer, "CREATE TABLE u AS SELECT * FROM t");
                assert_eq!(read_rows(reader, "u").expect("reads"), ROWS);
                // Pages are removed from the file, and others take their place.
                run(writer, "DROP TABLE u");
                let shrink = ["VACUUM", "PRAGMA incremental_vacuum", "BEGIN; ROLLBACK"];
                run(writer, shrink[round % 3]);
                text(writer, "PRAGMA wal_checkpoint(TRUNCATE)");
                run(writer, "BEGIN; CREATE TABLE v AS SELECT * FROM t; ROLLBACK");
                assert_eq!(text(reader, "PRAGMA integrity_check"), "ok");
            }
        }
        assert_eq!(text(&second, "PRAGMA strongroom_verify"), "ok");
    }
}

#[test]
fn it_can_be_had_later_and_given_up_again() {
    let room = Room::new();
    let connection = forgetful(&room, "");
    let other = forgetful(&room, "");
    fill(&connection, "t", ROWS);
    assert_eq!(read_rows(&other, "t").expect("reads"), ROWS);
    let freshness = |connection| text(connection, "PRAGMA strongroom_freshness");
    assert_eq!(freshness(&connection), "off");
    for (wanted, features) in [("on", 1), ("off", 0)] {
        text(
            &connection,
            &format!("PRAGMA strongroom_freshness={wanted}"),
        );
        assert_eq!(
            freshness(&connection),
            format!("{wanted} from the next rotation on")
        );
        assert_eq!(read_rows(&other, "t").expect("reads"), ROWS);
        let answer = text(&connection, "PRAGMA strongroom_rotate");
        assert!(answer.contains("finished"), "{answer}");
        assert_eq!(freshness(&connection), wanted);
        run(&other, "UPDATE t SET a = a WHERE a = 1");
        assert_eq!(read_rows(&other, "t").expect("reads"), ROWS);
        assert_eq!(freshness(&other), wanted);
        let bytes = std::fs::read(room.path("a.db")).expect("readable");
        assert_eq!(bytes[28..32], u32::to_le_bytes(features));
    }
}

#[test]
fn an_old_copy_from_before_a_rotation_is_found_too() {
    let room = Room::new();
    let path = room.path("a.db");
    let connection = forgetful(&room, "&freshness=on");
    fill(&connection, "t", ROWS);
    let old = page(&path, PAGE);
    text(&connection, "PRAGMA strongroom_rotate='start'");
    text(&connection, "PRAGMA strongroom_rotate=60");
    assert_eq!(read_rows(&connection, "t").expect("reads"), ROWS);
    put_back(&path, PAGE, &old);
    let error = read_rows(&connection, "t").expect_err("found out");
    assert!(
        format!("{error:?}").contains("older copy of itself"),
        "{error:?}"
    );
    let error = connection.query_row("PRAGMA strongroom_rotate", [], |_| Ok(()));
    let error = error.err().map(|error| error.to_string());
    // The pass was already beyond the page, and does not look at it again.
    assert_eq!(error, None);
    assert!(read_rows(&connection, "t").is_err());
}

#[test]
fn a_version_altered_on_disk_harms_nothing_but_its_page() {
    let room = Room::new();
    let connection = forgetful(&room, "&freshness=on");
    fill(&connection, "t", ROWS);
    drop(connection);
    // The version is in the nonce, at byte 16 of the trailer.
    let at = page_offset(PAGE) + PAGE_SIZE - 16;
    edit(&room.path("a.db"), |bytes| bytes[at..at + 6].fill(0xff));
    let connection = forgetful(&room, "");
    let error = read_rows(&connection, "t").expect_err("refused");
    assert!(
        format!("{error:?}").contains("page 40 does not open"),
        "{error:?}"
    );
}

#[test]
fn a_cipher_whose_nonces_must_be_random_refuses() {
    let room = Room::new();
    let connection = room.open_with("a.db", "&freshness=on&cipher=aes-256-gcm");
    assert!(connection.execute_batch("CREATE TABLE t(a)").is_err());
    assert!(last_error(&connection).contains("nonces must be random"));
}
