//! A schedule: workers whose steps a seed interleaves, one at a time, checked against the oracle.
//!
//! Each step is one call of one worker. No worker waits for another (`busy_timeout` is 0), so
//! everything depends on the seed alone, except the exact point of a kill within a step.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use crate::common::random::Random;
use crate::common::{Room, files, text};
use crate::content::{Change, State, TABLES, read_digest};
use crate::oracle::{SCHEMAS, Transaction};
use crate::session::{Answer, Session};
use crate::worker::key_pragma;

const CIPHERS: [&str; 4] = [
    "aegis-256x2",
    "aegis-256",
    "aes-256-gcm",
    "xchacha20-poly1305",
];
const PAGE_SIZES: [&str; 6] = ["512", "1024", "1024", "4096", "4096", "65536"];
const MODES: [&str; 5] = ["wal", "wal", "delete", "truncate", "persist"];
const CHECKPOINTS: [&str; 4] = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"];
/// The most slots that a schedule fills.
const SLOTS_USED_MAX: usize = 5;
const SLOTS: usize = 8;

/// Counts of a schedule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub schedules: u64,
    pub steps: u64,
    pub busy: u64,
    pub commits: u64,
    pub reads: u64,
    pub kills: u64,
    pub images: u64,
    pub rotations: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.schedules += other.schedules;
        self.steps += other.steps;
        self.busy += other.busy;
        self.commits += other.commits;
        self.reads += other.reads;
        self.kills += other.kills;
        self.images += other.images;
        self.rotations += other.rotations;
    }
}

/// See the head of this module.
pub struct Schedule {
    pub random: Random,
    pub room: Room,
    pub sessions: Vec<Session>,
    pub committed: [Arc<State>; 2],
    /// Unacknowledged transactions of killed writers that a recovery of the log may still bring
    /// back, until another writer overwrites their frames.
    pub ghosts: [Option<Arc<State>>; 2],
    /// Whether the databases are in WAL mode, as far as the oracle knows.
    pub wal: [bool; 2],
    /// The number of the key in each slot of the main database.
    pub slots: [Option<u8>; SLOTS],
    next_key: u8,
    pub next_version: u64,
    pub log: Vec<String>,
    pub tally: Tally,
    settings: String,
    pub page_size: usize,
}

