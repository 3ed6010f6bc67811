//! Power cuts: for each point of a recorded run, creates disks that a power cut may leave, and
//! opens the databases on them.

use std::fmt;
use std::str::FromStr;

use rusqlite::Connection;

use crate::case::{Case, Scenario};
use crate::database::{KEYS, check, run, text};
use crate::disk::{Device, Disk, Image};
use crate::power::Replay;
use crate::random::Random;
use crate::record::{Recorded, drain, open_case, record};

/// One power cut: a case, the number of effects before it, and the variant of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The run that is cut.
    pub case: Case,
    /// The number of effects before it.
    pub place: usize,
    /// The variant of the disk.
    pub variant: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.case, self.place, self.variant)
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let mut parts = word.rsplitn(3, '/');
        let mut number = || {
            let part = parts.next().unwrap_or_default();
            part.parse::<u64>()
                .map_err(|_| format!("{part} is not a number"))
        };
        let variant = number()?;
        let place = number()? as usize;
        let case = parts.next().unwrap_or_default().parse()?;
        Ok(Cut {
            case,
            place,
            variant,
        })
    }
}

/// A disk on which the content was wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The power cut, which reproduces it.
    pub cut: Cut,
    /// What was found.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { cut, what } = self;
        write!(
            formatter,
            "{what}\n  again: cargo xtask faults --replay {cut}"
        )
    }
}

/// Results of the cuts of a case.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The number of disks that were opened.
    pub cuts: u64,
    /// The number of effects of the run.
    pub effects: usize,
    /// The disks with wrong content.
    pub failures: Vec<Failure>,
}

/// Cuts the power at one in `one_in` of the points of a case, in `variants` ways each.
///
/// # Errors
///
/// If the run itself fails, before any cut.
pub fn sweep(case: &Case, one_in: u64, variants: u64) -> Result<Outcome, String> {
    let recorded = record(case).map_err(|error| format!("{case}: {error}"))?;
    let mut outcome = Outcome {
        effects: recorded.log.len(),
        ..Outcome::default()
    };
    let mut places = Random::of(&[case.seed, 4]);
    let mut replay = Replay::new(case.device(), &Image::default(), &recorded.log);
    loop {
        if places.once_in(one_in) {
            for variant in 0..variants {
                let cut = Cut {
                    case: *case,
                    place: replay.position(),
                    variant,
                };
                outcome.cuts += 1;
                if let Err(what) = judge(&cut, &recorded, &replay) {
                    outcome.failures.push(Failure { cut, what });
                }
            }
        }
        if !replay.advance() {
            return Ok(outcome);
        }
    }
}

/// Repeats one cut. Returns the disk after it.
///
/// # Errors
///
/// What was wrong, or why the run failed.
pub fn repeat(cut: &Cut) -> Result<Image, String> {
    let recorded = record(&cut.case)?;
    let mut replay = Replay::new(cut.case.device(), &Image::default(), &recorded.log);
    while replay.position() < cut.place {
        if !replay.advance() {
            return Err(format!("the run has {} effects only", recorded.log.len()));
        }
    }
    judge(cut, &recorded, &replay)?;
    Ok(replay.image(&mut random_of(cut)))
}

fn random_of(cut: &Cut) -> Random {
    Random::of(&[cut.case.seed, 3, cut.place as u64, cut.variant])
}

fn judge(cut: &Cut, recorded: &Recorded, replay: &Replay) -> Result<(), String> {
    let mut random = random_of(cut);
    let image = replay.image(&mut random);
    let found = Found {
        case: &cut.case,
        device: cut.case.device(),
        contents: recorded.contents_at(cut.place),
        keys: recorded.keys_at(cut.place),
        before_all: recorded.is_before_all(cut.place),
    };
    match random.below(8) {
        0 => found.judge_twice(&image, &mut random),
        1 => found.judge(&image, true),
        _ => found.judge(&image, false),
    }
}

/// What must be found on a disk.
struct Found<'a> {
    case: &'a Case,
    device: Device,
    contents: Vec<u64>,
    keys: Vec<Vec<usize>>,
    /// Whether it is allowed that no transaction is there.
    before_all: bool,
}

