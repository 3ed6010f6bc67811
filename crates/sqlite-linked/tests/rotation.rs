//! Rotation of the data key of a database in use: everything under the former key is resealed, and
//! then the former key is removed.

mod common;

use std::path::Path;

use common::children::{Part, Player, report};
use common::files::{PAGE_SIZE, edit, fill, page_offset, read_rows};
use common::{Room, last_error, open_uri, text};
use crypto::secret::Key;
use keyring::Credential;
use keyring::slots::{self, Unlocked};
use page_codec::double_write::{Builder, SUFFIX};
use page_codec::header::{Header, HeaderRegion, REGION_SIZE};
use page_codec::page::{PageCodec, PagePlace, trailer_epoch};
use page_codec::wal;
use rusqlite::Connection;

const ROWS: i64 = 500;

fn header_of(path: &Path) -> Header {
    let bytes = std::fs::read(path).expect("readable");
    HeaderRegion::parse(&bytes[..REGION_SIZE])
        .expect("parses")
        .header
}

fn keys_of(path: &Path) -> (Header, Unlocked) {
    let header = header_of(path);
    let credential = Credential::key_file(Key::from_bytes([0x11; 32]));
    let unlocked = slots::unlock(&header, &credential).expect("unlocks");
    (header, unlocked)
}

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}; {}", last_error(connection)));
}

/// The rotation's answer, split into words.
fn rotate(connection: &Connection, value: &str) -> String {
    text(connection, &format!("PRAGMA strongroom_rotate{value}"))
}

/// Like `rotate`, for a log with readers. A reader that finds the index half written takes the
/// log's lock for an instant, and then the rotation must be called again.
fn rotate_among_readers(connection: &Connection) {
    const TRIES: usize = 10_000;
    for _ in 0..TRIES {
        match connection.query_row("PRAGMA strongroom_rotate", [], |_| Ok(())) {
            Ok(()) => return,
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains("try again"), "{message}");
                std::thread::yield_now();
            }
        }
    }
    panic!("{TRIES} tries");
}

/// Tells threads to end, even if their test fails.
struct Over<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

fn finish(connection: &Connection) {
    let mut answer = rotate(connection, "");
    if answer.contains("wal_checkpoint") {
        text(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
        answer = rotate(connection, "=1000");
    }
    assert!(answer.contains("\"state\":\"finished\""), "{answer}");
}

/// Counts the pages of a database file by epoch, and tries to open each, whatever its trailer says.
fn pages(path: &Path, codec: &mut PageCodec) -> (Vec<u32>, usize) {
    let bytes = std::fs::read(path).expect("readable");
    let mut out = vec![0; PAGE_SIZE];
    let mut opened = 0;
    let epochs = (1..)
        .zip(bytes[REGION_SIZE..].chunks_exact(PAGE_SIZE))
        .map(|(number, sealed)| {
            let mut renamed = sealed.to_vec();
            renamed[PAGE_SIZE - 4..].copy_from_slice(&codec.current_epoch().to_le_bytes());
            opened += usize::from(
                codec
                    .open(PagePlace::main(number), &renamed, &mut out)
                    .is_ok(),
            );
            trailer_epoch(sealed)
        })
        .collect();
    (epochs, opened)
}

fn log_epochs(path: &Path) -> Vec<u32> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let frame = wal::frame_size(PAGE_SIZE as u32) as usize;
    let body = bytes.get(wal::HEADER_SIZE as usize..).unwrap_or_default();
    body.chunks_exact(frame).map(trailer_epoch).collect()
}

fn is_sound(connection: &Connection) {
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok");
}

