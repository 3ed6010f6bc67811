//! A short run on a database whose disk or memory fails at one call, and checks of the outcome.

use rusqlite::Connection;

use crate::allocator;
use crate::database::{Side, check, digest, key_token, open, run, text};
use crate::disk::{Device, Disk, Image};
use crate::power::Replay;
use crate::random::Random;
use crate::record::{MAIN, drain};

/// A kind of run: side, journal mode, whether maps are used.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Stock SQLite or Strongroom.
    pub side: Side,
    /// The journal mode.
    pub mode: &'static str,
    /// Whether files can be mapped.
    pub map: bool,
}

/// The number of transactions; the state after each is independent of those before.
const TRANSACTIONS: usize = 3;

/// The database before the run, and the digest after each transaction.
pub struct Beginning {
    kind: Kind,
    image: Image,
    /// Digests by the number of the last transaction.
    states: Vec<u64>,
}

fn transaction(number: usize) -> String {
    format!(
        "BEGIN; UPDATE t SET b = {number} || printf('%.*c', 300 + a * 41 % 900, 'x');
         DELETE FROM u; INSERT INTO u SELECT a, {number} FROM t WHERE a % 3 = {number} % 3; COMMIT"
    )
}

impl Beginning {
    /// Creates the database.
    ///
    /// # Errors
    ///
    /// What failed, although no fault is set yet.
    pub fn new(kind: Kind) -> Result<Self, String> {
        let disk = Disk::new(device(kind));
        disk.enter();
        let mut states = Vec::new();
        let model = Connection::open_in_memory().map_err(|error| error.to_string())?;
        let connection = open(&kind.side.uri(MAIN)).map_err(|error| error.to_string())?;
        let settings = format!("PRAGMA page_size=1024; PRAGMA journal_mode={}", kind.mode);
        run(&connection, &settings)?;
        for each in [&model, &connection] {
            run(
                each,
                "CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE TABLE u(a, b);
                 CREATE INDEX u_b ON u(b, a);
                 INSERT INTO t WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<16)
                 SELECT i, 0 FROM n",
            )?;
        }
        for number in 0..=TRANSACTIONS {
            run(&model, &transaction(number))?;
            states.push(digest(&model, &["main"]).map_err(|error| error.to_string())?);
        }
        run(&connection, &transaction(0))?;
        // Not closed, so a log stays in use.
        let image = disk.image();
        drop(connection);
        Ok(Beginning {
            kind,
            image,
            states,
        })
    }

    /// Like `new`, but starts from `count` disks that power cuts may leave during a following
    /// change of page size, in its second half, when pages of both sizes are on the disk.
    ///
    /// # Errors
    ///
    /// What failed, although no fault is set yet.
    pub fn amid_page_size_change(
        kind: Kind,
        random: &mut Random,
        count: usize,
    ) -> Result<Vec<Self>, String> {
        let whole = Beginning::new(kind)?;
        let disk = Disk::with(device(kind), &whole.image);
        disk.enter();
        let connection = open(&kind.side.uri(MAIN)).map_err(|error| error.to_string())?;
        run(&connection, "PRAGMA page_size=4096; VACUUM")?;
        let log = disk.take_log();
        drop(connection);
        let half = log.len() as u64 / 2;
        let mut cut = || {
            let mut replay = Replay::new(device(kind), &whole.image, &log);
            for _ in 0..half + random.below(half) {
                replay.advance();
            }
            replay.image(random)
        };
        let images = (0..count).map(|_| cut());
        let beginnings = images.map(|image| Beginning {
            kind,
            image,
            states: whole.states.clone(),
        });
        Ok(beginnings.collect())
    }

    /// Whether there is an unfinished rollback journal.
    pub fn has_hot_journal(&self) -> bool {
        let mut files = self.image.files.iter();
        files.any(|(name, bytes)| {
            // The second byte of the magic: on an encrypted database's disk the first one is zero.
            name.ends_with("-journal") && bytes.get(1).is_some_and(|byte| *byte != 0)
        })
    }

    /// Runs repeatedly, each time with a later fault, until one comes too late to take effect;
    /// skips up to `stride - 1` in between. `strike` sets the fault with a number. Returns the
    /// number of the last one.
    ///
    /// # Errors
    ///
    /// A violated check, including memory that SQLite did not free.
    pub fn run_each(
        &self,
        random: &mut Random,
        stride: u64,
        strike: impl Fn(&Disk, u64),
        lift: impl Fn(&Disk) -> bool,
    ) -> Result<u64, String> {
        let mut number = 1 + random.below(stride);
        // The first run allocates what SQLite keeps.
        let mut held = None;
        loop {
            let struck = self.run(|disk| strike(disk, number), &lift);
            if !struck.map_err(|message| format!("fault {number}: {message}"))? {
                return Ok(number);
            }
            let held_now = allocator::held();
            if *held.get_or_insert(held_now) != held_now {
                return Err(format!("fault {number}: memory is lost"));
            }
            number += 1 + random.below(stride);
        }
    }

    /// Runs with a fault that `strike` sets and `lift` clears, and returns whether it took effect.
    ///
    /// # Errors
    ///
    /// A violated check.
    pub fn run(
        &self,
        strike: impl FnOnce(&Disk),
        lift: impl FnOnce(&Disk) -> bool,
    ) -> Result<bool, String> {
        let disk = Disk::with(device(self.kind), &self.image);
        disk.enter();
        strike(&disk);
        let mut allowed = vec![self.states[0]];
        let connection = self.suffer(&mut allowed);
        let struck = lift(&disk);
        let connection = connection?;
        let usable = connection.and_then(|connection| {
            if !connection.is_autocommit() {
                run(&connection, "ROLLBACK").ok()?;
            }
            let found = check(&connection, self.kind.side, &["main"]).ok()?;
            Some((connection, found))
        });
        let (connection, found) = match usable {
            Some(both) => both,
            None => {
                let connection = open(&self.kind.side.uri(MAIN)).map_err(|error| {
                    format!("it does not open after the fault was lifted: {error}")
                })?;
                let found = check(&connection, self.kind.side, &["main"])?;
                (connection, found)
            }
        };
        if !allowed.contains(&found) {
            return Err("the content is not what was committed".to_owned());
        }
        run(&connection, &transaction(1))?;
        let found = check(&connection, self.kind.side, &["main"])?;
        if found != self.states[1] {
            return Err("a later transaction leaves other content".to_owned());
        }
        drop(connection);
        match disk.open_files() {
            0 => Ok(struck),
            count => Err(format!("{count} files stay open")),
        }
    }

    /// Runs statements of which any may fail, but none may return wrong data.
    fn suffer(&self, allowed: &mut Vec<u64>) -> Result<Option<Connection>, String> {
        let Ok(connection) = open(&self.kind.side.uri(MAIN)) else {
            return Ok(None);
        };
        // These may fail because of the fault, which is not an error of the harness.
        let _ = run(&connection, "PRAGMA cache_size=4; PRAGMA synchronous=full");
        self.look(&connection, allowed)?;
        for number in 1..=TRANSACTIONS {
            match run(&connection, &transaction(number)) {
                Ok(()) => *allowed = vec![self.states[number]],
                // It may have failed after the commit.
                Err(_) => allowed.push(self.states[number]),
            }
            if !connection.is_autocommit() {
                let _ = run(&connection, "ROLLBACK");
            }
            self.look(&connection, allowed)?;
            if self.kind.side == Side::Strongroom {
                self.suffer_keys(&connection, number);
            }
            let page_size = [4096, 512, 1024][number % 3];
            let _ = run(
                &connection,
                &format!("PRAGMA page_size={page_size}; VACUUM"),
            );
            self.look(&connection, allowed)?;
            if self.kind.mode == "wal" && number == 2 {
                let _ = drain(&connection, "PRAGMA wal_checkpoint(TRUNCATE)");
            }
        }
        if text(&connection, "PRAGMA integrity_check").is_ok_and(|verdict| {
            // Pages that could not be read are also reported in words.
            !verdict.contains("ok") && !verdict.contains("error") && !verdict.contains("failed")
        }) {
            return Err("integrity_check finds damage during the fault".to_owned());
        }
        Ok(Some(connection))
    }

    /// Adds and removes keys, and rotates the data key; any of this may fail.
    fn suffer_keys(&self, connection: &Connection, number: usize) {
        let pragma = match number {
            1 => format!("strongroom_key_add='token={}'", key_token(1)),
            2 => "strongroom_rotate".to_owned(),
            _ => "strongroom_key_remove=1".to_owned(),
        };
        let _ = drain(connection, &format!("PRAGMA {pragma}"));
    }

    fn look(&self, connection: &Connection, allowed: &[u64]) -> Result<(), String> {
        match digest(connection, &["main"]) {
            Ok(found) if !allowed.contains(&found) && connection.is_autocommit() => {
                Err("wrong data were read during the fault".to_owned())
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn device(kind: Kind) -> Device {
    Device {
        map: kind.map,
        ..Device::UNIX
    }
}
