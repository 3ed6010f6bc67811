//! Creating, reading and being refused: what a user tries first.

mod common;

use common::{Room, file_contains, last_error, text};

const CANARY: &str = "the canary sang at dawn, plainly";

#[test]
fn written_rows_are_read_back_and_are_nowhere_in_clear() {
    let room = Room::new();
    for mode in ["delete", "truncate", "persist", "memory", "wal", "off"] {
        let name = format!("{mode}.db");
        let connection = room.open(&name);
        assert_eq!(
            text(&connection, &format!("PRAGMA journal_mode={mode}")),
            mode
        );
        connection
            .execute_batch(&format!(
                "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000)
                 INSERT INTO t SELECT i, '{CANARY}' || i FROM n;
                 UPDATE t SET b = b || '!' WHERE a % 3 = 0;"
            ))
            .unwrap_or_else(|error| panic!("{mode}: {error}: {}", last_error(&connection)));
        for path in room.files() {
            assert!(!file_contains(&path, b"canary"), "{}", path.display());
            assert!(
                !file_contains(&path, b"SQLite format"),
                "{}",
                path.display()
            );
        }
        drop(connection);
        let connection = room.open(&name);
        assert_eq!(
            text(
                &connection,
                "SELECT count(*) FROM t WHERE b LIKE '%canary%'"
            ),
            "2000"
        );
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
        assert_eq!(text(&connection, "PRAGMA strongroom_verify"), "ok");
    }
}
