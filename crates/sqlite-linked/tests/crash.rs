//! Processes that die while they write: everything they reported as committed is there, and nothing
//! is half done.

mod common;

use std::time::Duration;

use common::children::{Part, Player, report};
use common::random::{Random, seeds};
use common::{Room, last_error, open_uri, text};
use rusqlite::Connection;

/// Rows that each transaction rewrites, on many more pages than the cache holds.
const ROWS: i64 = 60;
/// The modes that promise atomicity. Unlike a power failure, the death of a process loses nothing
/// even without syncs.
const MODES: [&str; 4] = ["delete", "truncate", "persist", "wal"];
const SYNCS: [&str; 3] = ["full", "normal", "off"];

/// The writer that is killed; not a test of its own.
#[test]
fn writer() {
    let Some(part) = Part::mine() else { return };
    sqlite_linked::register().expect("registers");
    let connection = open_uri(&part.uri);
    let settings = format!(
        "PRAGMA busy_timeout=10000; PRAGMA page_size=1024; PRAGMA journal_mode={};
         PRAGMA synchronous={}; PRAGMA locking_mode={}; PRAGMA cache_size=5;
         PRAGMA wal_autocheckpoint=150",
        part.detail[0], part.detail[1], part.detail[2]
    );
    run(&connection, &settings);
    report("ready");
    if last_transaction(&connection) == 0 {
        run(&connection, &creation());
        report("committed 1");
    }
    for number in last_transaction(&connection) + 1.. {
        run(&connection, &transaction(number));
        report(&format!("committed {number}"));
    }
}

fn run(connection: &Connection, sql: &str) {
    connection
        .execute_batch(sql)
        .unwrap_or_else(|error| panic!("{error}; {}: {sql}", last_error(connection)));
}

fn creation() -> String {
    format!(
        "BEGIN;
         CREATE TABLE row(id INTEGER PRIMARY KEY, number, filling);
         CREATE INDEX by_number ON row(number, id);
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{ROWS})
         INSERT INTO row SELECT i, 1, printf('%.*c', 100 + i*37 % 2000, 'x') FROM n;
         COMMIT"
    )
}

/// Sets every row to the number. Before every fifth transaction another one is rolled back after
/// its pages have spilled.
fn transaction(number: i64) -> String {
    let rewrite = |number: i64| {
        format!(
            "UPDATE row SET number={number},
                filling=printf('%.*c', 100 + (id*37 + {number}*101) % 2000, 'x');"
        )
    };
    let discarded = if number % 5 == 0 {
        format!("BEGIN; {} ROLLBACK;", rewrite(-number))
    } else {
        String::new()
    };
    format!("{discarded} BEGIN; {} COMMIT", rewrite(number))
}

/// The number of the last transaction, 0 in an empty database.
fn last_transaction(connection: &Connection) -> i64 {
    let tables = text(connection, "SELECT count(*) FROM sqlite_schema");
    if tables == "0" {
        return 0;
    }
    let numbers = text(
        connection,
        "SELECT min(number) || ' ' || max(number) FROM row",
    );
    let (least, greatest) = numbers.split_once(' ').expect("two numbers");
    assert_eq!(least, greatest, "half a transaction");
    least.parse().expect("a number")
}

/// Runs a writer, kills it after the given number of reports and some microseconds, and checks the
/// files. Returns the last transaction.
fn kill_and_check(room: &Room, settings: &str, reports: u64, delay: Duration) -> i64 {
    let mut player = Player::start("writer", "writer", &room.uri("crash.db", ""), settings);
    let mut reported: Vec<String> = (0..reports).map_while(|_| player.line()).collect();
    std::thread::sleep(delay);
    reported.extend(player.kill());
    let committed = reported.iter().rev().find_map(|line| {
        let number = line.strip_prefix("committed ")?;
        Some(number.parse::<i64>().expect("a number"))
    });
    let committed = committed.unwrap_or(0);
    assert!(
        !reported.iter().any(|line| line.contains("panicked")),
        "{reported:#?}"
    );
    let connection = room.open("crash.db");
    connection
        .execute_batch("PRAGMA busy_timeout=10000")
        .expect("a pragma");
    let last = last_transaction(&connection);
    assert!(last >= committed, "{last} is left of {committed}");
    if last > 0 {
        let counted = "SELECT count(*) FROM row INDEXED BY by_number WHERE number=";
        let counted = text(&connection, &format!("{counted}{last}"));
        assert_eq!(counted, ROWS.to_string());
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
        assert_eq!(text(&connection, "PRAGMA strongroom_verify"), "ok");
    }
    last
}

fn settings() -> impl Iterator<Item = (usize, String)> {
    let pairs = MODES
        .iter()
        .flat_map(|mode| SYNCS.iter().map(move |sync| (mode, sync)));
    pairs.enumerate().map(|(index, (mode, sync))| {
        let locking = if index % 4 == 3 {
            "exclusive"
        } else {
            "normal"
        };
        (index, format!("{mode} {sync} {locking}"))
    })
}

#[test]
fn a_killed_writer_loses_no_transaction_and_leaves_no_half() {
    for seed in seeds([1]) {
        let mut random = Random::new(seed);
        for (_, settings) in settings() {
            let room = Room::new();
            let mut last = 0;
            for round in 0..4 {
                let reports = 1 + random.below(12);
                let delay = Duration::from_micros(random.below(6000));
                println!("seed {seed}, {settings}, round {round}: {reports} reports, {delay:?}");
                let now = kill_and_check(&room, &settings, reports, delay);
                assert!(
                    now >= last,
                    "transaction {last} was there before, now {now}"
                );
                last = now;
            }
        }
    }
}

#[test]
fn a_writer_killed_while_it_creates_leaves_nothing_or_all() {
    for seed in seeds([2]) {
        let mut random = Random::new(seed);
        for (index, settings) in settings() {
            let room = Room::new();
            // Each round's writer starts with the file of the round before.
            for round in 0..4 {
                let delay = Duration::from_micros(random.below(25_000));
                let reports = (index as u64 + round) % 2;
                println!("seed {seed}, {settings}, round {round}: {reports} reports, {delay:?}");
                kill_and_check(&room, &settings, reports, delay);
            }
            let connection = room.open("crash.db");
            connection
                .execute_batch("CREATE TABLE usable(a); INSERT INTO usable VALUES(1)")
                .expect("usable");
            assert_eq!(text(&connection, "SELECT a FROM usable"), "1");
        }
    }
}
