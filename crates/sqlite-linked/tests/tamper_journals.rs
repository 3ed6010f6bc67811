//! Altered logs and journals: they are valid up to the first record that does not open.

mod common;

use common::files::{PAGE_SIZE, edit, failure, fill, read_rows, row_text};
use common::{Room, last_error, text};
use rusqlite::ffi::SQLITE_IOERR_DATA;

const ROWS: i64 = 500;

/// Copies a database and its journals, as a crash would leave them.
fn snapshot(room: &Room, from: &str, to: &str) {
    for suffix in ["", "-wal", "-journal"] {
        let target = room.path(&format!("{to}{suffix}"));
        match std::fs::read(room.path(&format!("{from}{suffix}"))) {
            Ok(bytes) => std::fs::write(target, bytes).expect("writable"),
            Err(_) => drop(std::fs::remove_file(target)),
        }
    }
    drop(std::fs::remove_file(room.path(&format!("{to}-shm"))));
}

const FRAME_SIZE: usize = 24 + PAGE_SIZE;

/// Offset of a frame, from 0, in a log.
fn frame_offset(index: usize) -> usize {
    32 + index * FRAME_SIZE
}

/// A database in WAL mode, left as by a crash, whose log has three transactions of one frame each:
/// row 100 in versions 1, 2, 3. Without a checkpoint the database contains version 0.
fn crashed_in_wal(room: &Room, name: &str) {
    let connection = room.open("living.db");
    text(&connection, "PRAGMA journal_mode=wal");
    fill(&connection, "t", ROWS);
    text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    for version in 1..=3 {
        connection
            .execute(
                "UPDATE t SET b = ?1 WHERE a = 100",
                [row_text(100, version)],
            )
            .expect("updates");
    }
    snapshot(room, "living.db", name);
    let wal = std::fs::read(room.path(&format!("{name}-wal"))).expect("a log");
    assert_eq!(wal.len(), frame_offset(3));
    drop(connection);
    for suffix in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(
            room.path(&format!("living.db{suffix}")),
        ));
    }
}

/// The version of row 100.
fn version_of_row(connection: &rusqlite::Connection) -> u8 {
    assert_eq!(read_rows(connection, "t").expect("reads"), ROWS);
    let row = text(connection, "SELECT b FROM t WHERE a = 100");
    (0..10)
        .find(|version| row == row_text(100, *version))
        .expect("a version that was written")
}

#[test]
fn a_log_is_believed_up_to_the_first_frame_that_was_altered() {
    let room = Room::new();
    crashed_in_wal(&room, "x.db");
    crashed_in_wal(&room, "y.db");
    let foreign = std::fs::read(room.path("y.db-wal")).expect("readable");
    let mut cases: Vec<(String, u8, Vec<u8>)> = Vec::new();
    let wal = std::fs::read(room.path("x.db-wal")).expect("readable");
    cases.push(("untouched".to_owned(), 3, wal.clone()));
    let regions = [
        0,
        3,
        4,
        7,
        8,
        15,
        16,
        23,
        24,
        24 + 2000,
        24 + 4064,
        24 + 4080,
        24 + 4092,
    ];
    for (frame, inside) in (0..3).flat_map(|frame| regions.map(|inside| (frame, inside))) {
        let mut altered = wal.clone();
        altered[frame_offset(frame) + inside] ^= 1;
        cases.push((
            format!("byte {inside} of frame {frame}"),
            frame as u8,
            altered,
        ));
    }
    let mut swapped = wal.clone();
    swapped[frame_offset(1)..].rotate_left(FRAME_SIZE);
    cases.push(("frames 1 and 2 swapped".to_owned(), 1, swapped));
    let mut repeated = wal.clone();
    repeated.copy_within(frame_offset(0)..frame_offset(1), frame_offset(2));
    cases.push(("frame 0 again as frame 2".to_owned(), 2, repeated));
    let mut mixed = wal.clone();
    mixed[frame_offset(1)..frame_offset(2)]
        .copy_from_slice(&foreign[frame_offset(1)..frame_offset(2)]);
    cases.push(("frame 1 of another file's log".to_owned(), 1, mixed));
    cases.push(("another file's log".to_owned(), 0, foreign));
    cases.push((
        "cut in frame 2".to_owned(),
        2,
        wal[..frame_offset(3) - 1].to_vec(),
    ));
    for (what, version, bytes) in cases {
        snapshot(&room, "x.db", "z.db");
        std::fs::write(room.path("z.db-wal"), bytes).expect("writable");
        let connection = room.open("z.db");
        assert_eq!(version_of_row(&connection), version, "{what}");
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok", "{what}");
        connection
            .execute("UPDATE t SET b = ?1 WHERE a = 100", [row_text(100, 9)])
            .expect("the log goes on");
        drop(connection);
        assert_eq!(version_of_row(&room.open("z.db")), 9, "{what}");
    }
}

