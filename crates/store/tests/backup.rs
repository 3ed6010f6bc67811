//! Backups of a database while others write to it.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use keyring::Credential;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::KeyToken;
use store::backup::backup_file;
use store::convert::{ConvertError, Overwrite};
use store::database::{Access, OpenError, open_encrypted};
use store::progress::{Decision, Phase, Progress, ignored};
use support::Room;

/// A writer commits during the copy: the copy has both numbers of a transaction, or none.
#[test]
fn a_backup_is_a_snapshot_while_a_writer_goes_on() {
    for (mode, goes_on) in [("WAL", true), ("DELETE", false)] {
        let room = Room::new();
        let connection = room.make("x.db");
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode={mode};
                 CREATE TABLE first(n); CREATE TABLE large AS
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
                 SELECT zeroblob(1000000) FROM n;
                 CREATE TABLE last(n);
                 INSERT INTO first VALUES(0); INSERT INTO last VALUES(0);"
            ))
            .unwrap();
        let written = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&written);
        let writer = std::sync::Mutex::new(connection);
        // Called between the steps of the copy, by the thread that copies.
        let progress: Progress = Arc::new(move |step| {
            if step.phase == Phase::Copying && step.done < step.total {
                let writer = writer.lock().unwrap();
                writer.busy_timeout(Duration::ZERO).unwrap();
                let n = counted.load(Ordering::Relaxed) + 1;
                let both = format!(
                    "BEGIN IMMEDIATE; UPDATE first SET n = {n}; UPDATE last SET n = {n}; COMMIT"
                );
                match writer.execute_batch(&both) {
                    Ok(()) => {
                        counted.store(n, Ordering::Relaxed);
                    }
                    Err(_) => writer.execute_batch("ROLLBACK").unwrap(),
                }
            }
            Decision::GoOn
        });
        let target = room.path("copy.db");
        let source = room.path("x.db");
        let never = Overwrite::Never;
        backup_file(&source, &room.token, &target, &room.token, never, &progress).unwrap();
        assert_eq!(written.load(Ordering::Relaxed) > 0, goes_on, "{mode}");
        drop(progress);
        let copy = room.open("copy.db");
        let numbers: (i64, i64) = copy
            .query_row("SELECT first.n, last.n FROM first, last", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(numbers, (0, 0), "{mode}");
        drop(copy);
        assert_eq!(room.names(), ["copy.db", "x.db"]);
    }
}

#[test]
fn a_backup_under_another_key_opens_with_that_only() {
    let room = Room::new();
    drop(room.make("x.db"));
    let other = KeyToken::new(Credential::raw_key(keyring::random_key().unwrap()));
    let (source, target) = (room.path("x.db"), room.path("copy.db"));
    let never = Overwrite::Never;
    backup_file(&source, &room.token, &target, &other, never, &ignored()).unwrap();
    let copy = open_encrypted(&target, Access::Read, Some(&other), None).unwrap();
    let count: i64 = copy
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 200);
    let refused = open_encrypted(&target, Access::Read, Some(&room.token), None);
    assert!(matches!(refused, Err(OpenError::WrongKey { .. })));
    let again = backup_file(&source, &room.token, &target, &other, never, &ignored());
    assert!(matches!(again, Err(ConvertError::Exists(_))), "{again:?}");
}

#[test]
fn stopping_or_a_bad_page_leaves_no_backup() {
    let room = Room::new();
    drop(room.make("x.db"));
    let (source, target) = (room.path("x.db"), room.path("copy.db"));
    let never = Overwrite::Never;
    for phase in [Phase::Copying, Phase::Checking] {
        let progress: Progress = Arc::new(move |step| match step.phase == phase {
            true => Decision::Stop,
            false => Decision::GoOn,
        });
        let stopped = backup_file(&source, &room.token, &target, &room.token, never, &progress);
        assert!(matches!(stopped, Err(ConvertError::Stopped)), "{stopped:?}");
        assert_eq!(room.names(), ["x.db"]);
    }
    support::edit(&source, |bytes| bytes[support::page_offset(9) + 5] ^= 1);
    let before = fs::read(&source).unwrap();
    let failed = backup_file(
        &source,
        &room.token,
        &target,
        &room.token,
        never,
        &ignored(),
    );
    assert!(failed.unwrap_err().to_string().contains("page 9"));
    assert_eq!(room.names(), ["x.db"]);
    assert_eq!(fs::read(&source).unwrap(), before);
}
