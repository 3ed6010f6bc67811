//! Another VFS stacked above Strongroom's: no plaintext in any file, and nothing lost.

mod common;
#[path = "common/upper_vfs.rs"]
mod upper_vfs;

use common::images::copy_database;
use common::{Room, file_contains, open_uri, text};
use rusqlite::Connection;
use upper_vfs::{Manner, register};

const MARKER: &str = "no-one-reads-this-text";

const PASSES_ALL: Manner = Manner {
    copies_names: false,
    keeps_controls: false,
    reads_at_open: false,
};

fn uri(room: &Room, name: &str, vfs: &str) -> String {
    room.uri(name, "")
        .replace("vfs=strongroom", &format!("vfs={vfs}"))
}

fn open(room: &Room, vfs: &str, manner: Manner) -> Connection {
    register(vfs, manner);
    open_uri(&uri(room, "x.db", vfs))
}

/// Leaves a transaction open that has spilled into the files, after one that is committed.
fn use_database(connection: &Connection, mode: &str) {
    text(connection, &format!("PRAGMA journal_mode={mode}"));
    connection
        .execute_batch(&format!(
            "PRAGMA cache_size=3; CREATE TABLE t(a INTEGER PRIMARY KEY, b);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
             INSERT INTO t SELECT i, '{MARKER}' || i || hex(zeroblob(200)) FROM n;
             BEGIN; UPDATE t SET b = 'not {MARKER} ' || b"
        ))
        .unwrap_or_else(|error| panic!("{mode}: {error}; {}", common::last_error(connection)));
}

#[test]
fn journals_and_logs_are_sealed_and_played_back_under_another_vfs() {
    for (index, copies_names) in [false, true].into_iter().enumerate() {
        for mode in ["delete", "truncate", "persist", "wal"] {
            let room = Room::new();
            let vfs = format!("upper-{mode}-{index}");
            let manner = Manner {
                copies_names,
                ..PASSES_ALL
            };
            let connection = open(&room, &vfs, manner);
            use_database(&connection, mode);
            let files = room.files();
            assert!(files.len() > 1, "a journal or a log is there: {files:?}");
            for path in &files {
                assert!(
                    !file_contains(path, MARKER.as_bytes()),
                    "{}",
                    path.display()
                );
            }
            // What would be found if the process died now, with and without the other VFS.
            for opener in ["strongroom", &vfs] {
                let name = format!("image-{opener}.db");
                copy_database(&room.path("x.db"), &room.path(&name));
                let image = open_uri(&uri(&room, &name, opener));
                let count = text(
                    &image,
                    &format!("SELECT count(*) FROM t WHERE b LIKE '{MARKER}%'"),
                );
                assert_eq!(count, "200", "{mode} {opener}");
                assert_eq!(text(&image, "PRAGMA integrity_check"), "ok");
                assert_eq!(text(&image, "PRAGMA strongroom_verify"), "ok");
            }
            connection.execute_batch("COMMIT").expect("commits");
            drop(connection);
            let again = room.open("x.db");
            assert_eq!(text(&again, "PRAGMA integrity_check"), "ok");
        }
    }
}

#[test]
fn a_vfs_may_read_the_database_when_it_opens_it() {
    for more in ["", "&mmap=off"] {
        let room = Room::new();
        room.open("x.db")
            .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(20000))")
            .expect("creates");
        register(
            "upper-reading",
            Manner {
                reads_at_open: true,
                ..PASSES_ALL
            },
        );
        let connection = open_uri(&(uri(&room, "x.db", "upper-reading") + more));
        connection
            .execute_batch("INSERT INTO t VALUES(1)")
            .expect("writes");
        assert_eq!(text(&connection, "SELECT count(*) FROM t"), "2");
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    }
}

#[test]
fn attached_databases_take_the_key_under_another_vfs() {
    let room = Room::new();
    let connection = open(&room, "upper-attach", PASSES_ALL);
    let other = room.path("other.db");
    let attach = format!(
        "CREATE TABLE t(a); ATTACH 'file:{}?vfs=upper-attach' AS other;
         CREATE TABLE other.u(b); INSERT INTO other.u VALUES('{MARKER}')",
        other.display()
    );
    connection.execute_batch(&attach).expect("attaches");
    drop(connection);
    assert!(!file_contains(&other, MARKER.as_bytes()));
    assert_eq!(text(&room.open("other.db"), "SELECT b FROM u"), MARKER);
}

#[test]
fn two_connections_under_a_vfs_that_copies_names_are_distinguished_or_refused() {
    let room = Room::new();
    let manner = Manner {
        copies_names: true,
        ..PASSES_ALL
    };
    let first = open(&room, "upper-two", manner);
    first.execute_batch("CREATE TABLE t(a)").expect("creates");
    let second = open_uri(&uri(&room, "x.db", "upper-two"));
    for connection in [&first, &second, &first] {
        connection
            .execute_batch("INSERT INTO t VALUES(1)")
            .expect("writes by a journal of its own");
    }
    assert_eq!(text(&second, "SELECT count(*) FROM t"), "3");
    // It is unknown which of two connections opens a log.
    let _ = first.query_row("PRAGMA journal_mode=wal", [], |_| Ok(()));
    let refused = first.execute_batch("INSERT INTO t VALUES(1)");
    assert!(
        refused.is_err_and(|error| error.to_string().contains("unable to open")),
        "a log without an owner is not written"
    );
    drop((first, second));
    let alone = open_uri(&uri(&room, "x.db", "upper-two"));
    alone
        .execute_batch("INSERT INTO t VALUES(1)")
        .expect("writes to the log");
    assert_eq!(text(&alone, "SELECT count(*) FROM t"), "4");
    for path in room.files() {
        assert!(!file_contains(&path, b"CREATE TABLE"), "{}", path.display());
    }
}

#[test]
fn a_vfs_that_keeps_file_controls_to_itself_is_refused() {
    let room = Room::new();
    room.open("x.db")
        .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
        .expect("creates");
    let manner = Manner {
        keeps_controls: true,
        ..PASSES_ALL
    };
    let connection = open(&room, "upper-silent", manner);
    for sql in ["SELECT * FROM t", "CREATE TABLE u(a)"] {
        assert!(connection.execute_batch(sql).is_err(), "{sql}");
    }
    drop(connection);
    assert_eq!(text(&room.open("x.db"), "SELECT count(*) FROM t"), "1");
}
