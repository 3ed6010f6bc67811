//! Several files on one connection, on Strongroom and on stock SQLite side by side: other page
//! sizes, VACUUM, VACUUM INTO and backups between them, a plain file beside encrypted ones,
//! exclusive locking, and changing journal modes.
//!
//! `STRONGROOM_TEST_SEED` repeats one run.

mod common;

use std::fmt::Write as _;

use common::answers::{Answer, ask, code_of};
use common::random::{Random, seeds};
use common::{Room, last_error, open_uri};
use rusqlite::Connection;
use rusqlite::backup::Backup;
use rusqlite::types::Value;

const SEEDS: u64 = 80;
const STEPS: usize = 60;

const SCHEMAS: [&str; 4] = ["main", "one", "two", "plain"];
const PAGE_SIZES: [&str; 8] = [
    "512", "1024", "2048", "4096", "8192", "16384", "32768", "65536",
];

/// One of the two sides: the same files under other names.
struct Side {
    is_ours: bool,
    connection: Option<Connection>,
}

impl Side {
    fn uri(&self, room: &Room, name: &str) -> String {
        match (self.is_ours, name) {
            (true, "plain") => common::files::uri(room, "ours-plain.db", "&plain=on"),
            (true, name) => room.uri(&format!("ours-{name}.db"), ""),
            (false, name) => format!("file:{}", room.path(&format!("stock-{name}.db")).display()),
        }
    }

    fn open(&mut self, room: &Room) {
        self.connection = None;
        let connection = open_uri(&self.uri(room, "main"));
        for schema in &SCHEMAS[1..] {
            let attach = format!("ATTACH '{}' AS {schema}", self.uri(room, schema));
            connection.execute_batch(&attach).expect("attaches");
        }
        self.connection = Some(connection);
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("open")
    }

    /// Copies one schema over another file, through a separate connection to the latter.
    fn back_up(&self, room: &Room, from: &str, to: &str, pages: i32) -> Result<(), i32> {
        let mut target = open_uri(&self.uri(room, to));
        target.busy_timeout(std::time::Duration::ZERO).expect("set");
        let backup = Backup::new_with_names(self.connection(), from, &mut target, "main");
        let backup = backup.map_err(code_of)?;
        loop {
            match backup.step(pages).map_err(code_of)? {
                rusqlite::backup::StepResult::Done => return Ok(()),
                rusqlite::backup::StepResult::More => {}
                rusqlite::backup::StepResult::Busy => return Err(5),
                rusqlite::backup::StepResult::Locked => return Err(6),
                _ => return Err(1),
            }
        }
    }
}

struct Model {
    room: Room,
    sides: [Side; 2],
    random: Random,
    log: String,
    copies: usize,
}

impl Model {
    fn new(seed: u64) -> Self {
        let side = |is_ours| Side {
            is_ours,
            connection: None,
        };
        let mut model = Model {
            room: Room::new(),
            sides: [side(true), side(false)],
            random: Random::new(seed),
            log: format!("-- seed {seed}\n"),
            copies: 0,
        };
        model.open();
        for schema in SCHEMAS {
            let page_size = model.random.pick(&PAGE_SIZES);
            for sql in [
                format!("PRAGMA {schema}.page_size={page_size}"),
                format!("CREATE TABLE {schema}.t(a INTEGER PRIMARY KEY, b BLOB, c)"),
                format!("CREATE INDEX {schema}.i ON t(c, b)"),
            ] {
                model
                    .ask(&sql)
                    .unwrap_or_else(|code| panic!("{sql}: {code}"));
            }
        }
        model
    }

    fn open(&mut self) {
        let _ = writeln!(self.log, "-- opened");
        let room = &self.room;
        self.sides.iter_mut().for_each(|side| side.open(room));
    }

    fn fail(&self, what: &str) -> ! {
        let error = last_error(self.sides[0].connection());
        panic!("{what}\n{error}\n{}", self.log)
    }

    fn compare<T: PartialEq + std::fmt::Debug>(&self, [ours, stock]: [T; 2]) -> T {
        if ours != stock {
            self.fail(&format!("Strongroom: {ours:.300?}\nstock: {stock:.300?}"));
        }
        ours
    }

    fn ask(&mut self, sql: &str) -> Answer {
        let _ = writeln!(self.log, "{sql};");
        let answers = self
            .sides
            .each_ref()
            .map(|side| ask(side.connection(), sql));
        self.compare(answers)
    }