#[test]
fn nothing_stays_readable_with_the_former_key() {
    for mode in ["DELETE", "TRUNCATE", "PERSIST", "MEMORY", "WAL"] {
        let room = Room::new();
        let path = room.path("a.db");
        let connection = room.open("a.db");
        run(&connection, &format!("PRAGMA journal_mode={mode}"));
        fill(&connection, "t", ROWS);
        run(&connection, "UPDATE t SET b = b WHERE a < 50");
        let (header, unlocked) = keys_of(&path);
        let mut former =
            PageCodec::new(header.cipher, header.file_id, 1, &unlocked.epochs).expect("a codec");
        let wrapped = header.epochs[0].clone().expect("an entry").wrapped;
        if mode != "WAL" {
            let (epochs, opened) = pages(&path, &mut former);
            assert_eq!(opened, epochs.len(), "the check sees what it is to see");
        }

        finish(&connection);

        let (epochs, opened) = pages(&path, &mut former);
        assert!(
            epochs.len() > 20 && epochs.iter().all(|epoch| *epoch == 2),
            "{epochs:?}"
        );
        assert_eq!(opened, 0, "{mode}: pages open with the former key");
        assert_eq!(log_epochs(&room.path("a.db-wal")), [0; 0], "{mode}");
        let journal = std::fs::read(room.path("a.db-journal")).unwrap_or_default();
        assert_eq!(journal.len(), 0, "{mode}");
        assert!(!room.path("a.db-rekey").exists());
        let whole = std::fs::read(&path).expect("readable");
        assert!(!whole.windows(48).any(|window| window == wrapped));
        assert_eq!(header_of(&path).epochs.iter().flatten().count(), 1);
        assert_eq!(read_rows(&connection, "t").expect("reads"), ROWS);
        run(&connection, "UPDATE t SET b = b WHERE a = 7");
        is_sound(&connection);
        drop(connection);
        is_sound(&room.open("a.db"));
    }
}

#[test]
fn connections_that_were_open_before_write_under_the_new_key() {
    for mode in ["DELETE", "WAL"] {
        let room = Room::new();
        let path = room.path("a.db");
        let (rotating, writer, reader) = (room.open("a.db"), room.open("a.db"), room.open("a.db"));
        run(&rotating, &format!("PRAGMA journal_mode={mode}"));
        fill(&rotating, "t", ROWS);
        assert_eq!(read_rows(&writer, "t").expect("reads"), ROWS);
        assert_eq!(read_rows(&reader, "t").expect("reads"), ROWS);

        let begun = rotate(&rotating, "='start'");
        assert!(
            begun.contains("\"state\":\"running\",\"epoch\":2"),
            "{begun}"
        );
        let mut rows = ROWS;
        loop {
            rows += 1;
            run(
                &writer,
                &format!("INSERT INTO t SELECT {rows}, b FROM t WHERE a = 1"),
            );
            // A row's number differs from its text.
            assert_eq!(text(&reader, "SELECT count(*) FROM t"), rows.to_string());
            let answer = rotate(&rotating, "=3");
            if answer.contains("wal_checkpoint") {
                text(&writer, "PRAGMA wal_checkpoint(TRUNCATE)");
            }
            if answer.contains("finished") {
                break;
            }
            assert!(rows < ROWS + 500, "{answer}");
        }
        for connection in [&rotating, &writer, &reader] {
            run(connection, &format!("DELETE FROM t WHERE a = {rows}"));
            rows -= 1;
            is_sound(connection);
        }
        text(&writer, "PRAGMA wal_checkpoint(TRUNCATE)");
        let (header, unlocked) = keys_of(&path);
        let mut codec =
            PageCodec::new(header.cipher, header.file_id, 2, &unlocked.epochs).expect("a codec");
        let (epochs, opened) = pages(&path, &mut codec);
        assert_eq!(opened, epochs.len(), "{mode}");
    }
}

#[test]
fn a_writer_that_slept_through_a_rotation_writes_under_the_new_key() {
    for mode in ["DELETE", "WAL"] {
        let room = Room::new();
        let (rotating, writer) = (room.open("a.db"), room.open("a.db"));
        run(&rotating, &format!("PRAGMA journal_mode={mode}"));
        fill(&rotating, "t", ROWS);
        text(&rotating, "PRAGMA wal_checkpoint(TRUNCATE)");
        assert_eq!(read_rows(&writer, "t").expect("reads"), ROWS);
        finish(&rotating);
        // Everything this needs is in the writer's cache.
        run(&writer, &format!("DELETE FROM t WHERE a = {ROWS}"));
        let epochs = log_epochs(&room.path("a.db-wal"));
        assert!(mode == "DELETE" || !epochs.is_empty());
        assert!(epochs.iter().all(|epoch| *epoch == 2), "{epochs:?}");
        text(&writer, "PRAGMA wal_checkpoint(TRUNCATE)");
        let fresh = room.open("a.db");
        assert_eq!(read_rows(&fresh, "t").expect("reads"), ROWS - 1);
        is_sound(&fresh);
    }
}

