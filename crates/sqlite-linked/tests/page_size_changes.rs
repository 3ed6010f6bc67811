//! A change of page size in place, by VACUUM and by the backup API: same results as with stock
//! SQLite.

mod common;

use common::images::open_stock;
use common::{Room, last_error, text};
use rusqlite::Connection;
use rusqlite::backup::Backup;

const PAGE_SIZES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}; {}", last_error(connection)));
}

/// A table with rows that fill pages to the last byte, an index, and free pages.
fn fill(connection: &Connection, rows: u32) {
    run(
        connection,
        &format!(
            "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB); CREATE INDEX i ON t(substr(b, 1, 30));
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
             INSERT INTO t SELECT i, zeroblob(i % 7) || randomblob(50 + i * 37 % 900) FROM n;
             INSERT INTO t SELECT a + 100000, b FROM t; DELETE FROM t WHERE a % 3 = 2"
        ),
    );
}

fn content(connection: &Connection) -> String {
    text(
        connection,
        "SELECT count(*) || ' ' || hex(group_concat(b, '/')) FROM (SELECT b FROM t ORDER BY a)",
    )
}

fn assert_sound(connection: &Connection) {
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok");
}

fn header_page_size(room: &Room, name: &str) -> u32 {
    let bytes = std::fs::read(room.path(name)).expect("readable");
    let region = page_codec::header::HeaderRegion::parse(&bytes).expect("a header");
    assert_eq!(region.intact, [true, true]);
    region.header.page_size
}

fn made(room: &Room, name: &str, page_size: u32, rows: u32, more: &str) -> Connection {
    let connection = room.open_with(name, more);
    run(&connection, &format!("PRAGMA page_size={page_size}"));
    fill(&connection, rows);
    connection
}

#[test]
fn vacuum_gives_an_attached_file_the_page_size_of_the_connection() {
    let room = Room::new();
    let arch = made(&room, "arch.db", 4096, 300, "");
    let before = content(&arch);
    drop(arch);
    let connection = room.open("new.db");
    run(&connection, "PRAGMA page_size=8192");
    run(
        &connection,
        &format!("ATTACH '{}' AS arch", room.uri("arch.db", "")),
    );
    run(&connection, "VACUUM arch");
    assert_eq!(text(&connection, "PRAGMA arch.page_size"), "8192");
    drop(connection);
    assert_eq!(header_page_size(&room, "arch.db"), 8192);
    let arch = room.open("arch.db");
    assert_sound(&arch);
    assert_eq!(content(&arch), before);
}

#[test]
fn vacuum_changes_the_page_size_in_every_journal_mode() {
    for (index, mode) in ["delete", "truncate", "persist", "memory", "off", "wal"]
        .into_iter()
        .enumerate()
    {
        for (from, to) in [(512, 65536), (65536, 512), (4096, 1024), (1024, 4096)] {
            let room = Room::new();
            let more = ["", "&freshness=on", "&mmap=off"][index % 3];
            let connection = made(&room, "x.db", from, 120, more);
            let before = content(&connection);
            text(&connection, &format!("PRAGMA journal_mode={mode}"));
            let expected = if mode == "wal" { from } else { to };
            for cache_size in [2, 2000] {
                run(&connection, &format!("PRAGMA cache_size={cache_size}"));
                run(&connection, &format!("PRAGMA page_size={to}; VACUUM"));
                let page_size = text(&connection, "PRAGMA page_size");
                assert_eq!(page_size, expected.to_string(), "{mode} {from} to {to}");
                assert_sound(&connection);
                assert_eq!(content(&connection), before);
                run(
                    &connection,
                    "INSERT INTO t VALUES(-1, 'x'); DELETE FROM t WHERE a = -1",
                );
            }
            drop(connection);
            assert_eq!(header_page_size(&room, "x.db"), expected);
            let again = room.open_with("x.db", more);
            assert_sound(&again);
            assert_eq!(content(&again), before);
        }
    }
}

#[test]
fn a_backup_onto_a_file_of_another_page_size_is_as_with_stock() {
    for rows in [1, 500] {
        for (index, from) in PAGE_SIZES.into_iter().enumerate() {
            for to in [
                PAGE_SIZES[(index + 3) % 8],
                PAGE_SIZES[(index + 6) % 8],
                4096,
            ] {
                let room = Room::new();
                let source = made(&room, "source.db", from, rows, "");
                for (old_rows, mode) in [(3, "delete"), (700, "persist"), (700, "wal")] {
                    let name = format!("{old_rows}-{mode}.db");
                    let mut target = made(&room, &name, to, old_rows, "");
                    text(&target, &format!("PRAGMA journal_mode={mode}"));
                    let before = content(&target);
                    let backup = Backup::new(&source, &mut target).expect("begins");
                    let result = backup.run_to_completion(7, std::time::Duration::ZERO, None);
                    drop(backup);
                    let is_refused = mode == "wal" && from != to;
                    assert_eq!(result.is_err(), is_refused, "{result:?} {from} {to} {mode}");
                    let expected = if is_refused { before } else { content(&source) };
                    assert_eq!(content(&target), expected, "{from} {to} {mode}");
                    assert_sound(&target);
                    drop(target);
                    let size = if is_refused { to } else { from };
                    assert_eq!(header_page_size(&room, &name), size);
                    let target = room.open(&name);
                    assert_sound(&target);
                    assert_eq!(content(&target), expected);
                }
            }
        }
    }
}

