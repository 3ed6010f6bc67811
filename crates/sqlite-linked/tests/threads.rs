//! Threads of one process: with separate connections, with one that is handed on, with one used by
//! all, and with a shared cache.

mod common;

use std::sync::Mutex;

use common::{Room, last_error, text};
use rusqlite::{Connection, ErrorCode, OpenFlags};

const THREADS: usize = 8;
const ROUNDS: usize = 30;

fn run(connection: &Connection, sql: &str) {
    loop {
        match connection.execute_batch(sql) {
            Ok(()) => return,
            // A shared cache has table locks, which SQLite does not wait for.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseLocked) => {
                std::thread::yield_now();
            }
            Err(error) => panic!("{sql}: {error}; {}", last_error(connection)),
        }
    }
}

/// A table whose rows all hold the same number at any time.
fn create(room: &Room, mode: &str) {
    let connection = room.open("x.db");
    text(&connection, &format!("PRAGMA journal_mode={mode}"));
    run(
        &connection,
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b, c);
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<50)
         INSERT INTO t SELECT i, 0, printf('%.*c', 900, 'x') FROM n",
    );
}

fn open(room: &Room, more: OpenFlags) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | more;
    let connection = Connection::open_with_flags(room.uri("x.db", ""), flags).expect("opens");
    run(
        &connection,
        "PRAGMA busy_timeout=60000; PRAGMA synchronous=OFF; PRAGMA cache_size=6",
    );
    connection
}

fn write_and_look(connection: &Connection) {
    run(connection, "UPDATE t SET b = b + 1");
    look(connection);
}

fn look(connection: &Connection) {
    loop {
        let found = connection.query_row("SELECT min(b) = max(b) FROM t", [], |row| row.get(0));
        match found {
            Ok(same) => {
                let same: bool = same;
                return assert!(same, "half a transaction");
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseLocked) => {
                std::thread::yield_now();
            }
            Err(error) => panic!("{error}; {}", last_error(connection)),
        }
    }
}

fn assert_result(room: &Room, rounds: usize) {
    let connection = room.open("x.db");
    assert_eq!(
        text(&connection, "SELECT max(b) FROM t"),
        rounds.to_string()
    );
    look(&connection);
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(&connection, "PRAGMA strongroom_verify"), "ok");
}

#[test]
fn threads_have_separate_connections() {
    let kinds = [
        OpenFlags::SQLITE_OPEN_NO_MUTEX,
        OpenFlags::SQLITE_OPEN_FULL_MUTEX,
        OpenFlags::SQLITE_OPEN_FULL_MUTEX | OpenFlags::SQLITE_OPEN_SHARED_CACHE,
    ];
    for mode in ["delete", "wal"] {
        for kind in kinds {
            let room = Room::new();
            create(&room, mode);
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        let connection = open(&room, kind);
                        (0..ROUNDS).for_each(|_| write_and_look(&connection));
                    });
                }
            });
            assert_result(&room, THREADS * ROUNDS);
        }
    }
}

#[test]
fn one_connection_is_handed_from_thread_to_thread() {
    for mode in ["delete", "wal"] {
        let room = Room::new();
        create(&room, mode);
        let mut connection = open(&room, OpenFlags::SQLITE_OPEN_NO_MUTEX);
        run(&connection, "BEGIN IMMEDIATE");
        for _ in 0..THREADS {
            // The open transaction and the file's locks move along.
            connection = std::thread::spawn(move || {
                write_and_look(&connection);
                connection
            })
            .join()
            .expect("no panic");
        }
        run(&connection, "COMMIT");
        std::thread::spawn(move || drop(connection))
            .join()
            .expect("closes in another thread");
        assert_result(&room, THREADS);
    }
}

#[test]
fn threads_take_turns_on_one_connection() {
    for mode in ["delete", "wal"] {
        let room = Room::new();
        create(&room, mode);
        let shared = Mutex::new(open(&room, OpenFlags::SQLITE_OPEN_FULL_MUTEX));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        write_and_look(&shared.lock().expect("no panic"));
                    }
                });
            }
        });
        drop(shared);
        assert_result(&room, THREADS * ROUNDS);
    }
}

/// Keys change and rotate under connections that write in other threads.
#[test]
fn keys_change_under_threads_that_write() {
    for mode in ["delete", "wal"] {
        let room = Room::new();
        create(&room, mode);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let connection = open(&room, OpenFlags::SQLITE_OPEN_NO_MUTEX);
                    (0..ROUNDS).for_each(|_| write_and_look(&connection));
                });
            }
            scope.spawn(|| {
                let connection = open(&room, OpenFlags::SQLITE_OPEN_NO_MUTEX);
                let raw = "44".repeat(32);
                for _ in 0..ROUNDS {
                    look(&connection);
                    // Busy is a result here.
                    for sql in [
                        &format!("PRAGMA strongroom_key_add=\"x'{raw}'\""),
                        "PRAGMA strongroom_key_remove='1'",
                        "PRAGMA strongroom_rotate='start'",
                        "PRAGMA strongroom_rotate='20'",
                    ] {
                        let _ = connection.query_row(sql, [], |_| Ok(()));
                    }
                }
            });
        });
        assert_result(&room, 3 * ROUNDS);
    }
}