#[test]
fn a_rotation_goes_on_where_another_connection_left_it() {
    let room = Room::new();
    let first = room.open("a.db");
    fill(&first, "t", ROWS);
    rotate(&first, "='start'");
    let answer = rotate(&first, "=5");
    assert!(answer.contains("\"pages_done\":5"), "{answer}");
    drop(first);
    let second = room.open("a.db");
    assert_eq!(read_rows(&second, "t").expect("reads"), ROWS);
    let state = text(&second, "PRAGMA strongroom_rotation");
    assert!(state.contains("\"state\":\"running\""), "{state}");
    finish(&second);
    let state = text(&second, "PRAGMA strongroom_rotation");
    assert!(
        state.contains("\"state\":\"finished\",\"epoch\":2"),
        "{state}"
    );
    finish(&second);
    assert_eq!(header_of(&room.path("a.db")).current_epoch, 3);
    is_sound(&second);
}

/// Begins a rotation, commits under the new key, and waits to be killed; not a test of its own. A
/// connection's position in a rotation that another one ended must not carry over to the next one.
#[test]
fn a_connection_begins_the_next_rotation_at_its_first_page() {
    for mode in ["delete", "wal"] {
        let room = Room::new();
        let path = room.path("twice.db");
        let one = room.open("twice.db");
        run(&one, &format!("PRAGMA journal_mode={mode}"));
        fill(&one, "t", ROWS);
        let other = room.open("twice.db");
        assert_eq!(read_rows(&other, "t").expect("reads"), ROWS);
        rotate(&one, "='start'");
        assert!(rotate(&one, "=10").contains("\"state\":\"running\""));
        finish(&other);
        rotate(&other, "='start'");
        finish(&one);
        drop((one, other));
        let (header, unlocked) = keys_of(&path);
        assert_eq!(header.current_epoch, 3, "{mode}");
        let mut codec = PageCodec::new(header.cipher, header.file_id, 3, &unlocked.epochs)
            .expect("the epoch is there");
        let (epochs, opened) = pages(&path, &mut codec);
        assert!(epochs.iter().all(|epoch| *epoch == 3), "{mode}: {epochs:?}");
        assert_eq!(opened, epochs.len(), "{mode}");
        is_sound(&room.open("twice.db"));
    }
}

#[test]
fn rotator() {
    let Some(part) = Part::mine() else { return };
    sqlite_linked::register().expect("registers");
    let connection = open_uri(&part.uri);
    assert_eq!(read_rows(&connection, "t").expect("reads"), ROWS);
    rotate(&connection, "='start'");
    rotate(&connection, "=2");
    run(&connection, "DELETE FROM t WHERE a > 100");
    report("committed");
    std::thread::sleep(std::time::Duration::from_secs(600));
}

#[test]
fn a_log_under_a_new_key_is_recovered_by_a_connection_that_knew_the_former_one() {
    let room = Room::new();
    let connection = room.open("a.db");
    run(&connection, "PRAGMA journal_mode=WAL");
    fill(&connection, "t", ROWS);
    drop(connection);
    // It has read the header, and nothing else yet.
    let early = room.open("a.db");
    let mut rotator = Player::start("rotator", "rotator", &room.uri("a.db", ""), "-");
    while rotator.line().expect("it reports") != "committed" {}
    rotator.kill();
    assert!(log_epochs(&room.path("a.db-wal")).contains(&2));
    assert_eq!(read_rows(&early, "t").expect("reads"), 100);
    is_sound(&early);
    finish(&early);
    is_sound(&early);
}

/// A file in the middle of a rotation, with page 3 torn by an interrupted batch, and the
/// double-write file of that batch.
fn torn(room: &Room, tear_at: usize) {
    let path = room.path("a.db");
    let connection = room.open("a.db");
    fill(&connection, "t", ROWS);
    rotate(&connection, "='start'");
    let before = std::fs::read(&path).expect("readable");
    rotate(&connection, "=4");
    drop(connection);
    let after = std::fs::read(&path).expect("readable");
    let page = |bytes: &[u8], number| bytes[page_offset(number)..][..PAGE_SIZE].to_vec();
    let mut batch = Builder::new(&header_of(&path).file_id, PAGE_SIZE as u32);
    for number in 1..=4 {
        batch
            .push(number)
            .copy_from_slice(&page(&after, number as usize));
    }
    std::fs::write(room.path(&format!("a.db{SUFFIX}")), batch.bytes()).expect("writable");
    edit(&path, |bytes| {
        bytes[page_offset(3)..][tear_at..PAGE_SIZE].copy_from_slice(&page(&before, 3)[tear_at..]);
        bytes[page_offset(4)..][..PAGE_SIZE].copy_from_slice(&page(&before, 4));
    });
}

