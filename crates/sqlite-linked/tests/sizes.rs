//! Extreme sizes: pages, databases, and numbers of connections.
#![expect(unsafe_code, reason = "SQLite's own counters and test controls")]

mod common;

use common::files::{in_own_process, page_offset};
use common::{Room, last_error, text};
use rusqlite::ffi;
use rusqlite::{Connection, MAIN_DB, backup::Backup};

const MODES: [&str; 6] = ["delete", "truncate", "persist", "memory", "off", "wal"];

/// Set by `cargo xtask storm --large`: also run what takes minutes and gigabytes.
fn is_large() -> bool {
    std::env::var_os("STRONGROOM_STORM_LARGE").is_some()
}

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}; {}", last_error(connection)));
}

fn assert_sound(connection: &Connection) {
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok");
}

#[test]
fn the_smallest_and_the_largest_pages_work_in_every_mode() {
    for page_size in [512, 65536] {
        for mode in MODES {
            let room = Room::new();
            let connection = room.open("x.db");
            run(
                &connection,
                &format!(
                    "PRAGMA page_size={page_size}; PRAGMA cache_size=4; PRAGMA synchronous=OFF"
                ),
            );
            text(&connection, &format!("PRAGMA journal_mode={mode}"));
            let size = 3 * page_size;
            run(
                &connection,
                &format!(
                    "CREATE TABLE t(a INTEGER PRIMARY KEY, b);
                     CREATE INDEX i ON t(substr(b, 1, 40));
                     WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<40)
                     INSERT INTO t SELECT i, printf('%.*c', {size} / i, 'x') FROM n;
                     DELETE FROM t WHERE a % 5 = 0; UPDATE t SET b = b || 'y' WHERE a % 3 = 0"
                ),
            );
            if mode != "off" {
                run(
                    &connection,
                    "BEGIN; UPDATE t SET b = b || b; DELETE FROM t; ROLLBACK",
                );
            }
            run(&connection, "VACUUM");
            let lengths = text(&connection, "SELECT sum(length(b)) FROM t");
            drop(connection);
            let connection = room.open("x.db");
            assert_eq!(text(&connection, "SELECT sum(length(b)) FROM t"), lengths);
            assert_eq!(text(&connection, "PRAGMA page_size"), page_size.to_string());
            assert_sound(&connection);
        }
    }
}

/// A copy of `source` made with the backup API.
fn backed_up(room: &Room, source: &Connection) -> Connection {
    let mut copy = room.open("copy.db");
    let backup = Backup::new_with_names(source, MAIN_DB, &mut copy, MAIN_DB).expect("begins");
    backup.step(-1).expect("copies");
    drop(backup);
    copy
}

fn key(pragma: &str, byte: &str) -> String {
    format!("PRAGMA {pragma}=\"x'{}'\"", byte.repeat(32))
}

#[test]
fn a_database_of_no_page_takes_every_operation() {
    let room = Room::new();
    let connection = room.open("x.db");
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(&connection, "PRAGMA page_count"), "0");
    // Nothing is on disk, so there is nothing to verify or to rotate, and the pragma says so.
    for pragma in [
        "strongroom_verify",
        "strongroom_rotate",
        "strongroom_key_remove='0'",
    ] {
        let failed = common::files::failure(&connection, &format!("PRAGMA {pragma}"));
        assert!(!failed.message.is_empty(), "{pragma}: {failed:?}");
    }
    assert_eq!(text(&connection, &key("rekey", "33")), "ok");
    let copy = backed_up(&room, &connection);
    // SQLite's backup and VACUUM start the database with one page.
    assert_sound(&copy);
    drop((copy, connection));
    let size = std::fs::metadata(room.path("x.db")).expect("there").len();
    assert_eq!(size, 0, "no page, no byte");
    let vacuumed = room.open("vacuumed.db");
    run(&vacuumed, "VACUUM");
    assert_sound(&vacuumed);
    for mode in MODES {
        let name = format!("{mode}.db");
        let connection = room.open(&name);
        let became = text(&connection, &format!("PRAGMA journal_mode={mode}"));
        assert_eq!(became, mode);
        assert_eq!(text(&connection, "SELECT count(*) FROM sqlite_schema"), "0");
        run(&connection, "CREATE TABLE t(a)");
        drop(connection);
        assert_sound(&room.open(&name));
    }
}

