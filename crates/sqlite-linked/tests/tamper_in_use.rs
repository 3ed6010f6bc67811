//! An attacker who writes the files while they are in use: no transaction that was committed is
//! overwritten, no old header is taken for the one in force.

mod common;

use std::os::unix::fs::FileExt;
use std::path::Path;

use common::files::{PAGE_SIZE, PAGES_OFFSET, page_offset};
use common::{Room, last_error, text};
use page_codec::header::COPY_SIZE;
use rusqlite::Connection;

const TRAILER_SIZE: usize = 32;

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}; {}", last_error(connection)));
}

fn bytes(path: &Path, offset: usize, size: usize) -> Vec<u8> {
    std::fs::read(path).expect("readable")[offset..][..size].to_vec()
}

/// Writes over the file as it stands, as whoever owns the disk would.
fn overwrite(path: &Path, offset: usize, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.expect("opens")
        .write_all_at(bytes, offset as u64)
        .expect("writes");
}

/// Two connections that have read the same, the second of which has then committed.
fn reader_and_writer(room: &Room, more: &str) -> (Connection, Connection, Vec<u8>) {
    let reader = room.open_with("x.db", more);
    run(
        &reader,
        "CREATE TABLE account(id INTEGER PRIMARY KEY, money); INSERT INTO account VALUES(1, 10)",
    );
    let writer = room.open_with("x.db", more);
    for connection in [&reader, &writer] {
        assert_eq!(text(connection, "SELECT money FROM account"), "10");
    }
    let page_one = bytes(&room.path("x.db"), PAGES_OFFSET, PAGE_SIZE);
    run(&writer, "UPDATE account SET money = 110");
    (reader, writer, page_one)
}

#[test]
fn an_old_trailer_of_page_1_keeps_no_stale_cache_alive() {
    for more in ["", "&mmap=off", "&freshness=on"] {
        for zeros in [false, true] {
            let room = Room::new();
            let path = room.path("x.db");
            let (reader, writer, old) = reader_and_writer(&room, more);
            let end = page_offset(1) + PAGE_SIZE;
            let new = bytes(&path, page_offset(1), PAGE_SIZE);
            overwrite(&path, end - TRAILER_SIZE, &old[PAGE_SIZE - TRAILER_SIZE..]);
            if zeros {
                overwrite(&path, page_offset(1), &vec![0; PAGE_SIZE - TRAILER_SIZE]);
            }
            let result = reader.execute_batch("UPDATE account SET money = money + 1");
            assert!(result.is_err(), "{more}: an altered page is noticed");
            assert!(last_error(&reader).contains("page 1 does not open"));
            overwrite(&path, page_offset(1), &new);
            assert_eq!(text(&writer, "SELECT money FROM account"), "110");
            run(&reader, "UPDATE account SET money = money + 1");
            assert_eq!(text(&writer, "SELECT money FROM account"), "111");
        }
    }
}

#[test]
fn with_freshness_an_old_page_1_lets_no_writer_overwrite_what_others_committed() {
    for mode in ["delete", "persist", "truncate"] {
        let room = Room::new();
        let path = room.path("x.db");
        let (reader, writer, old) = reader_and_writer(&room, "&freshness=on");
        text(&reader, &format!("PRAGMA journal_mode={mode}"));
        let new = bytes(&path, page_offset(1), PAGE_SIZE);
        // All of the page: it opens, and is what the reader saw last.
        overwrite(&path, page_offset(1), &old);
        let result = reader.execute_batch("UPDATE account SET money = money + 1");
        assert!(result.is_err(), "{mode}: the page on the disk is newer");
        assert!(
            last_error(&reader).contains("has changed"),
            "{}",
            last_error(&reader)
        );
        overwrite(&path, page_offset(1), &new);
        assert_eq!(text(&writer, "SELECT money FROM account"), "110");
    }
}