#[test]
fn other_connections_read_and_write_on_after_the_page_size_changed() {
    for map in ["", "&mmap=off", "&freshness=on"] {
        for (from, to) in [(4096, 16384), (16384, 512)] {
            let room = Room::new();
            let first = made(&room, "x.db", from, 200, map);
            let second = room.open_with("x.db", map);
            let before = content(&second);
            let mut statement = second.prepare("SELECT count(*) FROM t").expect("prepares");
            run(&first, &format!("PRAGMA page_size={to}; VACUUM"));
            let count: i64 = statement.query_row([], |row| row.get(0)).expect("reads");
            drop(statement);
            assert!(count > 0);
            assert_eq!(content(&second), before);
            assert_sound(&second);
            run(&second, "UPDATE t SET b = b || 'more' WHERE a % 2");
            assert_eq!(content(&first), content(&second));
            run(&second, &format!("PRAGMA page_size={from}; VACUUM"));
            assert_sound(&first);
            assert_eq!(content(&first), content(&second));
        }
    }
}

#[test]
fn a_change_of_page_size_that_is_rolled_back_leaves_the_file_unchanged() {
    for (from, to) in [(4096, 16384), (16384, 1024)] {
        for mode in ["delete", "persist", "memory"] {
            let room = Room::new();
            let source = made(&room, "source.db", to, 400, "");
            let mut target = made(&room, "target.db", from, 400, "");
            run(&target, "PRAGMA cache_size=3");
            text(&target, &format!("PRAGMA journal_mode={mode}"));
            let before = content(&target);
            let backup = Backup::new(&source, &mut target).expect("begins");
            backup.step(20).expect("copies a part");
            drop(backup);
            assert_eq!(content(&target), before, "{mode} {from} {to}");
            assert_sound(&target);
            drop(target);
            assert_eq!(header_page_size(&room, "target.db"), from);
            assert_eq!(content(&room.open("target.db")), before);
        }
    }
}

#[test]
fn the_page_size_is_known_before_the_first_read() {
    let room = Room::new();
    drop(made(&room, "x.db", 8192, 5, ""));
    let connection = room.open("x.db");
    assert_eq!(text(&connection, "PRAGMA page_size"), "8192");
    let stock = open_stock(&room, "stock.db");
    run(&stock, "PRAGMA page_size=8192; CREATE TABLE t(a)");
    drop(stock);
    assert_eq!(
        text(&open_stock(&room, "stock.db"), "PRAGMA page_size"),
        "8192"
    );
    let keyless = room.open_keyless("x.db");
    run(&keyless, &format!("PRAGMA hexkey='{}'", "11".repeat(32)));
    assert_eq!(text(&keyless, "PRAGMA page_size"), "8192");
    assert_eq!(text(&keyless, "SELECT count(*) FROM t"), "6");
}

#[test]
fn a_backup_of_a_database_without_reserved_bytes_is_refused_and_changes_nothing() {
    let room = Room::new();
    let source = open_stock(&room, "plain.db");
    run(&source, "PRAGMA page_size=8192");
    fill(&source, 200);
    let mut target = made(&room, "target.db", 4096, 50, "");
    let before = content(&target);
    let backup = Backup::new(&source, &mut target).expect("begins");
    let result = backup.run_to_completion(5, std::time::Duration::ZERO, None);
    drop(backup);
    assert!(result.is_err());
    assert!(last_error(&target).contains("without the 32 reserved bytes"));
    assert_eq!(content(&target), before);
    assert_sound(&target);
}

#[test]
fn verify_finds_a_page_1_that_does_not_fit_its_header() {
    use keyring::Credential;
    use page_codec::page::{PageCodec, PagePlace};
    const PAGES_OFFSET: usize = page_codec::header::REGION_SIZE;
    let cases = [(16, 0x20, "a page size of 8192"), (20, 0, "reserved")];
    for (offset, value, said) in cases {
        let room = Room::new();
        drop(made(&room, "x.db", 4096, 20, ""));
        let mut bytes = std::fs::read(room.path("x.db")).expect("readable");
        let header = page_codec::header::HeaderRegion::parse(&bytes)
            .expect("a header")
            .header;
        let key = keyring::source::parse_raw_key("11".repeat(32).as_bytes()).expect("a key");
        let unlocked =
            keyring::slots::unlock(&header, &Credential::key_file(key)).expect("the key");
        let mut codec = PageCodec::new(
            header.cipher,
            header.file_id,
            header.current_epoch,
            &unlocked.epochs,
        )
        .expect("a codec");
        let sealed = &mut bytes[PAGES_OFFSET..][..4096];
        let mut page = vec![0; 4096];
        codec
            .open(PagePlace::main(1), sealed, &mut page)
            .expect("opens");
        page[offset] = value;
        codec
            .seal(PagePlace::main(1), &[7; 12], &page, sealed)
            .expect("seals");
        std::fs::write(room.path("x.db"), bytes).expect("writable");
        // SQLite would refuse the file before it reads more.
        let connection = room.open("x.db");
        let verdict = text(&connection, "PRAGMA strongroom_verify");
        assert!(
            verdict.ends_with("pages do not open: 1"),
            "{offset}: {verdict}"
        );
        let reason = last_error(&connection);
        assert!(reason.contains(said), "{offset}: {reason}");
    }
}