/// With a log, SQLite takes the size of the database from the log, and reads what lies beyond the
/// end of the file as zeros. It would return them as the rest of a long value.
#[test]
fn pages_cut_off_a_file_with_a_log_are_an_error_and_not_zeros() {
    let room = Room::new();
    let connection = room.open("living.db");
    text(&connection, "PRAGMA journal_mode=wal");
    fill(&connection, "t", ROWS);
    let long = "long ".repeat(10_000);
    connection
        .execute_batch("CREATE TABLE long(a TEXT)")
        .and_then(|()| connection.execute("INSERT INTO long VALUES(?1)", [&long]))
        .expect("inserts");
    text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    connection
        .execute("UPDATE t SET b = ?1 WHERE a = 100", [row_text(100, 1)])
        .expect("updates");
    snapshot(&room, "living.db", "x.db");
    edit(&room.path("x.db"), |bytes| {
        bytes.truncate(bytes.len() - PAGE_SIZE)
    });
    for map in ["", "&mmap=off"] {
        snapshot(&room, "x.db", "z.db");
        let connection = room.open_with("z.db", map);
        assert_eq!(version_of_row(&connection), 1);
        let failure = failure(&connection, "SELECT a FROM long");
        assert_eq!(failure.code, SQLITE_IOERR_DATA, "{failure:?}");
        assert!(
            failure.detail.contains("the file ends before it"),
            "{failure:?}"
        );
    }
}

/// While a log is in use its index names the frame of each page, so a bad frame cannot be mistaken
/// for the end of the log.
#[cfg(unix)]
#[test]
fn a_frame_altered_under_an_open_database_is_an_error_that_names_it() {
    use std::os::unix::fs::FileExt;
    let room = Room::new();
    let keeper = room.open("x.db");
    text(&keeper, "PRAGMA journal_mode=wal");
    fill(&keeper, "t", ROWS);
    text(&keeper, "PRAGMA wal_checkpoint(TRUNCATE)");
    keeper
        .execute("UPDATE t SET b = ?1 WHERE a = 100", [row_text(100, 1)])
        .expect("updates");
    let wal = std::fs::File::options()
        .read(true)
        .write(true)
        .open(room.path("x.db-wal"))
        .expect("opens");
    let (mut byte, offset) = ([0], frame_offset(0) as u64 + 1000);
    wal.read_exact_at(&mut byte, offset).expect("reads");
    wal.write_all_at(&[byte[0] ^ 1], offset).expect("writes");
    for map in ["", "&mmap=off"] {
        let connection = room.open_with("x.db", map);
        let failure = failure(&connection, "SELECT b FROM t WHERE a = 100");
        assert_eq!(failure.code, SQLITE_IOERR_DATA);
        assert!(
            failure.detail.starts_with("frame 0 of the write-ahead log"),
            "{failure:?}"
        );
        assert_eq!(
            text(&connection, "SELECT b FROM t WHERE a = 400"),
            row_text(400, 0)
        );
    }
}