#[test]
fn a_database_of_one_page_takes_every_operation() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        let room = Room::new();
        let connection = room.open("x.db");
        run(&connection, "PRAGMA user_version=7");
        assert_eq!(
            text(&connection, &format!("PRAGMA journal_mode={mode}")),
            mode
        );
        let holds = |connection: &Connection| {
            assert_eq!(text(connection, "PRAGMA user_version"), "7");
            assert_eq!(text(connection, "PRAGMA page_count"), "1");
            assert_sound(connection);
        };
        holds(&connection);
        run(&connection, "VACUUM");
        holds(&connection);
        holds(&backed_up(&room, &connection));
        run(
            &connection,
            &format!("VACUUM INTO '{}'", room.path("into.db").display()),
        );
        holds(&room.open("into.db"));
        assert_eq!(text(&connection, &key("strongroom_key_add", "44")), "1");
        assert_eq!(text(&connection, "PRAGMA strongroom_key_remove='0'"), "ok");
        text(&connection, "PRAGMA strongroom_rotate");
        text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
        let rotated = text(&connection, "PRAGMA strongroom_rotate='9'");
        assert!(rotated.contains("finished"), "{rotated}");
        holds(&connection);
        run(&connection, "BEGIN; PRAGMA user_version=8; ROLLBACK");
        drop(connection);
        assert_eq!(
            std::fs::metadata(room.path("x.db")).expect("there").len() as usize,
            page_offset(2)
        );
        let connection = room.open_keyless("x.db");
        assert_eq!(text(&connection, &key("key", "44")), "ok");
        holds(&connection);
        let other = if mode == "wal" { "delete" } else { "wal" };
        assert_eq!(
            text(&connection, &format!("PRAGMA journal_mode={other}")),
            other
        );
        holds(&connection);
    }
}

/// SQLite's lock bytes are moved from 1 GiB to 64 KiB, as SQLite's own tests do. So a small file
/// reaches the page that SQLite leaves out, and the page with content that contains the locked
/// bytes. `cargo xtask storm --large` goes to 1 GiB itself, and beyond 4 GiB.
#[test]
fn the_pages_of_the_lock_bytes_are_like_others() {
    const NAME: &str = "the_pages_of_the_lock_bytes_are_like_others";
    const LOCK_BYTES: u32 = 64 * 1024;
    in_own_process(NAME, &[], || {
        // SAFETY: nothing is open yet in this process; the argument is an unsigned integer.
        unsafe {
            ffi::sqlite3_initialize();
            ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_PENDING_BYTE, LOCK_BYTES);
        }
        for (page_size, mode) in [
            (512, "delete"),
            (1024, "wal"),
            (4096, "persist"),
            (512, "wal"),
        ] {
            let room = Room::new();
            let connection = room.open("x.db");
            run(
                &connection,
                &format!(
                    "PRAGMA page_size={page_size}; PRAGMA cache_size=5; PRAGMA synchronous=OFF"
                ),
            );
            text(&connection, &format!("PRAGMA journal_mode={mode}"));
            let other = room.open("x.db");
            run(
                &connection,
                "CREATE TABLE t(a INTEGER PRIMARY KEY, b);
                 WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300)
                 INSERT INTO t SELECT i, printf('%.*c', 700, 'x') FROM n;
                 UPDATE t SET b = b || a WHERE a % 2",
            );
            for connection in [&connection, &other] {
                assert_eq!(
                    text(connection, "SELECT count(*) FROM t WHERE length(b) > 700"),
                    "150"
                );
                run(
                    connection,
                    "UPDATE t SET b = b WHERE a > 100; BEGIN; DELETE FROM t; ROLLBACK",
                );
                assert_sound(connection);
            }
            let omitted = u64::from(LOCK_BYTES / page_size) + 1;
            let used = format!("SELECT count(*) FROM dbstat WHERE pageno = {omitted}");
            if let Ok(count) = connection.query_row(&used, [], |row| row.get::<_, i64>(0)) {
                assert_eq!(count, 0, "SQLite leaves the page out");
            }
            run(&connection, "VACUUM; DELETE FROM t WHERE a > 5; VACUUM");
            assert_sound(&other);
            text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
            let rotated = text(&connection, "PRAGMA strongroom_rotate");
            assert!(rotated.contains("epoch"), "{rotated}");
            assert_sound(&other);
        }
    });
}

#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    let listed = std::fs::read_dir("/proc/self/fd").expect("readable");
    listed.count()
}

/// Resident memory, in pages of the system.
#[cfg(target_os = "linux")]
fn resident_pages() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("readable");
    let second = text.split(' ').nth(1).expect("two numbers");
    second.parse().expect("a number")
}

/// Memory that SQLite holds.
fn memory_used() -> i64 {
    // SAFETY: asks for a number.
    unsafe { ffi::sqlite3_memory_used() }
}

