//! SQLite's features, used on encrypted files.

mod common;

use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};

use common::files::{
    Failure, PAGE_SIZE, PAGES_OFFSET, failure, fill, is_inside, own_process, read_rows, row_text,
};
use common::{Room, file_contains, last_error, open_uri, text};
use rusqlite::{Connection, MAIN_DB};

const ROWS: i64 = 500;

fn assert_sound(connection: &Connection) {
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok");
}

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}: {}", last_error(connection)));
}

#[test]
fn all_page_sizes_work_in_rollback_and_wal_mode() {
    for exponent in 9..=16 {
        let page_size = 1_u32 << exponent;
        for mode in ["delete", "wal"] {
            let room = Room::new();
            let connection = room.open("x.db");
            run(&connection, &format!("PRAGMA page_size={page_size}"));
            text(&connection, &format!("PRAGMA journal_mode={mode}"));
            run(&connection, "PRAGMA cache_size=10");
            fill(&connection, "t", ROWS);
            assert_eq!(text(&connection, "PRAGMA page_size"), page_size.to_string());
            run(
                &connection,
                "CREATE INDEX i ON t(b); BEGIN; DELETE FROM t WHERE a % 2; ROLLBACK",
            );
            drop(connection);
            let connection = room.open("x.db");
            assert_eq!(read_rows(&connection, "t").expect("reads"), ROWS);
            assert_sound(&connection);
            let status = text(&connection, "PRAGMA strongroom_status");
            assert!(
                status.contains(&format!("\"page_size\":{page_size},")),
                "{status}"
            );
            drop(connection);
            let size = std::fs::metadata(room.path("x.db")).expect("there").len() as usize;
            assert_eq!((size - PAGES_OFFSET) % page_size as usize, 0);
        }
    }
}

#[test]
fn space_is_given_back_by_vacuum_and_auto_vacuum() {
    for (auto_vacuum, give_back) in [
        ("none", "VACUUM"),
        ("full", "SELECT 1"),
        ("incremental", "PRAGMA incremental_vacuum"),
    ] {
        for mode in ["delete", "wal"] {
            let room = Room::new();
            let connection = room.open("x.db");
            run(&connection, &format!("PRAGMA auto_vacuum={auto_vacuum}"));
            text(&connection, &format!("PRAGMA journal_mode={mode}"));
            fill(&connection, "t", ROWS);
            fill(&connection, "u", 5 * ROWS);
            let pages = || {
                text(&connection, "PRAGMA page_count")
                    .parse::<i64>()
                    .expect("a number")
            };
            let before = pages();
            run(&connection, "DROP TABLE u");
            let mut statement = connection.prepare(give_back).expect("prepares");
            let mut rows = statement.query([]).expect("runs");
            while rows.next().expect("steps").is_some() {}
            drop(rows);
            drop(statement);
            assert!(
                pages() < before / 2,
                "{auto_vacuum}, {mode}: {before} to {}",
                pages()
            );
            assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
            let expected = PAGES_OFFSET as u64 + pages() as u64 * PAGE_SIZE as u64;
            drop(connection);
            let size = std::fs::metadata(room.path("x.db")).expect("there").len();
            assert_eq!(size, expected, "{auto_vacuum}, {mode}");
            let connection = room.open("x.db");
            assert_eq!(read_rows(&connection, "t").expect("reads"), ROWS);
            assert_sound(&connection);
        }
    }
}