    fn schema(&mut self) -> &'static str {
        SCHEMAS[self.random.below(SCHEMAS.len() as u64) as usize]
    }

    fn rows(&mut self) -> String {
        let schema = self.schema();
        let (first, count) = (self.random.below(300), 1 + self.random.below(60));
        let size = self.random.below(900);
        match self.random.below(4) {
            0 => format!("DELETE FROM {schema}.t WHERE a % 7 = {}", first % 7),
            1 => format!(
                "UPDATE {schema}.t SET b = zeroblob(length(b) / 2) || {first}, c = {size}
                 WHERE a BETWEEN {first} AND {first} + {count}"
            ),
            _ => format!(
                "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
                 REPLACE INTO {schema}.t
                 SELECT {first} + i, hex(zeroblob(i * {size} % 1000)) || i, i % 5 FROM n"
            ),
        }
    }

    fn step(&mut self) {
        let schema = self.schema();
        match self.random.below(16) {
            0..5 => {
                let sql = self.rows();
                let _ = self.ask(&sql);
            }
            5 => {
                let _ = self.ask("BEGIN");
                for _ in 0..3 {
                    let sql = self.rows();
                    let _ = self.ask(&sql);
                }
                let end = self.random.pick(&["COMMIT", "ROLLBACK"]);
                if self.ask(end).is_err() {
                    let _ = self.ask("ROLLBACK");
                }
            }
            6 => {
                let mode = self
                    .random
                    .pick(&["delete", "truncate", "persist", "memory", "wal", "wal"]);
                let _ = self.ask(&format!("PRAGMA {schema}.journal_mode={mode}"));
            }
            7 => {
                let locking = self.random.pick(&["normal", "exclusive"]);
                let _ = self.ask(&format!("PRAGMA {schema}.locking_mode={locking}"));
            }
            8 | 9 => {
                let page_size = self.random.pick(&PAGE_SIZES);
                let _ = self.ask(&format!("PRAGMA {schema}.page_size={page_size}"));
                let _ = self.ask(&format!("VACUUM {schema}"));
                let _ = self.ask(&format!("PRAGMA {schema}.page_size"));
            }
            10 => self.vacuum_into(schema),
            11 | 12 => self.back_up(schema),
            13 => self.open(),
            14 => {
                let size = self.random.pick(&["2", "10", "2000"]);
                let _ = self.ask(&format!("PRAGMA {schema}.cache_size={size}"));
            }
            _ => self.look(schema),
        }
    }

    fn vacuum_into(&mut self, schema: &str) {
        self.copies += 1;
        let name = format!("copy-{}", self.copies);
        let _ = writeln!(self.log, "VACUUM {schema} INTO {name};");
        let answers = self.sides.each_ref().map(|side| {
            // A plain database has no reserved bytes that its encrypted copy could use.
            let target = match (schema, side.is_ours) {
                ("plain", true) => {
                    common::files::uri(&self.room, &format!("{name}.db"), "&plain=on")
                }
                _ => side.uri(&self.room, &name),
            };
            ask(
                side.connection(),
                &format!("VACUUM {schema} INTO '{target}'"),
            )
            .map(|_| {
                let copy = open_uri(&target);
                ask(&copy, "SELECT * FROM t ORDER BY a")
            })
        });
        let _ = self.compare(answers);
    }

    fn back_up(&mut self, from: &'static str) {
        let to = SCHEMAS[self.random.below(3) as usize];
        let pages = [-1, 3, 40][self.random.below(3) as usize];
        if from == "plain" || from == to {
            // Its pages have no room for trailers. A copy onto itself copies nothing.
            return;
        }
        let _ = writeln!(
            self.log,
            "-- backup of {from} onto the file of {to}, by {pages}"
        );
        let room = &self.room;
        let answers = self
            .sides
            .each_ref()
            .map(|side| side.back_up(room, from, to, pages));
        let _ = self.compare(answers);
    }

    fn look(&mut self, schema: &str) {
        let _ = self.ask(&format!("SELECT * FROM {schema}.t ORDER BY a"));
        let _ = self.ask(&format!("PRAGMA {schema}.page_size"));
        let _ = self.ask(&format!("PRAGMA {schema}.integrity_check"));
        if schema == "plain" {
            return;
        }
        let verdict = ask(
            self.sides[0].connection(),
            &format!("PRAGMA {schema}.strongroom_verify"),
        );
        if verdict != Ok(vec![vec![Value::Text("ok".to_owned())]]) {
            self.fail(&format!("strongroom_verify of {schema}: {verdict:?}"));
        }
    }
}

#[test]
fn several_files_on_one_connection_have_the_answers_of_stock_sqlite() {
    for seed in seeds(0..SEEDS) {
        let mut model = Model::new(seed);
        for _ in 0..STEPS {
            model.step();
        }
        model.open();
        SCHEMAS.iter().for_each(|schema| model.look(schema));
        let plain = std::fs::read(model.room.path("ours-plain.db")).expect("readable");
        assert!(plain.starts_with(b"SQLite format 3\0"), "{}", model.log);
    }
}
