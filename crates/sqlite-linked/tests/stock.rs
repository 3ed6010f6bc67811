//! SQLite without Strongroom opens an encrypted database: it fails, and destroys nothing.
#![expect(
    unsafe_code,
    reason = "a checkpoint without a schema is possible by SQLite's C interface only"
)]

mod common;

use common::children::{Part, Player, report};
use common::files::{Failure, PAGE_SIZE, failure, read_rows, row_text};
use common::images::{copy_database, open_stock, with_suffix};
use common::{Room, open_uri, text};
use rusqlite::Connection;
use rusqlite::ffi::{SQLITE_CANTOPEN, SQLITE_NOTADB};

/// More than the VFS gathers before it writes.
const ROWS: i64 = 1000;

/// The writer that is killed; not a test of its own. It leaves a transaction that has spilled to
/// the disk.
#[test]
fn writer() {
    let Some(part) = Part::mine() else { return };
    sqlite_linked::register().expect("registers");
    let connection = open_uri(&part.uri);
    let (mode, page_size, sync) = (&part.detail[0], &part.detail[1], &part.detail[2]);
    connection
        .execute_batch(&format!(
            "PRAGMA page_size={page_size}; PRAGMA journal_mode={mode}; PRAGMA synchronous={sync};
             PRAGMA cache_size=5; PRAGMA wal_autocheckpoint=0;"
        ))
        .expect("settings");
    common::files::fill(&connection, "t", ROWS);
    connection
        .execute_batch("CREATE TABLE committed(a); INSERT INTO committed VALUES(1)")
        .expect("commits");
    connection
        .execute_batch(&format!(
            "BEGIN; UPDATE t SET b = replace(b, '0-', '1-'); INSERT INTO t VALUES({}, '{}')",
            ROWS + 1,
            row_text(ROWS + 1, 0)
        ))
        .expect("spills");
    report("spilled");
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Leaves what a writer leaves that is killed in a transaction.
fn killed(room: &Room, name: &str, detail: &str) {
    let mut player = Player::start("writer", "writer", &room.uri(name, ""), detail);
    let line = player.line();
    assert_eq!(line.as_deref(), Some("spilled"), "{detail}");
    player.kill();
}

/// What stock SQLite may be asked to do with a file. Each attempt has its own connection.
const ATTEMPTS: [&str; 8] = [
    "SELECT * FROM t",
    "PRAGMA integrity_check",
    "CREATE TABLE u(a)",
    "PRAGMA journal_mode=DELETE",
    "PRAGMA journal_mode=WAL",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "VACUUM",
    "PRAGMA user_version=1",
];

fn expect_refused(failure: &Failure, what: &str) {
    let code = failure.code & 0xff;
    assert!(
        code == SQLITE_NOTADB || code == SQLITE_CANTOPEN,
        "{what}: {failure:?}"
    );
}

/// The database with its journal and log.
fn files(room: &Room, name: &str) -> Vec<Option<Vec<u8>>> {
    ["", "-journal", "-wal"]
        .map(|suffix| std::fs::read(with_suffix(&room.path(name), suffix)).ok())
        .to_vec()
}

fn stock_attempts(room: &Room, name: &str, what: &str) {
    for locking in ["NORMAL", "EXCLUSIVE"] {
        for sql in ATTEMPTS {
            let stock = open_stock(room, name);
            stock
                .execute_batch(&format!("PRAGMA locking_mode={locking}"))
                .expect("a setting");
            expect_refused(&failure(&stock, sql), &format!("{what}: {sql}"));
            checkpoint(&stock);
        }
    }
}

/// A checkpoint by the interface of C, which asks for no schema; its outcome does not matter.
fn checkpoint(connection: &Connection) {
    // SAFETY: the handle is that of an open connection, and the other pointers may be null.
    unsafe {
        rusqlite::ffi::sqlite3_wal_checkpoint_v2(
            connection.handle(),
            std::ptr::null(),
            rusqlite::ffi::SQLITE_CHECKPOINT_TRUNCATE,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
    }
}

/// Everything that was committed is there, and nothing else.
fn check(connection: &Connection, what: &str) {
    assert_eq!(read_rows(connection, "t").expect(what), ROWS, "{what}");
    let undone = "SELECT count(*) FROM t WHERE b LIKE '1-%'";
    assert_eq!(text(connection, undone), "0", "{what}");
    assert_eq!(text(connection, "SELECT a FROM committed"), "1", "{what}");
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok", "{what}");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok", "{what}");
}

#[test]
fn stock_sqlite_destroys_nothing_after_a_crash() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        for page_size in [512, PAGE_SIZE] {
            for sync in ["full", "off"] {
                let what = format!("{mode} {page_size} {sync}");
                let room = Room::new();
                killed(&room, "x.db", &what);
                let before = files(&room, "x.db");
                let side = if mode == "wal" { 2 } else { 1 };
                assert!(before[side].as_ref().is_some_and(|bytes| bytes.len() > 512));
                stock_attempts(&room, "x.db", &what);
                assert!(files(&room, "x.db") == before, "{what}: a file has changed");
                check(&room.open("x.db"), &what);
            }
        }
    }
}