/// Freed pages at the end of the database must not be mistaken for truncated pages. Only a backup
/// reads them.
#[test]
fn pages_freed_in_the_transaction_that_made_them_are_not_missed() {
    let room = Room::new();
    let connection = room.open("x.db");
    fill(&connection, "t", ROWS);
    let back_up = |when: &str| {
        let mut copy = Connection::open_in_memory().expect("opens");
        rusqlite::backup::Backup::new(&connection, &mut copy)
            .expect("begins")
            .run_to_completion(100_000, std::time::Duration::ZERO, None)
            .unwrap_or_else(|error| panic!("{when}: {error}: {}", last_error(&connection)));
        assert_eq!(
            text(&copy, "SELECT count(*) FROM t"),
            ROWS.to_string(),
            "{when}"
        );
    };
    let make_and_free = "BEGIN; CREATE TABLE u AS SELECT a, b || b AS b FROM t; DROP TABLE u;
                         CREATE TABLE u AS SELECT * FROM t; DROP TABLE u; COMMIT";
    run(&connection, make_and_free);
    back_up("without a log");
    text(&connection, "PRAGMA journal_mode=wal");
    run(&connection, "PRAGMA wal_autocheckpoint=0");
    run(&connection, make_and_free);
    back_up("before a checkpoint");
    let reader = room.open("x.db");
    run(&reader, "BEGIN; SELECT count(*) FROM t");
    text(&reader, "SELECT count(*) FROM t");
    run(&connection, "UPDATE t SET b = b; CREATE TABLE v(a)");
    text(&connection, "PRAGMA wal_checkpoint(PASSIVE)");
    back_up("after a part of a checkpoint");
    assert_sound(&connection);
    run(&reader, "COMMIT");
    text(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    back_up("after a checkpoint");
    fill(&connection, "w", 2 * ROWS);
    assert_sound(&connection);
    assert_eq!(read_rows(&reader, "w").expect("reads"), 2 * ROWS);
}

#[test]
fn blobs_are_read_and_written_in_parts() {
    let room = Room::new();
    let connection = room.open("x.db");
    run(
        &connection,
        "CREATE TABLE t(b BLOB); INSERT INTO t VALUES(zeroblob(100000))",
    );
    let piece = b"a piece of a blob";
    let mut blob = connection
        .blob_open(MAIN_DB, "t", "b", 1, false)
        .expect("opens");
    for offset in [0, 50_000, 100_000 - piece.len()] {
        blob.write_at(piece, offset).expect("writes");
    }
    drop(blob);
    drop(connection);
    assert!(!file_contains(&room.path("x.db"), piece));
    let connection = room.open("x.db");
    let blob = connection
        .blob_open(MAIN_DB, "t", "b", 1, true)
        .expect("opens");
    for offset in [0, 50_000, 100_000 - piece.len()] {
        let mut read = [0; 17];
        blob.read_at_exact(&mut read, offset).expect("reads");
        assert_eq!(&read, piece);
    }
    drop(blob);
    assert_sound(&connection);
}

#[test]
fn savepoints_roll_back_to_where_they_began() {
    for mode in ["delete", "truncate", "persist", "memory", "wal"] {
        let room = Room::new();
        let connection = room.open("x.db");
        text(&connection, &format!("PRAGMA journal_mode={mode}"));
        run(&connection, "PRAGMA cache_size=5");
        fill(&connection, "t", ROWS);
        run(
            &connection,
            "SAVEPOINT one; UPDATE t SET b = 'one'; SAVEPOINT two; DELETE FROM t WHERE a > 100;
             CREATE TABLE u AS SELECT * FROM t; SAVEPOINT three; UPDATE u SET b = b || 'three';
             ROLLBACK TO three; RELEASE three",
        );
        assert_eq!(
            text(&connection, "SELECT count(*) FROM u WHERE b = 'one'"),
            "100"
        );
        run(&connection, "ROLLBACK TO two");
        let ones = "SELECT count(*) FROM t WHERE b = 'one'";
        assert_eq!(text(&connection, ones), ROWS.to_string());
        run(&connection, "ROLLBACK TO one; RELEASE one");
        assert_eq!(read_rows(&connection, "t").expect("reads"), ROWS, "{mode}");
        run(
            &connection,
            "SAVEPOINT one; UPDATE t SET b = 'two' WHERE a = 1; RELEASE one",
        );
        drop(connection);
        let connection = room.open("x.db");
        assert_eq!(text(&connection, "SELECT b FROM t WHERE a = 1"), "two");
        assert_sound(&connection);
    }
}

#[test]
fn connections_may_share_a_cache() {
    let room = Room::new();
    let one = room.open_with("x.db", "&cache=shared");
    let two = room.open_with("x.db", "&cache=shared");
    fill(&one, "t", ROWS);
    assert_eq!(read_rows(&two, "t").expect("reads"), ROWS);
    run(&two, "UPDATE t SET b = b || '!' WHERE a = 1");
    assert_eq!(
        text(&one, "SELECT b FROM t WHERE a = 1"),
        row_text(1, 0) + "!"
    );
    drop(one);
    assert_sound(&two);
}

#[test]
fn text_may_be_utf_16() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        let room = Room::new();
        let connection = room.open("x.db");
        run(&connection, &format!("PRAGMA encoding='{encoding}'"));
        fill(&connection, "t", ROWS);
        drop(connection);
        let connection = room.open("x.db");
        assert_eq!(text(&connection, "PRAGMA encoding"), encoding);
        assert_eq!(read_rows(&connection, "t").expect("reads"), ROWS);
        assert_sound(&connection);
    }
}

