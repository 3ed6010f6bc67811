//! An attacker who writes to the files while they are in use: no committed transaction is
//! overwritten, and no old header is accepted.

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

/// Overwrites a part of the file in place, as an attacker with access to the disk would.
fn overwrite(path: &Path, offset: usize, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.expect("opens")
        .write_all_at(bytes, offset as u64)
        .expect("writes");
}

/// Two connections that have read the same state, after which the second has committed.
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
fn with_freshness_no_writer_overwrites_commits_because_of_an_old_page_1() {
    for mode in ["delete", "persist", "truncate"] {
        let room = Room::new();
        let path = room.path("x.db");
        let (reader, writer, old) = reader_and_writer(&room, "&freshness=on");
        text(&reader, &format!("PRAGMA journal_mode={mode}"));
        let new = bytes(&path, page_offset(1), PAGE_SIZE);
        // The whole page: it opens, and equals what the reader saw last.
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
fn an_old_copy_of_the_header_does_not_reset_known_versions() {
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
    // Opened, and read, while the header says that the creation is not finished.
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

/// Lowers the number of frames in both copies of the index header, and recomputes their checksum
/// (sqlite.org/walformat.html 2.1 and 4.1).
fn take_frames_back(index: &Path, frames: u32) {
    const COPY: usize = 48;
    let mut copy = bytes(index, 0, COPY);
    let number = |copy: &[u8], word: usize| {
        let bytes = copy[4 * word..][..4].try_into().expect("four bytes");
        u32::from_ne_bytes(bytes)
    };
    let count = number(&copy, 4);
    assert!(count > frames, "there is something to take back");
    copy[16..20].copy_from_slice(&(count - frames).to_ne_bytes());
    let (mut first, mut second) = (0_u32, 0_u32);
    for word in (0..10).step_by(2) {
        first = first.wrapping_add(number(&copy, word)).wrapping_add(second);
        second = second
            .wrapping_add(number(&copy, word + 1))
            .wrapping_add(first);
    }
    copy[40..44].copy_from_slice(&first.to_ne_bytes());
    copy[44..48].copy_from_slice(&second.to_ne_bytes());
    overwrite(index, 0, &copy);
    overwrite(index, COPY, &copy);
}

#[test]
fn with_freshness_the_index_of_the_log_takes_no_transaction_back() {
    for is_writer in [false, true] {
        let room = Room::new();
        let writer = room.open_with("x.db", "&freshness=on");
        text(&writer, "PRAGMA journal_mode=wal");
        run(
            &writer,
            "PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a); INSERT INTO t VALUES(1)",
        );
        let reader = room.open_with("x.db", "&freshness=on");
        run(&writer, "INSERT INTO t VALUES(2)");
        assert_eq!(text(&reader, "SELECT count(*) FROM t"), "2");
        let index = room.path("x.db-shm");
        let good = bytes(&index, 0, 96);
        take_frames_back(&index, 1);
        let victim = if is_writer { &writer } else { &reader };
        for sql in ["SELECT count(*) FROM t", "INSERT INTO t VALUES(3)"] {
            let result = victim.prepare(sql).and_then(|mut statement| {
                let mut rows = statement.query([])?;
                rows.next().map(|_| ())
            });
            assert!(result.is_err(), "{sql}");
            assert!(
                last_error(victim).contains("-shm"),
                "{}",
                last_error(victim)
            );
        }
        overwrite(&index, 0, &good);
        run(victim, "INSERT INTO t VALUES(3)");
        assert_eq!(text(&reader, "SELECT count(*) FROM t"), "3");
        for mode in ["PASSIVE", "RESTART", "TRUNCATE"] {
            text(&reader, &format!("PRAGMA wal_checkpoint({mode})"));
            run(&writer, "INSERT INTO t VALUES(4)");
            text(&reader, "SELECT count(*) FROM t");
        }
        assert_eq!(text(&reader, "SELECT count(*) FROM t"), "6");
    }
}
