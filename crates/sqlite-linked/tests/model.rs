//! Random SQL on Strongroom and on stock SQLite side by side: every result, every error code and
//! the final content are the same.
//!
//! `STRONGROOM_TEST_SEED` repeats one run; without it, fixed seeds go through page sizes, ciphers,
//! journal modes and locking modes.

mod common;

use std::fmt::Write as _;

use common::answers::{Answer, ask};
use common::images::open_stock;
use common::random::{Random, seeds};
use common::statements::{STORAGE_ONLY, Statements};
use common::{Room, last_error, text};
use rusqlite::Connection;
use rusqlite::types::Value;

const SEEDS: u64 = 144;
const STATEMENTS: usize = 300;

const PAGE_SIZES: [u32; 8] = [4096, 512, 1024, 65536, 2048, 8192, 16384, 32768];
const MODES: [&str; 6] = ["delete", "wal", "truncate", "persist", "memory", "off"];
const CIPHERS: [&str; 4] = [
    "aegis-256x2",
    "aegis-256",
    "aes-256-gcm",
    "xchacha20-poly1305",
];

/// One run: two databases, the same statements.
struct Pair {
    room: Room,
    uri_more: String,
    settings: String,
    /// Strongroom, then stock SQLite.
    sides: Option<[Connection; 2]>,
    log: String,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let pick = |index: u64, count: usize| (index % count as u64) as usize;
        let cipher = CIPHERS[pick(seed / 6, CIPHERS.len())];
        let page_size = PAGE_SIZES[pick(seed + seed / 8, PAGE_SIZES.len())];
        let map = if (seed / 24).is_multiple_of(3) {
            "&mmap=off"
        } else {
            ""
        };
        let auto_vacuum = seed / 2 % 3;
        let mut pair = Pair {
            room: Room::new(),
            uri_more: format!("&cipher={cipher}{map}"),
            settings: format!("PRAGMA page_size={page_size}; PRAGMA auto_vacuum={auto_vacuum}"),
            sides: None,
            log: format!("-- seed {seed}, {cipher}{map}\n"),
        };
        pair.open();
        pair
    }

    fn open(&mut self) {
        let ours = self.room.open_with("a.db", &self.uri_more);
        let stock = open_stock(&self.room, "stock.db");
        for connection in [&ours, &stock] {
            let temporary = "PRAGMA temp_store=FILE; PRAGMA synchronous=OFF";
            connection.execute_batch(temporary).expect("pragmas");
        }
        if text(&ours, "PRAGMA page_count") == "0" {
            for connection in [&ours, &stock] {
                connection.execute_batch(&self.settings).expect("pragmas");
            }
            let _ = writeln!(self.log, "{};", self.settings);
        }
        self.sides = Some([ours, stock]);
    }

    fn sides(&self) -> &[Connection; 2] {
        self.sides.as_ref().expect("open")
    }

    fn reopen(&mut self) {
        let _ = writeln!(self.log, "-- closed and opened");
        self.sides = None;
        self.open();
    }

    /// Asks both sides and compares; returns the answer.
    fn ask(&mut self, sql: &str) -> Answer {
        let _ = writeln!(self.log, "{sql};");
        let [ours, stock] = self.sides().each_ref().map(|side| {
            let answer = ask(side, sql);
            if sql.starts_with(STORAGE_ONLY) {
                return answer.map(|_| Vec::new());
            }
            answer
        });
        if ours != stock {
            self.fail(&format!(
                "Strongroom: {}\nstock: {}",
                brief(&ours),
                brief(&stock)
            ));
        }
        ours
    }

    fn fail(&self, what: &str) -> ! {
        let error = last_error(&self.sides()[0]);
        panic!("{what}\n{error}\n{}", self.log)
    }

    fn in_transaction(&self) -> bool {
        let [ours, stock] = self.sides().each_ref().map(Connection::is_autocommit);
        if ours != stock {
            self.fail("one side is in a transaction");
        }
        !ours
    }

    /// Sets a journal mode on both sides, which must agree on the resulting mode.
    fn set_journal_mode(&mut self, mode: &str) -> String {
        let answer = self.ask(&format!("PRAGMA journal_mode={mode}"));
        match answer.as_deref() {
            Ok([row]) => match row.as_slice() {
                [Value::Text(mode)] => mode.clone(),
                _ => self.fail("not a mode"),
            },
            _ => self.fail("not a mode"),
        }
    }

    /// Compares the content of the databases.
    fn dump(&mut self) {
        let _ = self.ask("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
        let tables = self.ask("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name");
        for row in tables.expect("tables") {
            let [Value::Text(name)] = row.as_slice() else {
                self.fail("a table without a name");
            };
            let _ = self.ask(&format!("SELECT * FROM {name} ORDER BY 1, 3, 2"));
        }
        let _ = self.ask("PRAGMA integrity_check");
        for check in ["integrity_check", "strongroom_verify"] {
            let answer = text(&self.sides()[0], &format!("PRAGMA {check}"));
            if answer != "ok" {
                println!(
                    "stock: {:?}",
                    ask(&self.sides()[1], "PRAGMA integrity_check")
                );
                self.fail(&format!("{check}: {answer}"));
            }
        }
    }
}

