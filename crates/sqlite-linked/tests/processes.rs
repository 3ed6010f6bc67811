//! Several processes and threads on one encrypted database: money moves between accounts, and every
//! reader sees the same total.

mod common;

use std::time::Duration;

use common::children::{Part, Player};
use common::random::{Random, seeds};
use common::{Room, last_error, open_uri, text};
use rusqlite::{Connection, ErrorCode};

const ACCOUNTS: u64 = 40;
const SUM: &str = "40000";
const TRANSFERS: u64 = 250;

/// One customer, in a separate process; not a test of its own.
#[test]
fn customer() {
    let Some(part) = Part::mine() else { return };
    sqlite_linked::register().expect("registers");
    let seed = part.detail[0].parse().expect("a number");
    let checkpoints = part.name == "checkpointer";
    visit(&part.uri, &part.detail[1], seed, checkpoints);
}

fn settings(journal_mode: &str) -> String {
    format!(
        "PRAGMA busy_timeout=60000; PRAGMA journal_mode={journal_mode}; PRAGMA synchronous=OFF;
         PRAGMA cache_size=6; PRAGMA wal_autocheckpoint=40"
    )
}

fn found_bank(room: &Room, journal_mode: &str) {
    let connection = room.open("bank.db");
    run(
        &connection,
        &format!(
            "PRAGMA page_size=1024; {};
             CREATE TABLE account(id INTEGER PRIMARY KEY, balance, filling);
             CREATE INDEX by_balance ON account(balance);
             CREATE TABLE receipt(id INTEGER PRIMARY KEY, customer, filling);
             CREATE INDEX by_customer ON receipt(customer);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{ACCOUNTS})
             INSERT INTO account SELECT i, 1000, printf('%.*c', 700, 'x') FROM n",
            settings(journal_mode)
        ),
    );
}

/// What one customer does.
fn visit(uri: &str, journal_mode: &str, seed: u64, checkpoints: bool) {
    let connection = open_uri(uri);
    run(&connection, &settings(journal_mode));
    let mut random = Random::new(seed);
    let mut transfers = 0;
    for _ in 0..TRANSFERS {
        transfers += i32::from(transfer(&connection, &mut random, seed));
        look(&connection);
        let receipts = format!("SELECT count(*) FROM receipt WHERE customer={seed}");
        assert_eq!(text(&connection, &receipts), transfers.to_string());
        if checkpoints {
            let kind = random.pick(&["PASSIVE", "FULL", "RESTART", "TRUNCATE"]);
            // Busy is a result here, not an error.
            text(&connection, &format!("PRAGMA wal_checkpoint({kind})"));
        }
    }
}

/// Returns whether the transfer was made, or called off.
fn transfer(connection: &Connection, random: &mut Random, customer: u64) -> bool {
    let (from, to) = (1 + random.below(ACCOUNTS), 1 + random.below(ACCOUNTS));
    let (amount, size) = (random.below(50), random.below(3000));
    run(connection, "BEGIN IMMEDIATE");
    if random.once_in(4) {
        // More pages than the cache holds, all discarded, in place of the transfer.
        run(
            connection,
            "UPDATE account SET balance = -1, filling = printf('%.*c', 900, 'y')",
        );
        run(connection, "ROLLBACK");
        return false;
    }
    let sql = format!(
        "UPDATE account SET balance = balance - {amount}, filling = printf('%.*c', {size}, 'x')
             WHERE id = {from};
         INSERT INTO receipt(customer, filling) VALUES({customer}, printf('%.*c', {size}, 'r'));
         UPDATE account SET balance = balance + {amount} WHERE id = {to};
         COMMIT"
    );
    run(connection, &sql);
    true
}

/// Checks the bank twice within one transaction, by table and by index.
fn look(connection: &Connection) {
    run(connection, "BEGIN");
    let by_table = "SELECT sum(balance) FROM account NOT INDEXED";
    let by_index = "SELECT sum(balance) FROM account INDEXED BY by_balance WHERE balance > -1e9";
    assert_eq!(text(connection, by_table), SUM);
    let first = text(connection, "SELECT group_concat(balance) FROM account");
    assert_eq!(text(connection, by_index), SUM);
    let again = text(connection, "SELECT group_concat(balance) FROM account");
    assert_eq!(first, again, "the same within one transaction");
    run(connection, "COMMIT");
}