#[cfg(target_os = "linux")]
fn use_once(room: &Room, number: usize) {
    let connection = room.open(["rollback.db", "log.db"][number % 2]);
    assert_eq!(text(&connection, "SELECT count(*) FROM t"), "1");
    if number.is_multiple_of(15) {
        run(
            &connection,
            "PRAGMA synchronous=OFF; UPDATE t SET a = a + 1",
        );
    }
}

/// Descriptors and SQLite's memory return to their former values, and the process has not grown by
/// more than the bound. An ordinary run opens 1,000 connections, a large one 10,000.
#[cfg(target_os = "linux")]
#[test]
fn thousands_of_connections_leave_nothing_behind() {
    const NAME: &str = "thousands_of_connections_leave_nothing_behind";
    const GROWTH_PAGES_MAX: usize = 1000;
    in_own_process(NAME, &[], || {
        let room = Room::new();
        for (name, mode) in [("rollback.db", "delete"), ("log.db", "wal")] {
            let connection = room.open(name);
            text(&connection, &format!("PRAGMA journal_mode={mode}"));
            run(
                &connection,
                "PRAGMA synchronous=OFF; CREATE TABLE t(a); INSERT INTO t VALUES(1)",
            );
        }
        // Keeps the log alive, so that not every connection creates and deletes the file.
        let keeper = room.open("log.db");
        assert_eq!(text(&keeper, "SELECT count(*) FROM t"), "1");
        // Lets allocators and caches of the process reach their steady size first.
        (0..300).for_each(|number| use_once(&room, number));
        let before = (descriptors(), memory_used());
        let resident = resident_pages();
        let count = if is_large() { 10_000 } else { 1_000 };
        (0..count).for_each(|number| use_once(&room, number));
        assert_eq!((descriptors(), memory_used()), before);
        let growth = resident_pages().saturating_sub(resident);
        assert!(growth < GROWTH_PAGES_MAX, "{growth} pages more");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn five_hundred_connections_are_open_at_once() {
    const NAME: &str = "five_hundred_connections_are_open_at_once";
    in_own_process(NAME, &[], || {
        for mode in ["delete", "wal"] {
            let room = Room::new();
            run(
                &room.open("x.db"),
                "CREATE TABLE t(a); INSERT INTO t VALUES(0)",
            );
            text(&room.open("x.db"), &format!("PRAGMA journal_mode={mode}"));
            let before = (descriptors(), memory_used());
            // With a log each has two descriptors, which the usual limit of 1,024 allows.
            let all: Vec<Connection> = (0..500).map(|_| room.open("x.db")).collect();
            for (number, connection) in all.iter().enumerate().step_by(7) {
                run(connection, "UPDATE t SET a = a + 1");
                let last = &all[all.len() - 1 - number];
                let writes = (number / 7 + 1).to_string();
                assert_eq!(text(last, "SELECT a FROM t"), writes);
            }
            assert_sound(&all[0]);
            drop(all);
            assert_eq!((descriptors(), memory_used()), before);
        }
    });
}

/// Beyond the lock bytes at 1 GiB and beyond 4 GiB. Pages of an encrypted file cannot be sparse, so
/// an ordinary run skips this to avoid writing that much.
#[test]
fn a_file_grows_beyond_4_gib() {
    const ROWS: i64 = 5;
    const ROW_SIZE: usize = 900_000_000;
    const MARK: &[u8] = b"written last";
    if !is_large() {
        return;
    }
    let room = Room::new();
    let connection = room.open("x.db");
    run(
        &connection,
        "PRAGMA page_size=65536; PRAGMA synchronous=OFF; CREATE TABLE t(a INTEGER PRIMARY KEY, b)",
    );
    for row in 1..=ROWS {
        run(
            &connection,
            &format!("INSERT INTO t VALUES({row}, zeroblob({ROW_SIZE}))"),
        );
        let mut blob = connection
            .blob_open(MAIN_DB, "t", "b", row, false)
            .expect("opens");
        blob.write_at(MARK, ROW_SIZE - MARK.len()).expect("writes");
    }
    drop(connection);
    let size = std::fs::metadata(room.path("x.db")).expect("there").len();
    assert!(size > 4 << 30, "{size}");
    let connection = room.open("x.db");
    for row in 1..=ROWS {
        let blob = connection
            .blob_open(MAIN_DB, "t", "b", row, true)
            .expect("opens");
        let mut mark = [0; MARK.len()];
        blob.read_at_exact(&mut mark, ROW_SIZE - MARK.len())
            .expect("reads");
        assert_eq!(mark, MARK, "row {row}");
    }
    assert_sound(&connection);
}
