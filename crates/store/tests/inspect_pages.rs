//! Pages counted by epoch and, with a key, by kind.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use std::fs;
use store::inspect::{Kind, Pages, inspect_pages};
use support::{PAGE_SIZE, Room, edit, page_offset};

fn of_kind(pages: &Pages, kind: Kind) -> u64 {
    let counts = pages.counts.iter().filter(|count| count.kind == Some(kind));
    counts.map(|count| count.pages).sum()
}

fn kind_of(pages: &Pages, page: u64) -> Kind {
    let range = pages
        .ranges
        .iter()
        .find(|range| (range.first..=range.last).contains(&page));
    range.unwrap().kind.unwrap()
}

#[test]
fn every_page_has_its_kind() {
    let room = Room::new();
    let connection = room.open("x.db");
    connection
        .execute_batch(
            "PRAGMA auto_vacuum = 2;
             CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
             CREATE TABLE w(a TEXT PRIMARY KEY) WITHOUT ROWID;
             CREATE TABLE long(a);
             CREATE TABLE gone(a);
             CREATE INDEX t_b ON t(b);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
             INSERT INTO t SELECT i, 'row ' || hex(zeroblob(40)) || i FROM n;
             INSERT INTO w SELECT b FROM t;
             INSERT INTO long VALUES(zeroblob(50000));
             INSERT INTO gone VALUES(zeroblob(30000));
             DELETE FROM gone;",
        )
        .unwrap();
    let number =
        |sql: &str| connection.query_row(sql, [], |row| row.get(0).map(i64::cast_unsigned));
    let (free, total) = (
        number("PRAGMA freelist_count").unwrap(),
        number("PRAGMA page_count").unwrap(),
    );
    let trees = |name: &str| {
        number(&format!(
            "SELECT count(*) FROM dbstat WHERE name = '{name}' AND pagetype = 'leaf'"
        ))
    };
    let (rows, index, keys) = (trees("t"), trees("t_b"), trees("w"));
    drop(connection);
    let pages = inspect_pages(&room.path("x.db"), Some(&room.token)).unwrap();
    assert_eq!(pages.kinds_unknown, None);
    assert_eq!(pages.whole, total);
    assert_eq!(
        pages.counts.iter().map(|count| count.pages).sum::<u64>(),
        total
    );
    assert_eq!(kind_of(&pages, 1), Kind::Schema);
    assert_eq!(kind_of(&pages, 2), Kind::PointerMap);
    assert!(free > 5);
    assert_eq!(of_kind(&pages, Kind::Free), free);
    assert_eq!(of_kind(&pages, Kind::Overflow), 12);
    // The tables `long` and `gone` have one leaf each.
    assert_eq!(of_kind(&pages, Kind::TableLeaf), rows.unwrap() + 2);
    assert_eq!(
        of_kind(&pages, Kind::IndexLeaf),
        index.unwrap() + keys.unwrap()
    );
    assert!(of_kind(&pages, Kind::TableInterior) >= 1);
    assert!(of_kind(&pages, Kind::IndexInterior) >= 2);
    assert_eq!(of_kind(&pages, Kind::Lost), 0);
    assert_eq!(room.names(), ["x.db"]);
}

#[test]
fn without_a_key_epochs_and_sizes_are_reported() {
    let room = Room::new();
    let connection = room.make("x.db");
    connection
        .query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))
        .unwrap();
    for row in [1, 100] {
        let sql = "UPDATE t SET b = 'x' WHERE a = ?1";
        connection.execute(sql, [row]).unwrap();
    }
    let pages = inspect_pages(&room.path("x.db"), None).unwrap();
    let (log, file) = (pages.log.unwrap(), fs::metadata(room.path("x.db")).unwrap());
    assert_eq!((log.units, log.commits), (2, 2));
    assert_eq!((log.epochs[0].epoch, log.epochs[0].count), (1, 2));
    assert_eq!(pages.whole, (file.len() - 8192) / PAGE_SIZE as u64);
    assert_eq!(pages.ranges.len(), 1);
    assert_eq!((pages.ranges[0].epoch, pages.ranges[0].kind), (1, None));
    assert_eq!(pages.journal, None);

    connection
        .query_row("PRAGMA journal_mode=DELETE", [], |_| Ok(()))
        .unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE t SET b = hex(zeroblob(1400))")
        .unwrap();
    let journal = inspect_pages(&room.path("x.db"), None).unwrap().journal;
    let journal = journal.unwrap();
    assert!(journal.has_header && journal.units > 50, "{journal:?}");
    assert_eq!(journal.epochs.len(), 1, "{journal:?}");
    connection.execute_batch("ROLLBACK").unwrap();
    drop(connection);

    edit(&room.path("x.db"), |bytes| {
        bytes[page_offset(4) - 1] = 9;
        bytes.truncate(bytes.len() - 10);
    });
    let cut = inspect_pages(&room.path("x.db"), None).unwrap();
    assert_eq!(
        (cut.whole, cut.cut_size),
        (pages.whole - 1, PAGE_SIZE as u64 - 10)
    );
    assert_eq!((cut.ranges[1].first, cut.ranges[1].last), (3, 3));
    assert!(!cut.known_epochs.contains(&cut.ranges[1].epoch));
}