#[test]
fn a_page_torn_by_a_power_cut_is_taken_from_the_double_write_file() {
    for tear_at in [512, 2048, 3584] {
        let room = Room::new();
        torn(&room, tear_at);
        let reader = room.open("a.db");
        assert_eq!(
            read_rows(&reader, "t").expect("reads without mending"),
            ROWS
        );
        assert!(room.path("a.db-rekey").exists());
        let writer = room.open("a.db");
        run(&writer, "UPDATE t SET b = b WHERE a = 1");
        assert!(
            !room.path("a.db-rekey").exists(),
            "a writer mends and removes"
        );
        is_sound(&reader);
        finish(&writer);
        is_sound(&reader);
    }
}

#[test]
fn an_empty_double_write_file_goes_with_the_rotation() {
    let room = Room::new();
    let connection = room.open("a.db");
    fill(&connection, "t", ROWS);
    rotate(&connection, "='start'");
    // It writes all pages, so the pass has none to write.
    run(&connection, "VACUUM");
    // As of a pass that was killed between its last write and the removal.
    std::fs::write(room.path("a.db-rekey"), b"").expect("writable");
    finish(&connection);
    assert!(!room.path("a.db-rekey").exists());
    is_sound(&connection);
}

#[test]
fn without_its_double_write_file_a_torn_page_is_an_error() {
    let room = Room::new();
    torn(&room, 1024);
    std::fs::remove_file(room.path("a.db-rekey")).expect("removes");
    let connection = room.open("a.db");
    let error = read_rows(&connection, "t").expect_err("refused");
    assert!(
        format!("{error:?}").contains("page 3 does not open"),
        "{error:?}"
    );
}

#[test]
fn a_double_write_file_of_another_database_mends_nothing() {
    let room = Room::new();
    torn(&room, 1024);
    edit(&room.path("a.db-rekey"), |bytes| bytes[16] ^= 1);
    let connection = room.open("a.db");
    assert!(read_rows(&connection, "t").is_err());
}

#[test]
fn a_new_master_key_shuts_out_the_other_slots() {
    let room = Room::new();
    let connection = room.open("a.db");
    fill(&connection, "t", ROWS);
    run(
        &connection,
        &format!("PRAGMA strongroom_key_add = \"x'{}'\"", "22".repeat(32)),
    );
    let by_other = |room: &Room| {
        let key = room.path("other-key");
        common::files::open(room, "a.db", &format!("&key_file={}", key.display()))
    };
    let other = by_other(&room);
    let same = room.open("a.db");
    assert_eq!(read_rows(&other, "t").expect("reads"), ROWS);
    assert_eq!(read_rows(&same, "t").expect("reads"), ROWS);
    rotate(&connection, "='start-alone'");
    finish(&connection);
    assert_eq!(
        header_of(&room.path("a.db")).slots.iter().flatten().count(),
        1
    );
    run(&same, "UPDATE t SET b = b WHERE a = 1");
    is_sound(&same);
    let error = other
        .execute_batch("UPDATE t SET b = b WHERE a = 1")
        .expect_err("its key was removed");
    assert!(
        last_error(&other).contains("were replaced"),
        "{error}: {}",
        last_error(&other)
    );
    assert!(read_rows(&by_other(&room), "t").is_err());
    assert_eq!(read_rows(&room.open("a.db"), "t").expect("reads"), ROWS);
}

#[test]
fn an_old_header_is_detected_by_a_connection_that_knows_a_newer_one() {
    let room = Room::new();
    let connection = room.open("a.db");
    fill(&connection, "t", 10);
    let old = std::fs::read(room.path("a.db")).expect("readable");
    finish(&connection);
    edit(&room.path("a.db"), |bytes| {
        bytes[..REGION_SIZE].copy_from_slice(&old[..REGION_SIZE]);
    });
    assert!(connection.execute_batch("DELETE FROM t").is_err());
    assert!(
        last_error(&connection).contains("put back"),
        "{}",
        last_error(&connection)
    );
}

