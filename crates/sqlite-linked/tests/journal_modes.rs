//! All journal modes: switching, crashes, opening without locks, and the order in which writes
//! reach the files.

mod common;

use common::children::{Part, Player, report};
use common::images::{copy_database, open_image, open_stock, with_suffix};
use common::random::{Random, seeds};
use common::{Room, last_error, open_uri, text};
use rusqlite::{Connection, OpenFlags};

const MODES: [&str; 6] = ["delete", "truncate", "persist", "memory", "wal", "off"];
const ROWS: i64 = 60;

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}; {}", last_error(connection)));
}

/// A table with one row per page, and an index. The cache holds only a few pages, so that pages
/// reach the files before the commit.
fn create(connection: &Connection, settings: &str) {
    run(
        connection,
        &format!(
            "PRAGMA page_size=1024; PRAGMA cache_size=5; {settings};
             CREATE TABLE row(id INTEGER PRIMARY KEY, number, filling);
             CREATE INDEX by_number ON row(number);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{ROWS})
             INSERT INTO row SELECT i, 0, printf('%.*c', 700, 'x') FROM n"
        ),
    );
}

fn set_all(connection: &Connection, number: i64) {
    // Twice, so that pages evicted from the cache are written again.
    run(
        connection,
        &format!(
            "SAVEPOINT twice; UPDATE row SET number=id; UPDATE row SET number={number};
             RELEASE twice"
        ),
    );
}

/// Every row has this number, and the whole database is intact.
fn assert_all(connection: &Connection, number: i64) {
    let found = text(
        connection,
        "SELECT min(number) || ' ' || max(number) || ' ' || count(*) FROM row NOT INDEXED",
    );
    assert_eq!(found, format!("{number} {number} {ROWS}"));
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok");
}

#[test]
fn every_mode_follows_every_other() {
    for more in ["", "&mmap=off"] {
        let room = Room::new();
        let connection = room.open_with("a.db", more);
        create(&connection, "PRAGMA synchronous=OFF");
        let mut number = 0;
        for (from, to) in MODES.iter().flat_map(|a| MODES.iter().map(move |b| (a, b))) {
            for mode in [from, to] {
                let pragma = format!("PRAGMA journal_mode={mode}");
                assert_eq!(&text(&connection, &pragma), mode, "{from} to {to}");
                number += 1;
                set_all(&connection, number);
                assert_all(&connection, number);
            }
        }
        drop(connection);
        assert_all(&room.open("a.db"), number);
    }
}

#[test]
fn a_commit_is_in_the_files_when_it_returns() {
    for mode in MODES {
        for locking in ["normal", "exclusive"] {
            let room = Room::new();
            let connection = room.open("a.db");
            let settings = format!(
                "PRAGMA locking_mode={locking}; PRAGMA journal_mode={mode}; PRAGMA synchronous=OFF"
            );
            create(&connection, &settings);
            for number in 1..5 {
                set_all(&connection, number);
                let image = open_image(&room, "a.db");
                assert_all(&image, number);
                assert_all(&connection, number);
            }
        }
    }
}

#[test]
fn uncommitted_changes_are_rolled_back_by_the_next_connection() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        for sync in ["off", "full"] {
            let room = Room::new();
            let connection = room.open("a.db");
            create(
                &connection,
                &format!("PRAGMA journal_mode={mode}; PRAGMA synchronous={sync}"),
            );
            set_all(&connection, 1);
            run(&connection, "BEGIN");
            set_all(&connection, 2);
            assert_all(&open_image(&room, "a.db"), 1);
            run(&connection, "SAVEPOINT s");
            set_all(&connection, 3);
            run(&connection, "ROLLBACK TO s");
            assert_all(&open_image(&room, "a.db"), 1);
            run(&connection, "COMMIT");
            assert_all(&connection, 2);
            assert_all(&open_image(&room, "a.db"), 2);
        }
    }
}

