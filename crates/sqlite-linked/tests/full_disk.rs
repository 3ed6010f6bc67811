//! A full disk: the transaction fails, and nothing else does.
//!
//! A limit on the size of files simulates it, which the system enforces in the middle of a write as
//! it does for a full disk.
#![cfg(unix)]

mod common;

use std::process::Command;

use common::files::{is_inside, own_process};
use common::{Room, last_error, text};
use rusqlite::Connection;

const ROWS: i64 = 400;
const MODES: [&str; 5] = ["delete", "truncate", "persist", "memory", "wal"];
/// Too few pages for a transaction, so that it spills; and enough for all of it.
const CACHE_SIZES: [u32; 2] = [5, 2000];
/// Space beyond the database, in the 512-byte blocks of `ulimit -f`: from none to some pages.
const BLOCKS_MORE: [u64; 3] = [0, 8, 100];

/// The variable that names the database for the child process.
const DATABASE: &str = "STRONGROOM_TEST_DATABASE";
const MODE: &str = "STRONGROOM_TEST_MODE";
const CACHE_SIZE: &str = "STRONGROOM_TEST_CACHE_SIZE";

#[test]
fn a_full_disk_costs_the_transaction_and_nothing_else() {
    const NAME: &str = "a_full_disk_costs_the_transaction_and_nothing_else";
    if is_inside(NAME) {
        return inside();
    }
    for mode in MODES {
        for cache_size in CACHE_SIZES {
            for more in BLOCKS_MORE {
                let room = Room::new();
                fill(&room.open("full.db"), mode);
                let size = std::fs::metadata(room.path("full.db"))
                    .expect("there")
                    .len();
                let limit = size / 512 + more;
                let output = limited(&own_process(NAME), limit)
                    .env(DATABASE, room.uri("full.db", ""))
                    .env(MODE, mode)
                    .env(CACHE_SIZE, cache_size.to_string())
                    .output()
                    .expect("runs");
                let output_text = [output.stdout, output.stderr].concat();
                let output_text = String::from_utf8_lossy(&output_text);
                assert!(
                    output.status.success(),
                    "{mode} {cache_size} {more}: {output_text}"
                );
                // Once more with enough space, in another process.
                let connection = room.open("full.db");
                assert_unharmed(&connection, &format!("{mode} {cache_size} {more}, later"));
                connection
                    .execute_batch("UPDATE t SET b = b || '!'")
                    .expect("writes again");
                assert_eq!(text(&connection, "PRAGMA strongroom_verify"), "ok");
            }
        }
    }
}

/// The same command under a limit on the size of the files it writes. The limit's signal is
/// ignored, so that the write returns an error.
fn limited(command: &Command, blocks: u64) -> Command {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\""])
        .arg(blocks.to_string())
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    limited
}

fn fill(connection: &Connection, mode: &str) {
    assert_eq!(
        text(connection, &format!("PRAGMA journal_mode={mode}")),
        mode
    );
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{ROWS})
             INSERT INTO t SELECT i, printf('%0600d', i) FROM n;"
        ))
        .expect("fills");
    if mode == "wal" {
        text(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    }
}

fn inside() {
    let variable = |name: &str| std::env::var(name).expect("set by the outer side");
    let (mode, cache_size) = (variable(MODE), variable(CACHE_SIZE));
    sqlite_linked::register().expect("registers");
    let connection = common::open_uri(&variable(DATABASE));
    text(&connection, &format!("PRAGMA journal_mode={mode}"));
    connection
        .execute_batch(&format!(
            "PRAGMA cache_size={cache_size}; PRAGMA synchronous=OFF"
        ))
        .expect("sets");
    for round in 0..3 {
        let what = format!("{mode} {cache_size}, round {round}");
        // Changes old pages, adds new ones, and reads old ones in between.
        let failed = connection.execute_batch(
            "BEGIN;
             UPDATE t SET b = 'x' || b WHERE a % 3 = 0;
             WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i+1 FROM n WHERE i<4000)
             INSERT INTO t SELECT i, printf('%0600d', i) FROM n;
             SELECT sum(length(b)) FROM t;
             UPDATE t SET b = 'y' || b WHERE a % 5 = 0;
             COMMIT;",
        );
        assert!(failed.is_err(), "{what}: there is no room for this");
        if !connection.is_autocommit() {
            connection
                .execute_batch("ROLLBACK")
                .unwrap_or_else(|error| panic!("{what}: {error}: {}", last_error(&connection)));
        }
        assert_unharmed(&connection, &what);
    }
    roll_back_unnoticed(&connection, &format!("{mode} {cache_size}"));
}

/// Rolls back transactions of all lengths. Some of them end just when the cache has evicted a page
/// that will find no space, before anybody has noticed.
fn roll_back_unnoticed(connection: &Connection, what: &str) {
    for rows in 1..80 {
        let what = format!("{what}, {rows} rows rolled back");
        let written = connection.execute_batch(&format!(
            "BEGIN;
             UPDATE t SET b = 'x' || b WHERE a % 40 = 0;
             WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i+1 FROM n WHERE i<1000+{rows})
             INSERT INTO t SELECT i, printf('%0600d', i) FROM n;"
        ));
        if !connection.is_autocommit() {
            connection
                .execute_batch("ROLLBACK")
                .unwrap_or_else(|error| {
                    panic!("{what}: {written:?}, {error}: {}", last_error(connection))
                });
        }
        assert_unharmed(connection, &what);
    }
}

fn assert_unharmed(connection: &Connection, what: &str) {
    let rows = format!("SELECT count(*) FROM t WHERE b = printf('%0600d', a) AND a <= {ROWS}");
    assert_eq!(text(connection, &rows), ROWS.to_string(), "{what}");
    assert_eq!(
        text(connection, "SELECT count(*) FROM t"),
        ROWS.to_string(),
        "{what}"
    );
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok", "{what}");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok", "{what}");
}
