//! Verification of whole files: every page, the end, the log, and the fingerprint.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use std::fs;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use store::progress::ignored;
use store::verify::{Report, VerifyError, VerifyOptions, verify};
use support::{PAGE_SIZE, REGION_SIZE, Room, edit, page_offset};

fn check(room: &Room, options: VerifyOptions) -> Result<Report, VerifyError> {
    verify(&room.path("x.db"), &room.token, options, &ignored())
}

fn jobs(count: usize) -> VerifyOptions {
    VerifyOptions {
        jobs: NonZeroUsize::new(count),
        ..VerifyOptions::default()
    }
}

fn plainly(room: &Room) -> Report {
    check(room, VerifyOptions::default()).unwrap()
}

fn with_fingerprint(count: usize) -> VerifyOptions {
    VerifyOptions {
        fingerprint: true,
        ..jobs(count)
    }
}

fn fingerprint(room: &Room) -> String {
    let report = check(room, with_fingerprint(1)).unwrap();
    assert!(report.is_sound(), "{report:?}");
    report.fingerprint.unwrap()
}

/// The number of pages in a file of this size.
fn pages_of(bytes: usize) -> usize {
    (bytes - REGION_SIZE) / PAGE_SIZE
}

#[test]
fn any_number_of_jobs_finds_the_same_pages() {
    let room = Room::new();
    // More than one range of pages, so that every connection has work.
    room.make("x.db")
        .execute_batch(
            "CREATE TABLE large AS
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
             SELECT zeroblob(1000000) FROM n;",
        )
        .unwrap();
    let pages = pages_of(fs::read(room.path("x.db")).unwrap().len());
    assert!(pages > 2 * 2048, "{pages}");
    let bad = [1, 2, 7, 2048, 2049, pages];
    edit(&room.path("x.db"), |bytes| {
        for page in bad {
            bytes[page_offset(page) + 11] ^= 1;
        }
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
    });
    for count in [1, 2, 5] {
        for options in [jobs(count), with_fingerprint(count)] {
            let report = check(&room, options).unwrap();
            assert_eq!(report.checked, pages as u64);
            let found: Vec<usize> = report.bad.iter().map(|bad| bad.page as usize).collect();
            assert_eq!(found, bad, "{count} jobs");
            assert!(report.bad[0].reason.contains("damaged or altered"));
            assert!(report.bad[5].reason.contains("key epoch"), "{report:?}");
            assert_eq!(report.fingerprint, None);
        }
    }
}

#[test]
fn a_file_without_its_last_pages_is_not_sound() {
    let room = Room::new();
    drop(room.make("x.db"));
    let whole = fs::read(room.path("x.db")).unwrap();
    let pages = pages_of(whole.len()) as u64;
    fs::write(room.path("x.db"), &whole[..whole.len() - 3 * PAGE_SIZE]).unwrap();
    let report = plainly(&room);
    assert_eq!((report.checked, report.pages_missing), (pages - 3, 3));
    assert!(report.bad.is_empty() && !report.is_sound());
    let report = check(&room, with_fingerprint(1)).unwrap();
    assert_eq!(report.fingerprint, None);

    fs::write(room.path("x.db"), &whole[..whole.len() - 1]).unwrap();
    let report = plainly(&room);
    assert_eq!((report.bad[0].page, report.pages_missing), (pages, 0));
    assert!(report.bad[0].reason.contains("ends in the middle"));
}

/// Follows the text of `docs/page-format.md`, section 9, and uses no code of the product.
#[test]
fn the_fingerprint_is_the_documented_one() {
    let room = Room::new();
    drop(room.make("x.db"));
    let bytes = fs::read(room.path("x.db")).unwrap();
    let generation = |copy: usize| {
        let field = &bytes[copy * 4096 + 40..][..8];
        u64::from_le_bytes(field.try_into().unwrap())
    };
    let copy = usize::from(generation(1) > generation(0));
    let mut hashed = b"strongroom fingerprint 1".to_vec();
    hashed.extend_from_slice(&bytes[copy * 4096..][..4064]);
    let pages = pages_of(bytes.len());
    hashed.extend_from_slice(&(pages as u64).to_le_bytes());
    for page in 1..=pages {
        hashed.extend_from_slice(&bytes[page_offset(page + 1) - 32..page_offset(page + 1)]);
    }
    let expected: String = crypto::mac::checksum(&hashed)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    for count in [1, 2, 3] {
        let report = check(&room, with_fingerprint(count)).unwrap();
        assert_eq!(report.fingerprint.as_deref(), Some(&expected[..]));
    }
    assert_eq!(fs::read(room.path("x.db")).unwrap(), bytes);
    assert_eq!(room.names(), ["x.db"]);
}