#[test]
fn an_impossible_rotation_says_why() {
    let refused = |connection: &Connection, words: &str| {
        let answer = connection.query_row("PRAGMA strongroom_rotate", [], |_| Ok(()));
        let error = answer.expect_err("refused").to_string();
        assert!(error.contains(words), "{error}");
    };
    let room = Room::new();
    refused(
        &room.open("new.db"),
        "only the key of an encrypted database",
    );
    let connection = room.open("a.db");
    fill(&connection, "t", 10);
    run(&connection, "BEGIN IMMEDIATE");
    refused(&connection, "end the transaction first");
    run(&connection, "ROLLBACK");
    let other = room.open("a.db");
    run(&other, "PRAGMA journal_mode=WAL");
    run(&other, "BEGIN IMMEDIATE");
    let unread = room.open("a.db");
    refused(&unread, "read from the database");
    assert_eq!(read_rows(&unread, "t").expect("reads"), 10);
    let begun = unread.query_row("PRAGMA strongroom_rotate='start'", [], |_| Ok(()));
    assert!(begun.expect_err("busy").to_string().contains("try again"));
    run(&other, "ROLLBACK");
    finish(&unread);
    is_sound(&other);
}

/// Several rotations may happen between a reader's reads of the header and of a page.
#[test]
fn readers_keep_up_with_one_rotation_after_the_other() {
    const ROTATIONS: usize = 200;
    for mode in ["delete", "wal"] {
        let room = Room::new();
        let connection = room.open("x.db");
        text(&connection, &format!("PRAGMA journal_mode={mode}"));
        run(
            &connection,
            "PRAGMA synchronous=OFF; CREATE TABLE t(a); INSERT INTO t VALUES(1)",
        );
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let reader = room.open("x.db");
                    run(&reader, "PRAGMA busy_timeout=60000; PRAGMA cache_size=0");
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        assert_eq!(text(&reader, "SELECT a FROM t"), "1");
                    }
                });
            }
            let _over = Over(&over);
            for _ in 0..ROTATIONS {
                rotate_among_readers(&connection);
                if mode == "wal" {
                    // The first rotation waits for this.
                    text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
                }
            }
        });
    }
}

/// A connection that opened the file during its creation has a header without the keys added since.
#[test]
fn a_connection_opened_during_the_creation_learns_of_a_rotation() {
    for mode in ["delete", "wal"] {
        let room = Room::new();
        let creator = room.open("x.db");
        run(
            &creator,
            "PRAGMA page_size=1024; PRAGMA cache_size=5; BEGIN; CREATE TABLE t(a);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300)
             INSERT INTO t SELECT printf('%.*c', 700, 'x') FROM n",
        );
        let other = room.open("x.db");
        let status = text(&other, "PRAGMA strongroom_status");
        assert!(status.contains("encrypted"), "{status}");
        run(&creator, "COMMIT");
        text(&creator, &format!("PRAGMA journal_mode={mode}"));
        text(&creator, "SELECT count(*) FROM t");
        finish(&creator);
        assert_eq!(text(&other, "SELECT count(*) FROM t"), "300");
        run(&other, "UPDATE t SET a = 'y'");
        drop((creator, other));
        let connection = room.open("x.db");
        assert_eq!(
            text(&connection, "SELECT count(*) FROM t WHERE a = 'y'"),
            "300"
        );
        is_sound(&connection);
    }
}

/// As after a kill right behind the first commit: copy 1 of the header still equals copy 0.
#[test]
fn a_creation_is_finished_with_the_keys_that_are_in_force() {
    use page_codec::header::COPY_SIZE;
    let room = Room::new();
    let connection = room.open("x.db");
    text(&connection, "PRAGMA journal_mode=wal");
    run(&connection, "CREATE TABLE t(a)");
    drop(connection);
    common::files::edit(&room.path("x.db"), |bytes| {
        bytes.copy_within(..COPY_SIZE, COPY_SIZE);
    });
    let (first, second) = (room.open("x.db"), room.open("x.db"));
    run(&first, "BEGIN IMMEDIATE; INSERT INTO t VALUES(1)");
    let key = format!("PRAGMA rekey=\"x'{}'\"", "77".repeat(32));
    assert_eq!(text(&second, &key), "ok");
    run(&first, "COMMIT");
    drop((first, second));
    // If copy 0 is lost, the key that was replaced opens nothing.
    common::files::edit(&room.path("x.db"), |bytes| bytes[100] ^= 1);
    let connection = room.open_keyless("x.db");
    common::files::assert_refused(
        &connection,
        &format!("PRAGMA key=\"x'{}'\"", "11".repeat(32)),
        "wrong key",
    );
    assert_eq!(text(&connection, &key.replace("rekey", "key")), "ok");
    assert_eq!(text(&connection, "SELECT a FROM t"), "1");
}