fn brief(answer: &Answer) -> String {
    let mut all = format!("{answer:?}");
    all.truncate(2000);
    all
}

fn run(seed: u64) {
    let mut statements = Statements::new(Random::new(seed));
    let mut pair = Pair::new(seed);
    let mode = MODES[(seed % MODES.len() as u64) as usize];
    if seed % 5 == 4 {
        let _ = pair.ask("PRAGMA locking_mode=EXCLUSIVE");
    }
    statements.nothing_rolls_back = pair.set_journal_mode(mode) == "off";
    for sql in Statements::beginning() {
        let _ = pair.ask(&sql);
    }
    for _ in 0..STATEMENTS {
        statements.in_transaction = pair.in_transaction();
        match statements.random.below(40) {
            0 if !statements.nothing_rolls_back || !statements.in_transaction => {
                pair.reopen();
                // Only WAL mode is a property of the file.
                let mode = pair.set_journal_mode("persist");
                statements.nothing_rolls_back = mode == "off";
                pair.dump();
            }
            1 if !statements.in_transaction => {
                let mode = statements.random.pick(&MODES);
                statements.nothing_rolls_back = pair.set_journal_mode(mode) == "off";
            }
            2 => {
                let locking = statements.random.pick(&["NORMAL", "EXCLUSIVE"]);
                let _ = pair.ask(&format!("PRAGMA locking_mode={locking}"));
            }
            3 => {
                let map = statements.random.pick(&["on", "off"]);
                let _ = text(&pair.sides()[0], &format!("PRAGMA strongroom_mmap={map}"));
            }
            4 => {
                let kind = statements
                    .random
                    .pick(&["PASSIVE", "FULL", "RESTART", "TRUNCATE"]);
                // Otherwise, just after journal_mode=wal, SQLite may find a transaction of its own
                // in the temporary database and return "locked", on either side.
                let _ = pair.ask("SELECT count(*) FROM sqlite_schema");
                // The number of frames depends on the usable size of a page.
                let busy = |side: &Connection| {
                    let answer = ask(side, &format!("PRAGMA wal_checkpoint({kind})"));
                    answer.map(|rows| rows[0][0].clone())
                };
                let [ours, stock] = pair.sides().each_ref().map(busy);
                assert_eq!(ours, stock, "{}", pair.log);
            }
            _ => {
                let sql = statements.next();
                let _ = pair.ask(&sql);
            }
        }
    }
    if statements.nothing_rolls_back || seed.is_multiple_of(2) {
        let _ = pair.ask("COMMIT");
    }
    pair.reopen();
    pair.dump();
}

#[test]
fn random_statements_have_the_answers_of_stock_sqlite() {
    for seed in seeds(0..SEEDS) {
        run(seed);
    }
}