#[test]
fn only_the_fingerprint_detects_old_content() {
    let room = Room::new();
    let connection = room.make("x.db");
    let added = store::keys::add(
        &connection,
        &store::KeyToken::new(keyring::Credential::raw_key(keyring::random_key().unwrap())),
    );
    let older = fs::read(room.path("x.db")).unwrap();
    let older_fingerprint = fingerprint(&room);
    store::keys::remove(&connection, added.unwrap().unwrap()).unwrap();
    connection
        .execute_batch("UPDATE t SET b = hex(zeroblob(1499)) || '07' WHERE a IN (100, 150)")
        .unwrap();
    drop(connection);
    let newer = fs::read(room.path("x.db")).unwrap();
    let expected = fingerprint(&room);
    assert_ne!(expected, older_fingerprint);

    let changed: Vec<usize> = (1..=pages_of(newer.len()))
        .filter(|page| {
            let range = page_offset(*page)..page_offset(page + 1);
            older[range.clone()] != newer[range]
        })
        .collect();
    assert!(changed.len() > 2, "{changed:?}");
    for page in changed {
        edit(&room.path("x.db"), |bytes| {
            let range = page_offset(page)..page_offset(page + 1);
            bytes[range.clone()].copy_from_slice(&older[range]);
        });
        assert!(plainly(&room).is_sound(), "page {page}");
        assert_ne!(fingerprint(&room), expected, "page {page}");
        fs::write(room.path("x.db"), &newer).unwrap();
    }
    // A header that contains the removed key again.
    edit(&room.path("x.db"), |bytes| {
        bytes[..REGION_SIZE].copy_from_slice(&older[..REGION_SIZE]);
    });
    assert_eq!(store::keys::list(&room.open("x.db")).unwrap().len(), 2);
    assert!(plainly(&room).is_sound());
    assert_ne!(fingerprint(&room), expected);
    // The whole file.
    fs::write(room.path("x.db"), &older).unwrap();
    assert!(plainly(&room).is_sound());
    assert_eq!(fingerprint(&room), older_fingerprint);
    fs::write(room.path("x.db"), &newer).unwrap();
    assert_eq!(fingerprint(&room), expected);
}

#[test]
fn content_in_the_log_has_no_fingerprint_until_it_is_in_the_file() {
    let room = Room::new();
    let connection = room.make("x.db");
    connection
        .query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
        .unwrap();
    let before = fingerprint(&room);
    connection
        .execute_batch("UPDATE t SET b = 'x' WHERE a = 100")
        .unwrap();
    let file = fs::read(room.path("x.db")).unwrap();
    let log = fs::read(room.path("x.db-wal")).unwrap();
    let refused = check(&room, with_fingerprint(2));
    assert!(
        matches!(refused, Err(VerifyError::ContentInLog(_))),
        "{refused:?}"
    );
    let report = plainly(&room);
    assert!(report.is_sound());
    assert!(report.log.unwrap().committed > 0);
    assert_eq!(fs::read(room.path("x.db")).unwrap(), file);
    assert_eq!(fs::read(room.path("x.db-wal")).unwrap(), log);

    let options = VerifyOptions {
        checkpoint: true,
        ..with_fingerprint(2)
    };
    let after = check(&room, options).unwrap().fingerprint.unwrap();
    assert_ne!(after, before);
    // The file without its log.
    drop(connection);
    assert_eq!(fingerprint(&room), after);
    assert_eq!(room.names(), ["x.db"]);
}