#[test]
fn tables_without_rowid_full_text_and_rtree() {
    let room = Room::new();
    let connection = room.open("x.db");
    run(
        &connection,
        "CREATE TABLE w(a TEXT, b INT, PRIMARY KEY(a, b)) WITHOUT ROWID;
         CREATE VIRTUAL TABLE f USING fts5(body);
         CREATE VIRTUAL TABLE r USING rtree(id, x1, x2, y1, y2);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
         INSERT INTO w SELECT 'w' || (i % 7), i FROM n;
         INSERT INTO f SELECT 'needle' || b || ' in a haystack' FROM w;
         INSERT INTO r SELECT b, b, b + 1, b, b + 1 FROM w;
         INSERT INTO f(f) VALUES('optimize');",
    );
    drop(connection);
    assert!(!file_contains(&room.path("x.db"), b"haystack"));
    let connection = room.open("x.db");
    assert_eq!(
        text(&connection, "SELECT count(*) FROM w WHERE a = 'w3'"),
        "72"
    );
    assert_eq!(
        text(&connection, "SELECT body FROM f WHERE f MATCH 'needle77'"),
        "needle77 in a haystack"
    );
    assert_eq!(
        text(
            &connection,
            "SELECT count(*) FROM r WHERE x1 >= 10 AND x2 <= 20"
        ),
        "10"
    );
    run(&connection, "INSERT INTO f(f) VALUES('integrity-check')");
    assert_sound(&connection);
}

#[test]
fn maps_do_not_change_what_is_read() {
    let room = Room::new();
    for mode in ["delete", "wal"] {
        for (map_size, strongroom_mmap) in [
            ("0", "on"),
            ("268435456", "on"),
            ("0", "off"),
            ("268435456", "off"),
        ] {
            let name = format!("{mode}-{map_size}-{strongroom_mmap}.db");
            let connection = room.open(&name);
            text(&connection, &format!("PRAGMA journal_mode={mode}"));
            // SQLite returns no row for the first if the VFS does its own mapping.
            run(&connection, "PRAGMA cache_size=5");
            let _ = connection.execute_batch(&format!("PRAGMA mmap_size={map_size}"));
            let answer = text(
                &connection,
                &format!("PRAGMA strongroom_mmap={strongroom_mmap}"),
            );
            assert_eq!(answer, strongroom_mmap);
            assert_eq!(text(&connection, "PRAGMA strongroom_mmap"), strongroom_mmap);
            fill(&connection, "t", 4 * ROWS);
            let writer = room.open(&name);
            for version in 1..4 {
                assert_eq!(read_rows(&connection, "t").expect("reads"), 4 * ROWS);
                writer
                    .execute("UPDATE t SET b = ?1 WHERE a = 7", [row_text(7, version)])
                    .expect("updates");
                let row = text(&connection, "SELECT b FROM t WHERE a = 7");
                assert_eq!(row, row_text(7, version), "{name}");
            }
            fill(&writer, "more", 10 * ROWS);
            assert_eq!(read_rows(&connection, "more").expect("reads"), 10 * ROWS);
            run(&writer, "DROP TABLE more; VACUUM");
            assert_eq!(read_rows(&connection, "t").expect("reads"), 4 * ROWS);
            assert_sound(&connection);
        }
    }
}