/// Runs statements one by one; retries where SQLite, to avoid a deadlock, does not wait itself.
fn run(connection: &Connection, sql: &str) {
    for statement in sql.split(';') {
        loop {
            match connection.execute_batch(statement) {
                Ok(()) => break,
                Err(rusqlite::Error::SqliteFailure(error, _))
                    if error.code == ErrorCode::DatabaseBusy =>
                {
                    std::thread::yield_now();
                }
                Err(error) => panic!("{statement}: {error}; {}", last_error(connection)),
            }
        }
    }
}

fn audit(room: &Room) {
    let connection = room.open("bank.db");
    look(&connection);
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(&connection, "PRAGMA strongroom_verify"), "ok");
    let receipts = text(&connection, "SELECT count(*) > 0 FROM receipt");
    assert_eq!(receipts, "1");
}

fn processes(journal_mode: &str, more: &str) {
    let room = Room::new();
    found_bank(&room, journal_mode);
    let uri = room.uri("bank.db", more);
    let players: Vec<Player> = ["checkpointer", "customer", "customer"]
        .iter()
        .enumerate()
        .map(|(index, name)| {
            Player::start("customer", name, &uri, &format!("{index} {journal_mode}"))
        })
        .collect();
    for player in players {
        player.finish();
    }
    audit(&room);
}

#[test]
fn processes_share_a_database_with_a_log() {
    processes("wal", "");
}

#[test]
fn processes_share_a_database_with_a_log_without_maps() {
    processes("wal", "&mmap=off");
}

#[test]
fn processes_share_a_database_with_a_rollback_journal() {
    for mode in ["delete", "truncate", "persist"] {
        processes(mode, "");
    }
}

/// The others roll back, or recover, what the dead process left, while they have the database open.
#[test]
fn a_process_dies_and_the_others_go_on() {
    for seed in seeds([6]) {
        let mut random = Random::new(seed);
        for mode in ["wal", "delete", "truncate", "persist"] {
            let room = Room::new();
            found_bank(&room, mode);
            let uri = room.uri("bank.db", "");
            let start = |customer: u64| {
                let detail = format!("{customer} {mode}");
                Player::start("customer", "checkpointer", &uri, &detail)
            };
            let survivors = [start(1), start(2)];
            for victim in 3..9 {
                let delay = Duration::from_millis(10 + random.below(30));
                println!("seed {seed}, {mode}, customer {victim} dies after {delay:?}");
                let victim = start(victim);
                std::thread::sleep(delay);
                let reported = victim.kill();
                assert!(reported.is_empty(), "{reported:#?}");
            }
            for survivor in survivors {
                survivor.finish();
            }
            audit(&room);
        }
    }
}

#[test]
fn threads_share_a_database() {
    for mode in ["wal", "delete", "persist"] {
        let room = Room::new();
        found_bank(&room, mode);
        let uri = room.uri("bank.db", "");
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let uri = &uri;
                scope.spawn(move || visit(uri, mode, seed, seed == 0));
            }
        });
        audit(&room);
    }
}

/// The first process creates the database; the others find it, with the first one's keys.
#[test]
fn processes_create_a_database_at_once() {
    for mode in ["wal", "delete"] {
        let room = Room::new();
        let uri = room.uri("new.db", "");
        let players: Vec<Player> = (0..4)
            .map(|number| Player::start("founder", "founder", &uri, &format!("{number} {mode}")))
            .collect();
        for player in players {
            player.finish();
        }
        let connection = room.open("new.db");
        assert_eq!(text(&connection, "SELECT count(*) FROM entry"), "4");
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    }
}

/// Creates the table if it does not exist, and writes one row; not a test of its own.
#[test]
fn founder() {
    let Some(part) = Part::mine() else { return };
    sqlite_linked::register().expect("registers");
    let connection = open_uri(&part.uri);
    run(&connection, &settings(&part.detail[1]));
    // The first attempt is rolled back after its pages have reached the file.
    run(
        &connection,
        "BEGIN IMMEDIATE;
         CREATE TABLE IF NOT EXISTS filling(a);
         WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<300)
         INSERT INTO filling SELECT printf('%.*c', 200, 'f') FROM n;
         ROLLBACK;
         CREATE TABLE IF NOT EXISTS entry(number)",
    );
    let number = &part.detail[0];
    run(&connection, &format!("INSERT INTO entry VALUES({number})"));
}
