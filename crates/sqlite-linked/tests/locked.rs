//! A process without the key can do no harm: a hot journal or log is left for one that has it.

mod common;

use common::{Room, text};

/// Copies a database in the middle of a transaction that has spilled into the file, as a power cut
/// would leave it.
fn interrupted(room: &Room, mode: &str) {
    let connection = room.open("live.db");
    text(&connection, &format!("PRAGMA journal_mode={mode}"));
    connection
        .execute_batch(
            "PRAGMA cache_size=5;
             CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<500)
             INSERT INTO t SELECT i, printf('%0500d', i) FROM n;
             BEGIN;
             UPDATE t SET b = 'changed' || b;",
        )
        .expect("writes");
    for suffix in ["", "-journal", "-wal"] {
        let from = room.path(&format!("live.db{suffix}"));
        if from.exists() {
            std::fs::copy(from, room.path(&format!("copy.db{suffix}"))).expect("copies");
        }
    }
    connection.execute_batch("ROLLBACK").expect("rolls back");
}

#[test]
fn a_journal_or_log_waits_for_the_key() {
    for (mode, suffix) in [
        ("delete", "-journal"),
        ("persist", "-journal"),
        ("wal", "-wal"),
    ] {
        let room = Room::new();
        interrupted(&room, mode);
        let database = room.path("copy.db");
        let journal = room.path(&format!("copy.db{suffix}"));
        let before = (
            std::fs::read(&database).expect("readable"),
            std::fs::read(&journal).expect("there is a journal"),
        );
        for key in ["", "&key_file=other-key"] {
            let uri = format!("file:{}?vfs=strongroom{key}", database.display());
            let uri = uri.replace("other-key", &room.path("other-key").display().to_string());
            let connection = common::open_uri(&uri);
            let error = connection
                .query_row("SELECT count(*) FROM t", [], |_| Ok(()))
                .expect_err("there is no key");
            assert_eq!(
                error.sqlite_error_code(),
                Some(rusqlite::ErrorCode::NotADatabase),
                "{mode}: {error}"
            );
            connection
                .execute_batch("DELETE FROM t")
                .expect_err("there is no key");
        }
        let after = (
            std::fs::read(&database).expect("readable"),
            std::fs::read(&journal).expect("still there"),
        );
        assert!(before == after, "{mode}: no byte was changed");
        let connection = room.open("copy.db");
        assert_eq!(
            text(
                &connection,
                "SELECT count(*) FROM t WHERE b LIKE 'changed%'"
            ),
            "0"
        );
        assert_eq!(text(&connection, "SELECT count(*) FROM t"), "500");
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
        assert_eq!(text(&connection, "PRAGMA strongroom_verify"), "ok");
    }
}