#[test]
fn a_database_may_live_in_memory() {
    let room = Room::new();
    sqlite_linked::register_over("strongroom-memdb", Some("memdb")).expect("registers");
    let uri = format!(
        "file:/features-in-memory?vfs=strongroom-memdb&key_file={}",
        room.path("key").display()
    );
    let one = open_uri(&uri);
    fill(&one, "t", ROWS);
    let two = open_uri(&uri);
    assert_eq!(read_rows(&two, "t").expect("reads"), ROWS);
    run(
        &two,
        "UPDATE t SET b = b || '!' WHERE a = 1; BEGIN; DELETE FROM t; ROLLBACK; VACUUM",
    );
    assert_eq!(
        text(&one, "SELECT b FROM t WHERE a = 1"),
        row_text(1, 0) + "!"
    );
    assert_sound(&one);
    assert!(text(&one, "PRAGMA strongroom_status").contains("\"state\":\"encrypted\""));
    let wrong = open_uri(
        &uri.replace("key_file=", "mmap=off&key_file=")
            .replace("/key", "/other-key"),
    );
    failure(&wrong, "SELECT * FROM t");
}

#[test]
fn temporary_tables_work_in_memory_and_in_files() {
    let room = Room::new();
    let connection = room.open("x.db");
    fill(&connection, "t", ROWS);
    for store in ["file", "memory", "default"] {
        run(
            &connection,
            &format!(
                "PRAGMA temp_store={store}; PRAGMA temp.cache_size=5;
                 CREATE TEMP TABLE h AS SELECT * FROM t UNION ALL SELECT a + 500, b FROM t;
                 CREATE INDEX temp.i ON h(b, a); BEGIN; UPDATE h SET b = b || '!'; ROLLBACK;
                 DELETE FROM h WHERE a % 2"
            ),
        );
        let count = "SELECT count(DISTINCT a) FROM h WHERE b NOT LIKE '%!'";
        assert_eq!(text(&connection, count), ROWS.to_string(), "{store}");
        assert_eq!(text(&connection, "PRAGMA temp.integrity_check"), "ok");
        run(&connection, "DROP TABLE h");
    }
    assert_sound(&connection);
}

#[test]
fn a_database_without_pages_is_empty_and_can_be_begun() {
    let room = Room::new();
    std::fs::write(room.path("x.db"), b"").expect("writable");
    let connection = room.open("x.db");
    assert_eq!(text(&connection, "PRAGMA page_count"), "0");
    assert_eq!(text(&connection, "SELECT count(*) FROM sqlite_schema"), "0");
    run(&connection, "BEGIN; CREATE TABLE t(a); ROLLBACK");
    assert_eq!(text(&connection, "PRAGMA page_count"), "0");
    drop(connection);
    assert_eq!(
        std::fs::metadata(room.path("x.db")).expect("there").len(),
        0
    );
    let connection = room.open("x.db");
    fill(&connection, "t", ROWS);
    assert_sound(&connection);
}