/// A journal that was kept has nothing to undo, to either of them.
#[test]
fn stock_sqlite_leaves_a_journal_that_was_kept() {
    for mode in ["persist", "truncate"] {
        let room = Room::new();
        let connection = room.open("x.db");
        connection
            .execute_batch(&format!("PRAGMA journal_mode={mode}"))
            .expect("a setting");
        common::files::fill(&connection, "t", ROWS);
        connection
            .execute_batch("CREATE TABLE committed(a); INSERT INTO committed VALUES(1)")
            .expect("commits");
        drop(connection);
        let before = files(&room, "x.db");
        stock_attempts(&room, "x.db", mode);
        assert!(files(&room, "x.db") == before, "{mode}");
        check(&room.open("x.db"), mode);
    }
}

/// The index of the log in shared memory holds as long as anyone has it open. Stock SQLite that has
/// it open goes by it when it closes the file as the last one.
#[test]
fn stock_sqlite_that_closes_the_file_last_destroys_nothing() {
    for page_size in [512, 1024, PAGE_SIZE] {
        for is_killed in [false, true] {
            let what = format!("{page_size}, killed: {is_killed}");
            let room = Room::new();
            let detail = format!("wal {page_size} full");
            let mut player = Player::start("writer", "writer", &room.uri("x.db", ""), &detail);
            assert_eq!(player.line().as_deref(), Some("spilled"), "{what}");
            let stock = open_stock(&room, "x.db");
            expect_refused(&failure(&stock, "SELECT * FROM t"), &what);
            if is_killed {
                player.kill();
            } else {
                player.send("end");
                player.finish();
            }
            checkpoint(&stock);
            drop(stock);
            check(&room.open("x.db"), &what);
        }
    }
}

/// The journal of a plain database is stock SQLite's, also while that database is being created.
#[test]
fn a_plain_database_that_was_cut_short_in_its_creation_is_rolled_back_by_stock_sqlite() {
    let room = Room::new();
    let connection = common::files::open(&room, "plain.db", "&plain=on");
    connection
        .execute_batch("PRAGMA cache_size=2; BEGIN; CREATE TABLE t(a)")
        .expect("begins");
    let insert = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000)
                  INSERT INTO t SELECT i FROM n";
    connection.execute_batch(insert).expect("spills");
    copy_database(&room.path("plain.db"), &room.path("image.db"));
    let size = |name: &str| room.path(name).metadata().expect("there").len();
    assert!(size("image.db") > 4096 && size("image.db-journal") > 0);
    let stock = open_stock(&room, "image.db");
    let tables = "SELECT count(*) FROM sqlite_schema";
    assert_eq!(text(&stock, tables), "0");
    assert_eq!(text(&stock, "PRAGMA integrity_check"), "ok");
    assert_eq!(size("image.db"), 0);
}