#[test]
fn a_damaged_frame_is_found_unless_it_ends_the_log() {
    let room = Room::new();
    let connection = room.make("x.db");
    connection
        .query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
        .unwrap();
    for row in [10, 90, 150] {
        connection
            .execute("UPDATE t SET b = 'x' WHERE a = ?1", [row])
            .unwrap();
    }
    let frames = plainly(&room).log.unwrap().committed;
    assert_eq!(frames, 3);
    let flip = |frame: u64| {
        edit(&room.path("x.db-wal"), |bytes| {
            bytes[32 + frame as usize * (24 + PAGE_SIZE) + 24 + 5] ^= 1;
        });
    };
    flip(1);
    let report = plainly(&room);
    let log = report.log.clone().unwrap();
    assert_eq!((log.committed, log.bad), (frames, vec![1]));
    assert!(report.bad.is_empty() && !report.is_sound());
    flip(1);
    flip(frames - 1);
    let report = plainly(&room);
    let log = report.log.clone().unwrap();
    assert_eq!(log.committed + log.behind, frames);
    assert!(log.behind > 0 && report.is_sound(), "{report:?}");
    flip(frames - 1);
    drop(connection);
}

#[test]
fn writers_and_checkpoints_make_no_page_look_bad() {
    for mode in ["WAL", "DELETE", "TRUNCATE"] {
        let room = Room::new();
        let connection = room.make("x.db");
        connection
            .query_row(&format!("PRAGMA journal_mode={mode}"), [], |_| Ok(()))
            .unwrap();
        connection
            .busy_timeout(std::time::Duration::from_secs(20))
            .unwrap();
        let finished = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let finished = &finished;
            scope.spawn(move || {
                for round in 0..11 {
                    connection
                        .execute_batch(&format!(
                            "UPDATE t SET b = hex(zeroblob({})) WHERE a % 3 = {};
                             PRAGMA wal_checkpoint;",
                            1000 + 40 * round,
                            round % 3
                        ))
                        .unwrap();
                    if round % 5 == 0 {
                        let sizes = "DELETE FROM t WHERE a > 150; VACUUM; \
                             INSERT INTO t SELECT a + 150, b FROM t WHERE a <= 50;";
                        connection.execute_batch(sizes).unwrap();
                    }
                }
                finished.store(true, Ordering::Release);
            });
            for count in [1, 2].iter().cycle() {
                let last = finished.load(Ordering::Acquire);
                let report = check(&room, jobs(*count)).unwrap();
                assert!(report.is_sound(), "{mode}: {report:?}");
                if last {
                    break;
                }
            }
        });
    }
}

#[test]
fn a_rotation_under_way_is_sound_and_has_no_fingerprint() {
    for mode in ["WAL", "DELETE"] {
        let room = std::sync::Arc::new(Room::new());
        drop(room.make("x.db"));
        let connection = room.open("x.db");
        connection
            .query_row(&format!("PRAGMA journal_mode={mode}"), [], |_| Ok(()))
            .unwrap();
        // More than one step of a rotation.
        connection
            .execute_batch(
                "CREATE TABLE large AS
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12)
                 SELECT zeroblob(1000000) FROM n;",
            )
            .unwrap();
        drop(connection);
        let before = fingerprint(&room);
        let looks = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (looked, inside) = (std::sync::Arc::clone(&looks), std::sync::Arc::clone(&room));
        // Called between the steps of the rotation, by the thread that rotates.
        let progress: store::progress::Progress = std::sync::Arc::new(move |step| {
            if step.done < step.total && step.phase == store::progress::Phase::Resealing {
                looked.fetch_add(1, Ordering::Relaxed);
                assert!(check(&inside, jobs(2)).unwrap().is_sound());
                let refused = check(&inside, with_fingerprint(2));
                assert!(
                    matches!(refused, Err(VerifyError::Rotating(_))),
                    "{refused:?}"
                );
            }
            store::progress::Decision::GoOn
        });
        let options = store::rotate::RotateOptions::default();
        store::rotate::rotate(&room.path("x.db"), &room.token, options, &progress).unwrap();
        assert!(looks.load(Ordering::Relaxed) > 0, "{mode}");
        assert_ne!(fingerprint(&room), before, "{mode}");
    }
}