#[cfg(target_os = "linux")]
#[test]
fn connections_leave_no_descriptors_behind() {
    common::files::in_own_process("connections_leave_no_descriptors_behind", &[], || {
        let room = Room::new();
        fill(&room.open("x.db"), "t", ROWS);
        let descriptors = || {
            std::fs::read_dir("/proc/self/fd")
                .expect("readable")
                .count()
        };
        let before = descriptors();
        for round in 0..200 {
            let connection = match round % 4 {
                0 => room.open_keyless("x.db"),
                1 => room.open_with("x.db", "&mmap=off"),
                _ => room.open("x.db"),
            };
            text(
                &connection,
                &format!("PRAGMA strongroom_mmap={}", ["on", "off"][round % 2]),
            );
            let _ = connection.execute_batch("PRAGMA temp_store=file; PRAGMA cache_size=1");
            let read = read_rows(&connection, "t");
            assert_eq!(read.is_ok(), round % 4 != 0);
            let _ = connection.execute_batch(
                ["PRAGMA journal_mode=wal", "PRAGMA journal_mode=delete"][round / 2 % 2],
            );
            let _ = connection.execute_batch(
                "UPDATE t SET b = b || '' WHERE a < 10; CREATE TEMP TABLE h AS SELECT * FROM t",
            );
        }
        assert_eq!(descriptors(), before);
    });
}

/// The role of a reader whose file shrinks, in the variant that the parent chooses.
#[cfg(unix)]
fn read_while_the_file_shrinks() {
    sqlite_linked::register().expect("registers");
    let connection = open_uri(&std::env::var("SHRINK_URI").expect("set"));
    run(&connection, "PRAGMA cache_size=1");
    read_rows(&connection, "t").expect("reads the whole file");
    let held = std::env::var("SHRINK_HELD").expect("set") == "held";
    if held {
        run(&connection, "BEGIN");
        text(&connection, "SELECT b FROM t WHERE a = 1");
    }
    eprintln!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    match read_rows(&connection, "t") {
        Ok(rows) => eprintln!("outcome: {rows} rows"),
        Err(Failure { code, .. }) => eprintln!("outcome: error {code}"),
    }
}

/// How a process ended whose database was truncated to half its size while it read: what it
/// reported, or the signal that killed it.
#[cfg(unix)]
fn outcome_of_shrinking(mode: &str, map: &str, held: &str) -> Result<String, i32> {
    use std::os::unix::process::ExitStatusExt;
    let room = Room::new();
    let connection = room.open("x.db");
    text(&connection, &format!("PRAGMA journal_mode={mode}"));
    fill(&connection, "t", 10 * ROWS);
    drop(connection);
    let mut child = own_process("a_file_cut_below_a_reader")
        .env("SHRINK_URI", room.uri("x.db", map))
        .env("SHRINK_HELD", held)
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut line =
        |wanted: &str| lines.find_map(|line| line.ok().filter(|line| line.starts_with(wanted)));
    line("ready").expect("the reader is ready");
    let file = std::fs::File::options()
        .write(true)
        .open(room.path("x.db"))
        .expect("opens");
    let size = file.metadata().expect("there").len();
    let half = (size / 2).next_multiple_of(PAGE_SIZE as u64);
    file.set_len(half).expect("cuts");
    writeln!(child.stdin.take().expect("piped"), "go").expect("writes");
    let outcome = line("outcome: ");
    let status = child.wait().expect("ended");
    match status.signal() {
        Some(signal) => Err(signal),
        None => Ok(outcome.expect("an outcome").replace("outcome: ", "")),
    }
}