impl Found<'_> {
    /// Opens the database and compares; then uses it, if requested.
    fn judge(&self, image: &Image, goes_on: bool) -> Result<(), String> {
        let disk = Disk::with(self.device, image);
        disk.enter();
        let key = self.judge_keys()?;
        let Some(connection) = self.open_unless_foreign(key)? else {
            return Ok(());
        };
        if self.case.scenario == Scenario::Rotation {
            self.finish_rotation(&connection)?;
        }
        if goes_on {
            for schema in self.case.schemas() {
                run(
                    &connection,
                    &format!(
                        "CREATE TABLE {schema}.later(a); INSERT INTO {schema}.later VALUES(1);
                         DROP TABLE {schema}.later"
                    ),
                )?;
            }
            self.compare(&connection)?;
        }
        drop(connection);
        if disk.open_files() > 0 {
            return Err(format!("{} files stay open", disk.open_files()));
        }
        if goes_on {
            self.compare(&open_case(self.case, key)?)?;
        }
        Ok(())
    }

    /// Cuts the power again during recovery from the first cut.
    fn judge_twice(&self, image: &Image, random: &mut Random) -> Result<(), String> {
        let disk = Disk::with(self.device, image);
        disk.enter();
        let key = self.judge_keys()?;
        let Some(connection) = self.open_unless_foreign(key)? else {
            return Ok(());
        };
        drop(connection);
        let log = disk.take_log();
        let mut replay = Replay::new(self.device, image, &log);
        for _ in 0..random.below(log.len() as u64 + 1) {
            replay.advance();
        }
        let second = replay.image(random);
        self.judge(&second, false)
            .map_err(|what| format!("{what}, after a second power cut during recovery"))
    }

    /// Continues a rotation that the power cut may have interrupted, or starts one.
    fn finish_rotation(&self, connection: &Connection) -> Result<(), String> {
        const TRIES: usize = 4;
        let status = text(connection, "PRAGMA strongroom_status")?;
        if status.contains("\"state\":\"new\"") {
            return Ok(());
        }
        for _ in 0..TRIES {
            let progress = text(connection, "PRAGMA strongroom_rotate")?;
            if progress.contains("\"finished\"") {
                let left = Disk::current().map(|disk| disk.image()).unwrap_or_default();
                // Its name may survive a power cut, but not its content.
                let mut files = left.files.iter();
                if files.any(|(name, bytes)| name.ends_with("-rekey") && !bytes.is_empty()) {
                    return Err("a finished rotation leaves pages in its file".to_owned());
                }
                return self.compare(connection);
            }
            drain(connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
            text(connection, "SELECT count(*) FROM sqlite_schema")?;
        }
        Err("the rotation does not come to its end".to_owned())
    }

    fn open(&self, key: usize) -> Result<Connection, String> {
        let connection = open_case(self.case, key)?;
        self.compare(&connection)?;
        Ok(connection)
    }

    /// Opens the database; `None` if the file may be unrecognisable.
    fn open_unless_foreign(&self, key: usize) -> Result<Option<Connection>, String> {
        match self.open(key) {
            Ok(connection) => Ok(Some(connection)),
            Err(what) if self.may_be_foreign(&what) => Ok(None),
            Err(what) => Err(what),
        }
    }

    /// On a device that may leave arbitrary bytes in a sector, the first header of a new database
    /// can become unrecognisable. The file is then refused, so that no foreign file is overwritten.
    fn may_be_foreign(&self, what: &str) -> bool {
        self.before_all
            && !self.device.powersafe_overwrite
            && what.contains("not a Strongroom file")
    }

    fn compare(&self, connection: &Connection) -> Result<(), String> {
        let digest = check(connection, self.case.side, self.case.schemas())?;
        if self.contents.contains(&digest) {
            return Ok(());
        }
        Err(format!(
            "the content is none of the {} that are allowed",
            self.contents.len()
        ))
    }

    /// Returns a key that opens the database, after checking that exactly the keys of one allowed
    /// set do.
    fn judge_keys(&self) -> Result<usize, String> {
        if self.case.scenario != Scenario::Keys {
            return Ok(0);
        }
        let mut found = Vec::new();
        for key in 0..KEYS {
            let connection = open_case(self.case, key)?;
            if text(&connection, "SELECT count(*) FROM sqlite_schema").is_err() {
                continue;
            }
            if text(&connection, "PRAGMA strongroom_status")?.contains("\"state\":\"new\"") {
                // Nothing was ever committed, so every key opens an empty database.
                return Ok(0);
            }
            found.push(key);
        }
        let nothing_yet = self.before_all && !self.device.powersafe_overwrite;
        if found.is_empty() && nothing_yet {
            // As in `may_be_foreign`.
            return Ok(0);
        }
        if self.keys.contains(&found) {
            Ok(found[0])
        } else {
            Err(format!(
                "keys {found:?} open the database, not one of {:?}",
                self.keys
            ))
        }
    }
}