#[test]
fn frames_of_a_rollback_do_not_come_back() {
    for more in ["", "&mmap=off"] {
        let room = Room::new();
        let first = room.open_with("a.db", more);
        create(&first, "PRAGMA journal_mode=wal; PRAGMA synchronous=OFF");
        let second = room.open_with("a.db", more);
        run(
            &first,
            "PRAGMA cache_size=60; PRAGMA wal_checkpoint(TRUNCATE)",
        );
        for number in 1..5 {
            run(&first, "PRAGMA cache_size=50; BEGIN");
            set_all(&first, -number);
            run(&first, "ROLLBACK");
            set_all(&second, number);
            assert_all(&first, number);
            assert_all(&second, number);
            assert_all(&open_image(&room, "a.db"), number);
        }
    }
}

/// Opens the database while another connection creates it, in a transaction whose pages have
/// already reached the file.
fn opened_during_creation(room: &Room) -> (Connection, Connection) {
    let creator = room.open("a.db");
    run(
        &creator,
        "PRAGMA page_size=1024; PRAGMA cache_size=5; BEGIN",
    );
    run(
        &creator,
        "CREATE TABLE t(a);
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100)
         INSERT INTO t SELECT printf('%.*c', 700, 'x') FROM n",
    );
    let size = std::fs::metadata(room.path("a.db")).expect("a file").len();
    assert!(size > 8192, "pages are there: {size}");
    let other = room.open("a.db");
    (creator, other)
}

#[test]
fn a_creation_is_rolled_back_and_another_creates() {
    let room = Room::new();
    let (creator, other) = opened_during_creation(&room);
    run(&creator, "ROLLBACK");
    run(&other, "CREATE TABLE other(a); INSERT INTO other VALUES(7)");
    assert_eq!(text(&creator, "SELECT a FROM other"), "7");
    assert_eq!(text(&room.open("a.db"), "SELECT a FROM other"), "7");
}

#[test]
fn a_creation_is_rolled_back_and_a_third_creates() {
    let room = Room::new();
    let (creator, other) = opened_during_creation(&room);
    run(&creator, "ROLLBACK");
    let third = room.open("a.db");
    run(&third, "CREATE TABLE third(a); INSERT INTO third VALUES(7)");
    assert_eq!(text(&other, "SELECT a FROM third"), "7");
    assert_eq!(text(&creator, "SELECT a FROM third"), "7");
    run(&other, "INSERT INTO third VALUES(8)");
    run(&creator, "INSERT INTO third VALUES(9)");
    drop((creator, other, third));
    assert_eq!(text(&room.open("a.db"), "SELECT sum(a) FROM third"), "24");
}

#[test]
fn a_creation_goes_on_and_is_seen() {
    let room = Room::new();
    let (creator, other) = opened_during_creation(&room);
    run(&creator, "COMMIT");
    assert_eq!(text(&other, "SELECT count(*) FROM t"), "100");
    run(&other, "INSERT INTO t VALUES(1)");
    assert_eq!(text(&creator, "SELECT count(*) FROM t"), "101");
}

#[test]
fn a_dead_creation_leaves_an_empty_database() {
    let room = Room::new();
    let (_creator, _other) = opened_during_creation(&room);
    let image = open_image(&room, "a.db");
    assert_eq!(text(&image, "SELECT count(*) FROM sqlite_schema"), "0");
    create(&image, "");
    assert_all(&image, 0);
    drop(image);
    assert_all(&room.open("image-of-a.db"), 0);
}

fn open_read_only(room: &Room, name: &str, more: &str) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(room.uri(name, more), flags).expect("opens")
}

#[test]
fn reading_without_writing_and_without_locks() {
    for mode in ["delete", "persist", "wal"] {
        let room = Room::new();
        let connection = room.open("a.db");
        create(
            &connection,
            &format!("PRAGMA journal_mode={mode}; PRAGMA synchronous=OFF"),
        );
        set_all(&connection, 1);
        let reader = open_read_only(&room, "a.db", "");
        assert_all(&reader, 1);
        let refused = reader
            .execute_batch("DELETE FROM row")
            .expect_err("refused");
        assert!(refused.to_string().contains("readonly"), "{refused}");
        set_all(&connection, 2);
        assert_all(&reader, 2);
        drop((reader, connection));
        for more in ["", "&immutable=1", "&nolock=1", "&mmap=off&immutable=1"] {
            if mode == "wal" && more == "&nolock=1" {
                continue; // Stock SQLite has no log without locks either.
            }
            assert_all(&open_read_only(&room, "a.db", more), 2);
        }
    }
}