#[test]
fn with_freshness_a_writer_goes_on_after_others_rolled_back() {
    let room = Room::new();
    let open = || room.open_with("x.db", "&freshness=on");
    let (first, second) = (open(), open());
    run(
        &first,
        "PRAGMA cache_size=2; CREATE TABLE t(a INTEGER PRIMARY KEY, b);
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
         INSERT INTO t SELECT i, hex(zeroblob(100)) FROM n",
    );
    for round in 0..4 {
        assert_eq!(
            text(&second, "SELECT count(*) FROM t WHERE a > 0 AND b > ''"),
            "300"
        );
        run(
            &first,
            "BEGIN; UPDATE t SET b = b || 'x'; DELETE FROM t; ROLLBACK",
        );
        run(
            &second,
            &format!("UPDATE t SET b = b || '{round}' WHERE a % 2"),
        );
        run(&first, "UPDATE t SET b = b || 'y' WHERE a % 3 = 0");
    }
    for connection in [&first, &second] {
        assert_eq!(text(connection, "PRAGMA integrity_check"), "ok");
        assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok");
    }
}

#[test]
fn an_old_copy_of_the_header_makes_no_connection_forget_what_it_knows() {
    let room = Room::new();
    let path = room.path("x.db");
    let first = room.open_with("x.db", "&freshness=on");
    run(
        &first,
        "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 'old')",
    );
    let (creation, finished) = (
        bytes(&path, 0, COPY_SIZE),
        bytes(&path, COPY_SIZE, COPY_SIZE),
    );
    let page_two = bytes(&path, page_offset(2), PAGE_SIZE);
    overwrite(&path, COPY_SIZE, &creation);
    // It is opened, and reads, while the header says that the creation goes on.
    let second = room.open_with("x.db", "&freshness=on");
    run(&second, "PRAGMA cache_size=0");
    let read = || second.query_row("SELECT b FROM t", [], |row| row.get::<_, String>(0));
    assert_eq!(read().as_deref(), Ok("old"));
    overwrite(&path, COPY_SIZE, &finished);
    run(&first, "UPDATE t SET b = 'new'");
    overwrite(&path, COPY_SIZE, &creation);
    assert_eq!(read().as_deref(), Ok("new"));
    let new = bytes(&path, page_offset(2), PAGE_SIZE);
    for _ in 0..15 {
        overwrite(&path, page_offset(2), &page_two);
        let answer = read();
        assert!(answer.is_err(), "an old page is not read: {answer:?}");
    }
    overwrite(&path, page_offset(2), &new);
    assert_eq!(read().as_deref(), Ok("new"));
    let refused = first.execute_batch("UPDATE t SET b = 'newer'");
    assert!(
        refused.is_err(),
        "the header that was put back is not taken"
    );
    overwrite(&path, COPY_SIZE, &finished);
    run(&first, "UPDATE t SET b = 'newer'");
    assert_eq!(read().as_deref(), Ok("newer"));
}

#[test]
fn an_old_header_beside_a_damaged_one_brings_no_removed_key_back() {
    let room = Room::new();
    let path = room.path("x.db");
    let connection = room.open("x.db");
    run(&connection, "CREATE TABLE t(a)");
    let other = format!("PRAGMA strongroom_key_add=\"x'{}'\"", "22".repeat(32));
    assert_eq!(text(&connection, &other), "1");
    let with_other = bytes(&path, 0, COPY_SIZE);
    text(&connection, "PRAGMA strongroom_key_remove=1");
    let opens = || {
        let keyless = room.open_keyless("x.db");
        let key = format!("PRAGMA hexkey='{}'", "22".repeat(32));
        keyless.query_row(&key, [], |_| Ok(())).is_ok()
    };
    assert!(!opens(), "the key was removed");
    let good = bytes(&path, 0, 2 * COPY_SIZE);
    overwrite(&path, 0, &with_other);
    overwrite(&path, COPY_SIZE + 100, &[0xff; 8]);
    let third = format!("PRAGMA strongroom_key_add=\"x'{}'\"", "33".repeat(32));
    let result = connection.query_row(&third, [], |_| Ok(()));
    assert!(
        result.is_err(),
        "the header in force is not the one that is known"
    );
    assert!(
        last_error(&connection).contains("older"),
        "{}",
        last_error(&connection)
    );
    overwrite(&path, 0, &good);
    assert_eq!(text(&connection, &third), "1");
    assert!(!opens());
}