/// Bytes of a record: number, image, checksum.
const RECORD_SIZE: usize = 4 + PAGE_SIZE + 4;

/// A database left as by a crash in the middle of a transaction that sets every row to version 1,
/// with a hot journal. Returns the offset of the first record in the journal.
fn crashed_in_rollback_mode(room: &Room, name: &str) -> usize {
    let connection = room.open("living.db");
    fill(&connection, "t", ROWS);
    connection
        .execute_batch("PRAGMA cache_size=5; BEGIN")
        .expect("begins");
    for a in 1..=ROWS {
        connection
            .execute("UPDATE t SET b = ?2 WHERE a = ?1", (a, row_text(a, 1)))
            .expect("updates");
    }
    snapshot(room, "living.db", name);
    connection.execute_batch("ROLLBACK").expect("rolls back");
    drop(connection);
    drop(std::fs::remove_file(room.path("living.db")));
    let journal = std::fs::read(room.path(&format!("{name}-journal"))).expect("a journal");
    let sector_size = u32::from_be_bytes(journal[20..24].try_into().expect("4 bytes"));
    let records = u32::from_be_bytes(journal[8..12].try_into().expect("4 bytes"));
    assert!(records >= 3, "{records} records are enough to play with");
    sector_size as usize
}

/// The header contains the size to restore; SQLite may change only magic and count.
#[test]
fn a_journal_header_that_was_altered_is_an_error_that_names_it() {
    let room = Room::new();
    crashed_in_rollback_mode(&room, "x.db");
    let journal = std::fs::read(room.path("x.db-journal")).expect("readable");
    crashed_in_rollback_mode(&room, "y.db");
    let foreign = std::fs::read(room.path("y.db-journal")).expect("readable");
    let altered = |at: usize, new: &[u8]| {
        let mut bytes = journal.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    let cases = [
        ("untouched", journal.clone()),
        ("checksum seed", altered(12, &[!journal[12]])),
        ("page count, one more", altered(19, &[journal[19] + 1])),
        (
            "page count, all there can be",
            altered(16, &[0x7f, 0xff, 0xff, 0xff]),
        ),
        ("page count, none", altered(16, &[0; 4])),
        ("sector size", altered(20, &1024_u32.to_be_bytes())),
        ("page size", altered(24, &8192_u32.to_be_bytes())),
        ("epoch of the seal", altered(28, &[journal[28] + 1])),
        ("tag", altered(47, &[!journal[47]])),
        ("no seal", altered(28, &[0; 20])),
        ("another file's journal", foreign),
    ];
    for (what, bytes) in cases {
        snapshot(&room, "x.db", "z.db");
        let size = std::fs::metadata(room.path("z.db")).expect("there").len();
        std::fs::write(room.path("z.db-journal"), bytes).expect("writable");
        let connection = room.open("z.db");
        if what == "untouched" {
            assert_eq!(rows_not_rolled_back(&connection), 0);
            continue;
        }
        read_rows(&connection, "t").expect_err(what);
        let message = last_error(&connection);
        assert!(
            message.contains("journal's header at byte 0"),
            "{what}: {message}"
        );
        drop(connection);
        // Nothing was undone or lost: with the original header it is undone.
        let after = std::fs::metadata(room.path("z.db")).expect("there").len();
        assert_eq!(after, size, "{what}");
        std::fs::write(room.path("z.db-journal"), &journal).expect("writable");
        assert_eq!(rows_not_rolled_back(&room.open("z.db")), 0, "{what}");
    }
}

/// How many rows of `t` are in version 1.
fn rows_not_rolled_back(connection: &rusqlite::Connection) -> i64 {
    assert_eq!(read_rows(connection, "t").expect("reads"), ROWS);
    connection
        .query_row("SELECT count(*) FROM t WHERE b LIKE '1-%'", [], |row| {
            row.get(0)
        })
        .expect("counts")
}

#[test]
fn a_hot_journal_is_believed_up_to_the_first_record_that_was_altered() {
    let room = Room::new();
    let first = crashed_in_rollback_mode(&room, "x.db");
    let journal = std::fs::read(room.path("x.db-journal")).expect("readable");
    crashed_in_rollback_mode(&room, "y.db");
    let foreign = std::fs::read(room.path("y.db-journal")).expect("readable");
    let record = |index: usize| first + index * RECORD_SIZE;
    let mut cases: Vec<(String, bool, Vec<u8>)> = Vec::new();
    cases.push(("untouched".to_owned(), true, journal.clone()));
    for inside in [3, 4, 2000, 4 + 4064, 4 + 4080, 4 + 4092, 4 + 4096, 4 + 4099] {
        let mut altered = journal.clone();
        altered[record(1) + inside] ^= 1;
        cases.push((format!("byte {inside} of record 1"), false, altered));
    }
    let mut swapped = journal.clone();
    swapped[record(1)..record(3)].rotate_left(RECORD_SIZE);
    cases.push(("records 1 and 2 swapped".to_owned(), false, swapped));
    let mut mixed = journal.clone();
    mixed[record(1)..record(2)].copy_from_slice(&foreign[record(1)..record(2)]);
    cases.push((
        "a record of another file's journal".to_owned(),
        false,
        mixed,
    ));
    let mut headless = journal.clone();
    headless[0] ^= 1;
    cases.push(("the magic".to_owned(), false, headless));
    for (what, complete, bytes) in cases {
        snapshot(&room, "x.db", "z.db");
        std::fs::write(room.path("z.db-journal"), bytes).expect("writable");
        let connection = room.open("z.db");
        let left = rows_not_rolled_back(&connection);
        assert_eq!(left == 0, complete, "{what}: {left} rows are new");
        assert_eq!(
            text(&connection, "PRAGMA strongroom_verify"),
            "ok",
            "{what}"
        );
        assert_eq!(last_error(&connection), "", "{what}");
    }
}

/// A record at the end of a journal that names a super-journal (sqlite.org/fileformat2.html 3).
fn super_journal_record(name: &str, page_size: u32) -> Vec<u8> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let lock_page = 0x4000_0000 / page_size + 1;
    let checksum = name.bytes().map(u32::from).sum::<u32>();
    let mut record = lock_page.to_be_bytes().to_vec();
    record.extend_from_slice(name.as_bytes());
    record.extend_from_slice(&(name.len() as u32).to_be_bytes());
    record.extend_from_slice(&checksum.to_be_bytes());
    record.extend_from_slice(&MAGIC);
    record
}

#[test]
fn a_forged_name_of_a_super_journal_deletes_no_file() {
    let room = Room::new();
    let connection = room.open("living.db");
    fill(&connection, "t", ROWS);
    connection
        .execute_batch("PRAGMA cache_size=2; BEGIN; UPDATE t SET b = '' WHERE a > 0")
        .expect("spills");
    snapshot(&room, "living.db", "x.db");
    drop(connection);
    let hot = std::fs::read(room.path("x.db-journal")).expect("a hot journal");
    let bystanders = ["precious.txt", "other.db-mj0A1B2C9D3"];
    for name in bystanders {
        let victim = room.path(name);
        std::fs::write(&victim, "precious").expect("writes");
        snapshot(&room, "x.db", "y.db");
        let record = super_journal_record(&victim.display().to_string(), PAGE_SIZE as u32);
        std::fs::write(room.path("y.db-journal"), [&hot[..], &record[..]].concat())
            .expect("writes");
        let connection = room.open("y.db");
        assert_eq!(read_rows(&connection, "t").expect("rolled back"), ROWS);
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
        drop(connection);
        assert_eq!(
            std::fs::read(&victim).expect("still there"),
            b"precious",
            "{name}"
        );
    }
}