/// SQLite never truncates a database below a reader, but another program may. Then:
///
/// - without a map: an error;
/// - with a map, if the file is truncated between two transactions: an error, since SQLite compares
///   the size of the file with the page count in page 1, and the map is renewed;
/// - with a map, inside a transaction: SIGBUS, as with stock SQLite's `PRAGMA mmap_size`.
///   `mmap=off` avoids this where files are truncated below readers.
#[cfg(target_os = "linux")]
#[test]
fn a_file_cut_below_a_reader() {
    use rusqlite::ffi::{SQLITE_CORRUPT, SQLITE_IOERR_DATA};
    const SIGBUS: i32 = 7;
    if is_inside("a_file_cut_below_a_reader") {
        return read_while_the_file_shrinks();
    }
    let error = |code: i32| Ok(format!("error {code}"));
    let cases = [
        ("delete", "&mmap=off", "released", error(SQLITE_CORRUPT)),
        ("delete", "&mmap=off", "held", error(SQLITE_IOERR_DATA)),
        ("wal", "&mmap=off", "released", error(SQLITE_CORRUPT)),
        ("wal", "&mmap=off", "held", error(SQLITE_IOERR_DATA)),
        ("delete", "", "released", error(SQLITE_CORRUPT)),
        ("delete", "", "held", Err(SIGBUS)),
        ("wal", "", "released", error(SQLITE_CORRUPT)),
        ("wal", "", "held", Err(SIGBUS)),
    ];
    let mut wrong = Vec::new();
    for (mode, map, held, expected) in cases {
        let outcome = outcome_of_shrinking(mode, map, held);
        if outcome != expected {
            wrong.push(format!(
                "{mode} {map} {held}: {outcome:?}, not {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A verification reads by calls, so that a file that becomes shorter meanwhile is an error. If a
/// page did not open it looked for it in the log, which was still mapped.
#[cfg(target_os = "linux")]
#[test]
fn a_log_cut_below_a_verification() {
    const NAME: &str = "a_log_cut_below_a_verification";
    if is_inside(NAME) {
        sqlite_linked::register().expect("registers");
        let connection = open_uri(&std::env::var("SHRINK_URI").expect("set"));
        run(&connection, "PRAGMA cache_size=1; BEGIN");
        read_rows(&connection, "t").expect("reads the log");
        eprintln!("ready");
        std::io::stdin()
            .read_line(&mut String::new())
            .expect("read");
        eprintln!("said: {}", text(&connection, "PRAGMA strongroom_verify"));
        return;
    }
    let room = Room::new();
    let connection = room.open("x.db");
    run(
        &connection,
        "PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0",
    );
    fill(&connection, "t", 10 * ROWS);
    text(&connection, "PRAGMA wal_checkpoint");
    run(&connection, "PRAGMA cache_size=1; UPDATE t SET b = b || ''");
    let mut child = own_process(NAME)
        .env("SHRINK_URI", room.uri("x.db", ""))
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut line =
        |wanted: &str| lines.find_map(|line| line.ok().filter(|line| line.starts_with(wanted)));
    line("ready").expect("the reader is ready");
    let file = |name: &str| {
        let options = std::fs::File::options().write(true).to_owned();
        options.open(room.path(name)).expect("opens")
    };
    let mut database = file("x.db");
    let offset = (PAGES_OFFSET + 5 * PAGE_SIZE) as u64;
    database.seek(SeekFrom::Start(offset)).expect("seeks");
    database.write_all(&[0; 64]).expect("damages a page");
    file("x.db-wal").set_len(32).expect("cuts");
    writeln!(child.stdin.take().expect("piped"), "go").expect("writes");
    let said = line("said: ").expect("an answer");
    assert!(said.contains("do not open: 6"), "{said}");
    assert!(child.wait().expect("ended").success());
}

#[test]
fn a_plain_database_goes_from_exclusive_locking_to_the_log() {
    let room = Room::new();
    for (name, more) in [("plain.db", "&plain=on"), ("sealed.db", "")] {
        let connection = match more {
            "" => room.open(name),
            _ => common::files::open(&room, name, more),
        };
        run(
            &connection,
            "CREATE TABLE t(a); PRAGMA locking_mode=exclusive; CREATE TABLE u(a);
             PRAGMA journal_mode=wal; INSERT INTO u VALUES(1)",
        );
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok", "{name}");
        assert_eq!(text(&connection, "SELECT count(*) FROM u"), "1");
    }
}