#[test]
fn a_database_is_created_and_written_without_locks() {
    let room = Room::new();
    let connection = room.open_with("a.db", "&nolock=1");
    create(&connection, "");
    set_all(&connection, 3);
    drop(connection);
    assert_all(&room.open_with("a.db", "&nolock=1"), 3);
    assert_all(&room.open("a.db"), 3);
}

#[test]
fn an_exclusive_log_needs_no_shared_memory() {
    let room = Room::new();
    let connection = room.open("a.db");
    create(
        &connection,
        "PRAGMA locking_mode=exclusive; PRAGMA journal_mode=wal; PRAGMA synchronous=OFF",
    );
    for number in 1..4 {
        set_all(&connection, number);
        run(&connection, "BEGIN");
        set_all(&connection, -1);
        run(&connection, "ROLLBACK");
        assert!(!with_suffix(&room.path("a.db"), "-shm").exists());
        assert_all(&open_image(&room, "a.db"), number);
    }
    run(
        &connection,
        "PRAGMA journal_mode=delete; PRAGMA locking_mode=normal; PRAGMA journal_mode=wal",
    );
    let second = room.open("a.db");
    set_all(&second, 9);
    assert_all(&connection, 9);
}

/// Without power-safe overwrite SQLite pads the log to the end of a sector with copies of the last
/// frame, and splits a write at the sector's end to sync in between.
#[test]
fn frames_are_divided_at_the_ends_of_sectors() {
    for page_size in [512, 1024, 4096, 65536] {
        let room = Room::new();
        let connection = room.open_with("a.db", "&psow=0");
        run(&connection, &format!("PRAGMA page_size={page_size}"));
        create(
            &connection,
            "PRAGMA journal_mode=wal; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0",
        );
        run(
            &connection,
            "CREATE TABLE small(a); INSERT INTO small VALUES(0)",
        );
        let transactions = if page_size == 4096 { 200 } else { 20 };
        for number in 1..=transactions {
            run(&connection, &format!("UPDATE small SET a={number}"));
            if number % 10 == 0 {
                set_all(&connection, number);
                let image = open_image(&room, "a.db");
                assert_eq!(text(&image, "SELECT a FROM small"), number.to_string());
                assert_all(&image, number);
            }
        }
        assert_all(&connection, transactions);
        run(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
        assert_all(&connection, transactions);
    }
}

#[test]
fn sizes_of_journals_are_limited() {
    const LIMIT: u64 = 20_000;
    let size = |room: &Room, suffix: &str| {
        std::fs::metadata(with_suffix(&room.path("a.db"), suffix)).map_or(0, |file| file.len())
    };
    let room = Room::new();
    let connection = room.open("a.db");
    create(
        &connection,
        "PRAGMA journal_mode=persist; PRAGMA journal_size_limit=20000; PRAGMA synchronous=OFF",
    );
    for number in 1..4 {
        set_all(&connection, number);
        assert!((1..=LIMIT).contains(&size(&room, "-journal")));
        assert_all(&open_image(&room, "a.db"), number);
    }
    run(
        &connection,
        "PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=20",
    );
    for number in 4..9 {
        set_all(&connection, number);
        assert!(size(&room, "-wal") > LIMIT);
        assert_all(&open_image(&room, "a.db"), number);
        // The log is restarted and truncated to the limit.
        run(
            &connection,
            "CREATE TABLE IF NOT EXISTS other(a); INSERT INTO other VALUES(1)",
        );
        assert!(size(&room, "-wal") <= LIMIT);
        assert_all(&open_image(&room, "a.db"), number);
    }
}

/// Writes to two databases in each transaction; not a test of its own.
#[test]
fn writer_of_two() {
    let Some(part) = Part::mine() else { return };
    sqlite_linked::register().expect("registers");
    let connection = open_uri(&part.uri);
    run(
        &connection,
        &format!("ATTACH '{}' AS other", part.detail[0]),
    );
    run(
        &connection,
        "PRAGMA main.cache_size=5; PRAGMA other.cache_size=5; PRAGMA synchronous=NORMAL",
    );
    for number in text(&connection, "SELECT max(number)+1 FROM main.row")
        .parse::<i64>()
        .expect("a number")..
    {
        run(
            &connection,
            &format!(
                "BEGIN; UPDATE main.row SET number={number}; UPDATE other.row SET number={number};
                 COMMIT"
            ),
        );
        report(&format!("committed {number}"));
    }
}

#[test]
fn a_transaction_over_two_databases_is_in_both_or_in_neither() {
    for seed in seeds([3]) {
        let mut random = Random::new(seed);
        for mode in ["delete", "truncate", "persist"] {
            let room = Room::new();
            let other_uri = format!(
                "file:{}?vfs=strongroom&key_file={}",
                room.path("other.db").display(),
                room.path("other-key").display()
            );
            let settings = format!("PRAGMA journal_mode={mode}");
            create(&room.open("a.db"), &settings);
            create(&open_uri(&other_uri), &settings);
            for round in 0..6 {
                let uri = room.uri("a.db", "");
                let mut player = Player::start("writer_of_two", "writer", &uri, &other_uri);
                let reports = 1 + random.below(6);
                let mut said: Vec<_> = (0..reports).map_while(|_| player.line()).collect();
                let delay = random.below(5000);
                std::thread::sleep(std::time::Duration::from_micros(delay));
                said.extend(player.kill());
                println!("seed {seed}, {mode}, round {round}: {said:?}, {delay} us");
                let reported: i64 = said
                    .last()
                    .and_then(|line| line.strip_prefix("committed ")?.parse().ok())
                    .expect("a report");
                let (first, second) = if random.once_in(2) {
                    let first = room.open("a.db");
                    (number_in(&first), number_in(&open_uri(&other_uri)))
                } else {
                    let second = number_in(&open_uri(&other_uri));
                    (number_in(&room.open("a.db")), second)
                };
                assert_eq!(first, second);
                assert!(first >= reported);
                assert_all(&room.open("a.db"), first);
                assert_all(&open_uri(&other_uri), first);
            }
        }
    }
}

fn number_in(connection: &Connection) -> i64 {
    let number = text(connection, "SELECT max(number) FROM row");
    number.parse().expect("a number")
}

/// The same database twice: on Strongroom and on stock SQLite, with identical journal layout.
fn twins(room: &Room, settings: &str) -> [Connection; 2] {
    let both = [room.open("a.db"), open_stock(room, "stock.db")];
    for connection in &both {
        create(connection, settings);
    }
    both
}

/// The numbers of all rows.
const NUMBERS: &str = "SELECT group_concat(number) FROM (SELECT number FROM row ORDER BY id)";
/// The rows that were not rolled back. Which of two uncommitted values they have is not guaranteed.
const CHANGED: &str = "SELECT group_concat(number > 0) FROM (SELECT number FROM row ORDER BY id)";

/// The rows in the images of both twins, after a change to a file of one of them.
fn numbers_after(
    room: &Room,
    suffix: &str,
    numbers: &str,
    change: &dyn Fn(&mut Vec<u8>),
) -> [Result<String, String>; 2] {
    ["a.db", "stock.db"].map(|name| {
        let image = room.path(&format!("torn-{name}"));
        copy_database(&room.path(name), &image);
        let path = with_suffix(&image, suffix);
        let mut bytes = std::fs::read(&path).expect("readable");
        change(&mut bytes);
        std::fs::write(&path, bytes).expect("written");
        let connection = if name == "a.db" {
            room.open("torn-a.db")
        } else {
            open_stock(room, "torn-stock.db")
        };
        connection
            .query_row(numbers, [], |row| row.get(0))
            .map_err(|error| error.to_string())
    })
}

fn journal_size(room: &Room, suffix: &str) -> usize {
    let [ours, stock] = ["a.db", "stock.db"].map(|name| {
        let path = with_suffix(&room.path(name), suffix);
        std::fs::metadata(path).expect("a journal").len() as usize
    });
    assert_eq!(ours, stock, "journals of one layout");
    ours
}

#[test]
fn a_torn_log_ends_where_it_would_in_clear() {
    const FRAME_SIZE: usize = 24 + 1024;
    for seed in seeds([4]) {
        let mut random = Random::new(seed);
        let room = Room::new();
        let both = twins(
            &room,
            "PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF",
        );
        for connection in &both {
            run(connection, "DROP INDEX by_number; PRAGMA cache_size=100");
            run(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
            for number in 1..=12 {
                // One to five pages, one row each; the last row holds the number of the
                // transaction.
                let rows = number % 5;
                run(
                    connection,
                    &format!("UPDATE row SET number={number} WHERE id <= {rows} OR id = {ROWS}"),
                );
            }
        }
        let size = journal_size(&room, "-wal");
        for step in 0..60 {
            let near =
                32 + random.below(((size - 32) / FRAME_SIZE) as u64 + 1) as usize * FRAME_SIZE;
            let at = match step % 4 {
                0 => near,
                1 => near + random.below(30) as usize,
                2 => near.saturating_sub(1 + random.below(30) as usize),
                _ => random.below(size as u64 + 1) as usize,
            };
            let [ours, stock] = numbers_after(&room, "-wal", NUMBERS, &|bytes| bytes.truncate(at));
            assert_eq!(ours, stock, "seed {seed}: cut at {at} of {size}");
            let bit = 1 << random.below(8);
            let [ours, stock] = numbers_after(&room, "-wal", NUMBERS, &|bytes| {
                let at = at.min(size - 1);
                bytes[at] ^= bit;
            });
            assert_eq!(ours, stock, "seed {seed}: bit {bit} of byte {at} of {size}");
        }
    }
}

#[test]
fn a_torn_rollback_journal_ends_where_it_would_in_clear() {
    const RECORD_SIZE: usize = 4 + 1024 + 4;
    for seed in seeds([5]) {
        let mut random = Random::new(seed);
        for settings in ["PRAGMA synchronous=OFF", "PRAGMA synchronous=FULL"] {
            let room = Room::new();
            let both = twins(&room, settings);
            for connection in &both {
                run(connection, "DROP INDEX by_number; BEGIN");
                set_all(connection, 1);
                // The statement's last pages, and with them the journal's last records.
                run(connection, "PRAGMA cache_spill=1; PRAGMA cache_size=1");
                set_all(connection, 2);
            }
            copy_database(&room.path("a.db"), &room.path("whole.db"));
            let size = journal_size(&room, "-journal");
            for step in 0..40 {
                let at = match step % 2 {
                    0 => random.below(size as u64 + 1) as usize,
                    _ => 512 + random.below((size / RECORD_SIZE) as u64) as usize * RECORD_SIZE,
                };
                let [ours, stock] =
                    numbers_after(&room, "-journal", CHANGED, &|bytes| bytes.truncate(at));
                assert_eq!(
                    ours, stock,
                    "seed {seed}, {settings}: cut at {at} of {size}"
                );
            }
        }
    }
}

/// What a connection with a filled cache sees, after another has committed to the log and this one
/// has then left WAL mode.
fn seen_after_leaving_the_log(open: impl Fn() -> Connection, look_first: bool) -> String {
    create(&open(), "PRAGMA journal_mode=wal");
    let first = open();
    let sizes = "SELECT sum(length(filling)) FROM row";
    assert_eq!(text(&first, sizes), (ROWS * 700).to_string());
    run(&open(), "UPDATE row SET filling = 'y' WHERE id = 11");
    if look_first {
        text(&first, sizes);
    }
    assert_eq!(text(&first, "PRAGMA journal_mode=delete"), "delete");
    text(&first, sizes)
}

/// SQLite (seen in 3.40 and in the linked version) keeps its cache when it leaves WAL mode, and
/// misses transactions that others have written to the log since its last read, unless they changed
/// page 1. A connection that reads first is safe. Stock SQLite behaves the same on plain files; if
/// either behaviour changes, the manual must be updated.
#[test]
fn leaving_wal_mode_without_a_read_keeps_a_stale_cache_as_in_stock_sqlite() {
    let room = Room::new();
    for look_first in [true, false] {
        let name = format!("{look_first}.db");
        let ours = seen_after_leaving_the_log(|| room.open(&name), look_first);
        let name = format!("stock-{name}");
        let stock = seen_after_leaving_the_log(|| open_stock(&room, &name), look_first);
        assert_eq!(ours, stock);
        let whole = (ROWS * 700).to_string();
        assert_eq!(
            ours == whole,
            !look_first,
            "the cache is stale without a look: {ours}"
        );
    }
}