impl Schedule {
    /// Creates the databases of a schedule; no worker has them open yet.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let cipher = random.pick(&CIPHERS);
        let (page_size, mode) = (random.pick(&PAGE_SIZES), random.pick(&MODES));
        let auto_vacuum = random.below(3);
        let settings = format!(
            "PRAGMA page_size={page_size}; PRAGMA auto_vacuum={auto_vacuum};
             PRAGMA journal_mode={mode}; PRAGMA synchronous=OFF; {TABLES}"
        );
        let count = 2 + random.below(3);
        let schedule = Schedule {
            random,
            room: Room::new(),
            sessions: (0..count).map(|_| Session::new()).collect(),
            committed: Default::default(),
            ghosts: [None, None],
            wal: [mode == "wal"; 2],
            slots: [Some(0x11), None, None, None, None, None, None, None],
            next_key: 0x20,
            next_version: 1,
            log: vec![format!("seed {seed}: {cipher}, {page_size} bytes, {mode}")],
            tally: Tally::default(),
            settings,
            page_size: page_size.parse().expect("a number"),
        };
        let cipher = format!("&cipher={cipher}");
        for name in ["storm.db", "side.db"] {
            let connection = schedule.room.open_with(name, &cipher);
            let made = connection.execute_batch(&schedule.settings);
            made.expect("the tables are made");
        }
        schedule
    }

    /// Runs this many steps, then checks everything once more.
    pub fn run(&mut self, steps: u64) -> Tally {
        for _ in 0..steps {
            let index = self.random.below(self.sessions.len() as u64) as usize;
            self.step(index);
            self.tally.steps += 1;
            if self.random.once_in(3) {
                let other = self.random.below(self.sessions.len() as u64) as usize;
                if self.sessions[other].open {
                    self.read(other);
                }
            }
            if self.random.once_in(25) {
                self.look_at_image();
            }
        }
        self.end();
        self.tally.schedules += 1;
        self.tally
    }

    fn path(&self) -> String {
        format!("file:{}", self.room.path("storm.db").display())
    }

    /// Logs a step, gives the order, and checks what every answer must satisfy.
    pub fn ask(&mut self, index: usize, order: &str) -> Answer {
        self.log.push(format!("{index}: {order}"));
        let answer = self.sessions[index].ask(order);
        let last = self.log.last_mut().expect("pushed");
        last.push_str(&format!(" -> {} {}", answer.code, answer.said));
        self.tally.busy += u64::from(answer.is_busy());
        // Keys are not changed there.
        let is_refused = answer.inside && answer.said.contains("inside a transaction");
        assert!(
            answer.is_ok() || answer.is_busy() || is_refused,
            "neither done nor busy: {answer:?}"
        );
        answer
    }

    /// Oracle and worker must agree whether a transaction is open.
    pub fn agree(&self, index: usize, answer: &Answer) {
        let expected = self.sessions[index].transaction.is_some();
        assert_eq!(answer.inside, expected, "in a transaction?");
    }

    fn step(&mut self, index: usize) {
        let session = &self.sessions[index];
        if !session.open {
            self.open(index);
        } else if session.exclusive && self.random.once_in(6) {
            self.close(index);
        } else if session.transaction.is_some() {
            self.step_inside(index);
        } else {
            self.step_outside(index);
        }
    }

    fn step_inside(&mut self, index: usize) {
        match self.random.below(100) {
            0..36 => self.change(index),
            36..50 => self.read(index),
            50..57 => self.savepoint(index),
            57..65 => self.return_to_savepoint(index),
            65..82 => self.commit(index),
            82..88 => self.roll_back(index),
            88..90 => self.checkpoint(index),
            90..93 => self.change_keys(index),
            93..95 => self.back_up(index),
            95..97 => self.kill_idle(index),
            97..99 => self.kill_in_commit(index),
            _ => self.close(index),
        }
    }

    fn step_outside(&mut self, index: usize) {
        match self.random.below(100) {
            0..28 => self.begin(index),
            28..46 => self.change(index),
            46..54 => self.read(index),
            54..63 => self.checkpoint(index),
            63..68 => self.set_journal_mode(index),
            68..71 => self.quietly(index, "sql VACUUM"),
            71..73 => self.quietly(index, "sql PRAGMA incremental_vacuum(3)"),
            73..77 => self.close(index),
            77..83 => self.change_keys(index),
            83..86 => self.attach_or_detach(index),
            86..88 => self.back_up(index),
            88..90 => self.check(index),
            90..92 => self.kill_idle(index),
            92..96 => self.kill_in_step(index),
            96..98 if !self.sessions[index].exclusive => self.rotate(index),
            98 => self.lock_exclusively(index),
            _ => self.tune(index),
        }
    }

    fn open(&mut self, index: usize) {
        let path = self.path();
        self.sessions[index].start(&path);
        let slot = self.some_slot();
        let key = self.slots[slot].expect("in use");
        let map = self.random.pick(&["", "&mmap=off"]);
        let cache = self.random.pick(&["0", "4", "10", "2000"]);
        let sync = self.random.pick(&["OFF", "OFF", "OFF", "NORMAL", "FULL"]);
        let pragmas = format!(
            "PRAGMA cache_size={cache}; PRAGMA synchronous={sync}; PRAGMA wal_autocheckpoint=20; \
             PRAGMA temp_store=file"
        );
        let answer = self.ask(index, &format!("open {key} {map} {pragmas}"));
        let session = &mut self.sessions[index];
        session.open = answer.is_ok();
        session.slot = slot;
        self.agree(index, &answer);
        self.look_for_ghosts();
    }

    pub fn some_slot(&mut self) -> usize {
        let used: Vec<usize> = (0..SLOTS)
            .filter(|slot| self.slots[*slot].is_some())
            .collect();
        used[self.random.below(used.len() as u64) as usize]
    }

    fn close(&mut self, index: usize) {
        self.ask(index, "close");
        let player = self.sessions[index].player.take();
        self.sessions[index] = Session {
            player,
            ..Session::new()
        };
    }

    fn begin(&mut self, index: usize) {
        let way = self.random.pick(&["", "", "IMMEDIATE", "EXCLUSIVE"]);
        let answer = self.ask(index, &format!("sql BEGIN {way}"));
        if answer.is_ok() {
            let mut transaction = Transaction::default();
            if !way.is_empty() {
                let databases = 1 + usize::from(self.sessions[index].attached);
                for database in 0..databases {
                    transaction.look(database, &self.committed[database]);
                }
            }
            self.sessions[index].transaction = Some(transaction);
        }
        self.agree(index, &answer);
    }

    fn some_database(&mut self, index: usize) -> usize {
        usize::from(self.sessions[index].attached && self.random.once_in(3))
    }

    pub fn some_change(&mut self) -> Change {
        self.next_version += 1;
        Change::random(&mut self.random, self.next_version)
    }

    fn change(&mut self, index: usize) {
        let database = self.some_database(index);
        let change = self.some_change();
        let order = format!("change {} {}", SCHEMAS[database], change.to_order());
        let answer = self.ask(index, &order);
        if answer.is_ok() {
            match &mut self.sessions[index].transaction {
                Some(transaction) => {
                    transaction.change(database, &self.committed[database], &change);
                }
                None => {
                    Arc::make_mut(&mut self.committed[database]).apply(&change);
                    self.ghosts[database] = None;
                    self.tally.commits += 1;
                }
            }
        }
        self.agree(index, &answer);
    }

    /// The session must see exactly what the oracle says.
    pub fn read(&mut self, index: usize) {
        let database = self.some_database(index);
        let answer = self.ask(index, &format!("read {}", SCHEMAS[database]));
        self.agree(index, &answer);
        if !answer.is_ok() {
            let alone = self.sessions.iter().enumerate().all(|(other, session)| {
                !session.exclusive && (other == index || session.transaction.is_none())
            });
            assert!(!alone, "nobody is in the way, and yet: {answer:?}");
            return;
        }
        self.tally.reads += 1;
        let committed = &self.committed[database];
        let expected = match &mut self.sessions[index].transaction {
            Some(transaction) => transaction.look(database, committed),
            None => committed.clone(),
        };
        assert_eq!(
            answer.said,
            expected.digest(),
            "{} holds {}",
            SCHEMAS[database],
            expected.describe()
        );
    }

    fn savepoint(&mut self, index: usize) {
        let transaction = self.sessions[index].transaction.as_ref().expect("inside");
        let order = format!("sql SAVEPOINT s{}", transaction.savepoints());
        let answer = self.ask(index, &order);
        if answer.is_ok()
            && let Some(transaction) = &mut self.sessions[index].transaction
        {
            transaction.savepoint();
        }
        self.agree(index, &answer);
    }

    fn return_to_savepoint(&mut self, index: usize) {
        let transaction = self.sessions[index].transaction.as_ref().expect("inside");
        let count = transaction.savepoints() as u64;
        if count == 0 {
            return self.savepoint(index);
        }
        let number = self.random.below(count) as usize;
        let release = self.random.once_in(3);
        let verb = if release { "RELEASE" } else { "ROLLBACK TO" };
        let answer = self.ask(index, &format!("sql {verb} s{number}"));
        if let (true, Some(transaction)) = (answer.is_ok(), &mut self.sessions[index].transaction) {
            if release {
                transaction.release(number);
            } else {
                transaction.roll_back_to(number);
            }
        }
        self.agree(index, &answer);
    }

    fn commit(&mut self, index: usize) {
        let answer = self.ask(index, "sql COMMIT");
        if answer.is_ok() {
            let transaction = self.sessions[index].transaction.take().expect("inside");
            let before = std::mem::take(&mut self.committed);
            self.committed = transaction.outcome(&before);
            for (database, ghost) in self.ghosts.iter_mut().enumerate() {
                if !Arc::ptr_eq(&before[database], &self.committed[database]) {
                    *ghost = None;
                }
            }
            self.tally.commits += 1;
        }
        self.agree(index, &answer);
    }

    fn roll_back(&mut self, index: usize) {
        let answer = self.ask(index, "sql ROLLBACK");
        assert!(answer.is_ok(), "{answer:?}");
        self.sessions[index].transaction = None;
        self.agree(index, &answer);
    }

    fn checkpoint(&mut self, index: usize) {
        let kind = self.random.pick(&CHECKPOINTS);
        let schema = SCHEMAS[self.some_database(index)];
        self.quietly(
            index,
            &format!("sql PRAGMA {schema}.wal_checkpoint({kind})"),
        );
    }

    /// A step that changes no content.
    fn quietly(&mut self, index: usize, order: &str) {
        let answer = self.ask(index, order);
        self.agree(index, &answer);
    }

    fn set_journal_mode(&mut self, index: usize) {
        let mode = self.random.pick(&MODES);
        let database = self.some_database(index);
        let schema = SCHEMAS[database];
        // A connection that leaves WAL mode keeps what it cached before the last transaction of
        // others: `journal_modes.rs` shows that SQLite does so on plain files, too.
        if !self.ask(index, &format!("read {schema}")).is_ok() {
            return;
        }
        let answer = self.ask(index, &format!("sql PRAGMA {schema}.journal_mode={mode}"));
        self.agree(index, &answer);
        if answer.is_ok() {
            assert!(MODES.contains(&answer.said.as_str()), "{answer:?}");
            self.wal[database] = answer.said == "wal";
        }
    }

    fn attach_or_detach(&mut self, index: usize) {
        let attached = self.sessions[index].attached;
        let order = if attached {
            "sql DETACH side".to_owned()
        } else {
            format!("sql ATTACH '{}' AS side", self.room.uri("side.db", ""))
        };
        let answer = self.ask(index, &order);
        if answer.is_ok() {
            self.sessions[index].attached = !attached;
        }
        self.agree(index, &answer);
        self.look_for_ghosts();
    }

    fn back_up(&mut self, index: usize) {
        let pages = self.random.pick(&["2", "17", "-1"]);
        let answer = self.ask(index, &format!("backup {pages}"));
        self.agree(index, &answer);
        if answer.is_ok() {
            // Unlike a statement, a backup leaves no snapshot behind.
            let transaction = self.sessions[index].transaction.as_ref();
            let seen = transaction.and_then(Transaction::main);
            let expected = seen.unwrap_or(&self.committed[0]);
            assert_eq!(answer.said, format!("{} ok", expected.digest()));
        }
    }

    fn check(&mut self, index: usize) {
        for pragma in ["integrity_check", "strongroom_verify"] {
            let answer = self.ask(index, &format!("sql PRAGMA {pragma}"));
            if answer.is_ok() {
                assert_eq!(answer.said, "ok", "{pragma}");
            }
        }
    }

    fn lock_exclusively(&mut self, index: usize) {
        self.quietly(index, "sql PRAGMA locking_mode=EXCLUSIVE");
        self.sessions[index].exclusive = true;
    }

    fn tune(&mut self, index: usize) {
        let pragma = self.random.pick(&[
            "strongroom_mmap=on",
            "strongroom_mmap=off",
            "cache_size=3",
            "cache_spill=1",
            "journal_size_limit=0",
            "shrink_memory",
        ]);
        self.quietly(index, &format!("sql PRAGMA {pragma}"));
    }

    /// The files as they are now, with every process dead, contain what was committed last.
    fn look_at_image(&mut self) {
        self.tally.images += 1;
        self.log.push("an image".to_owned());
        let image = self.open_with_key(open_keyless_image);
        let digest = read_digest(&image, "main").expect("reads");
        let ghost = self.ghosts[0]
            .as_ref()
            .filter(|ghost| ghost.digest() == digest);
        assert_holds(&image, ghost.unwrap_or(&self.committed[0]));
    }

    /// A separate connection, with a key that opens.
    pub fn open_with_key(&mut self, open: impl FnOnce(&Room) -> Connection) -> Connection {
        let slot = self.some_slot();
        let connection = open(&self.room);
        connection.busy_timeout(Duration::ZERO).expect("set");
        let key = key_pragma("key", self.slots[slot].expect("in use"));
        assert_eq!(text(&connection, &key), "ok");
        connection
    }

    pub fn open_side(&self) -> Connection {
        let side = self.room.open("side.db");
        side.busy_timeout(Duration::ZERO).expect("set");
        side
    }

    fn end(&mut self) {
        for index in 0..self.sessions.len() {
            if self.sessions[index].open {
                self.close(index);
            }
        }
        self.look_for_ghosts();
        let main = self.open_with_key(|room| files::open(room, "storm.db", ""));
        assert_holds(&main, &self.committed[0]);
        self.finish_rotation(&main);
        assert_holds(&main, &self.committed[0]);
        assert_holds(&self.open_side(), &self.committed[1]);
    }

    /// Changes the keys of the main database; a removed key must not open it any more.
    fn change_keys(&mut self, index: usize) {
        let used = self.slots.iter().flatten().count();
        let (slot, key) = (self.some_slot(), self.next_key);
        let old = match self.random.below(3) {
            0 if used < SLOTS_USED_MAX => {
                let order = format!("sql {}", key_pragma("strongroom_key_add", key));
                let answer = self.ask(index, &order);
                self.agree(index, &answer);
                if !answer.is_ok() {
                    return;
                }
                let slot: usize = answer.said.parse().expect("a slot");
                assert!(self.slots[slot].replace(key).is_none());
                None
            }
            1 if used > 1 && slot != 0 => {
                let order = format!("sql PRAGMA strongroom_key_remove='{slot}'");
                let answer = self.ask(index, &order);
                self.agree(index, &answer);
                if !answer.is_ok() {
                    return;
                }
                self.slots[slot].take()
            }
            _ => {
                let answer = self.ask(index, &format!("sql {}", key_pragma("rekey", key)));
                self.agree(index, &answer);
                if !answer.is_ok() {
                    return;
                }
                self.slots[self.sessions[index].slot].replace(key)
            }
        };
        self.next_key = self.next_key.wrapping_add(1);
        if let Some(old) = old {
            let connection = files::open(&self.room, "storm.db", "");
            files::assert_refused(&connection, &key_pragma("key", old), "wrong key");
        }
    }
}

fn open_keyless_image(room: &Room) -> Connection {
    crate::common::images::copy_database(&room.path("storm.db"), &room.path("image-of-storm.db"));
    files::open(room, "image-of-storm.db", "")
}

/// A separate connection finds exactly this, and everything intact.
pub fn assert_holds(connection: &Connection, state: &State) {
    let digest = read_digest(connection, "main").expect("reads");
    assert_eq!(digest, state.digest(), "to hold {}", state.describe());
    assert_eq!(text(connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(text(connection, "PRAGMA strongroom_verify"), "ok");
}
