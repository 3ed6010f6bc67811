//! Records a run of a workload on the in-memory disk, along with a model of its expected content.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::case::{Case, Scenario};
use crate::database::{Side, digest, key_token, open, run, text};
use crate::disk::{Disk, Effect};
use crate::workload::{KeyChange, Step};

/// The main database.
pub const MAIN: &str = "/a.db";
/// The second database of [`Scenario::Attached`].
pub const OTHER: &str = "/b.db";

/// An atomic change.
#[derive(Clone, Debug)]
struct Change<T> {
    /// The number of effects before it could start to become durable.
    started: usize,
    /// The number of effects from which on it must be durable.
    durable: usize,
    /// The state after it.
    after: T,
}

/// The effects of a workload on the disk, and what must be found at each point.
pub struct Recorded {
    /// The effects.
    pub log: Vec<Effect>,
    contents: Vec<Change<u64>>,
    keys: Vec<Change<Vec<usize>>>,
}

impl Recorded {
    /// Digests of the allowed contents if the power fails after `cut` effects.
    pub fn contents_at(&self, cut: usize) -> Vec<u64> {
        allowed(&self.contents, cut)
    }

    /// Whether it is allowed that no transaction is found.
    pub fn is_before_all(&self, cut: usize) -> bool {
        let first = self.contents.iter().find(|change| change.durable > 0);
        first.is_none_or(|change| change.durable > cut)
    }

    /// The allowed sets of keys.
    pub fn keys_at(&self, cut: usize) -> Vec<Vec<usize>> {
        allowed(&self.keys, cut)
    }
}

/// The allowed states after `cut` effects: that of the last change that must be durable, and those
/// of later changes that had begun. The first change is the initial state.
fn allowed<T: Clone>(changes: &[Change<T>], cut: usize) -> Vec<T> {
    let lower = changes.iter().rposition(|change| change.durable <= cut);
    let lower = lower.unwrap_or(0);
    let begun = changes[lower + 1..]
        .iter()
        .take_while(|change| change.started < cut);
    let begun = begun.map(|change| change.after.clone());
    std::iter::once(changes[lower].after.clone())
        .chain(begun)
        .collect()
}

/// Runs the steps of a case.
///
/// # Errors
///
/// What failed: on a disk without faults, nothing should.
pub fn record(case: &Case) -> Result<Recorded, String> {
    let disk = Disk::new(case.device());
    disk.enter();
    let mut recorder = Recorder::new(case, disk)?;
    for step in case.steps() {
        recorder.step(&step)?;
    }
    recorder.finish()
}

/// The end of a transaction, until the log shows when it became durable.
struct Mark {
    started: usize,
    returned: usize,
    mode: &'static str,
    after: u64,
}

struct Recorder<'a> {
    case: &'a Case,
    disk: Disk,
    connection: Option<Connection>,
    reader: Option<Connection>,
    /// Stock SQLite in memory, which runs the same transactions.
    model: Connection,
    mode: &'static str,
    marks: Vec<Mark>,
    keys: Vec<Change<Vec<usize>>>,
    /// Keys by slot, and the one that opened the connection.
    slots: BTreeMap<String, usize>,
    open_with: usize,
}

impl<'a> Recorder<'a> {
    fn new(case: &'a Case, disk: Disk) -> Result<Self, String> {
        let model = Connection::open_in_memory().map_err(|error| error.to_string())?;
        if case.scenario == Scenario::Attached {
            run(&model, "ATTACH ':memory:' AS other")?;
        }
        let mut recorder = Recorder {
            case,
            disk,
            connection: None,
            reader: None,
            model,
            mode: case.mode,
            marks: Vec::new(),
            keys: vec![Change {
                started: 0,
                durable: 0,
                after: vec![0],
            }],
            slots: BTreeMap::from([("0".to_owned(), 0)]),
            open_with: 0,
        };
        let empty = recorder.model_digest()?;
        recorder.marks.push(Mark {
            started: 0,
            returned: 0,
            mode: case.mode,
            after: empty,
        });
        recorder.open()?;
        Ok(recorder)
    }

    fn model_digest(&self) -> Result<u64, String> {
        digest(&self.model, self.case.schemas()).map_err(|error| error.to_string())
    }

    fn open(&mut self) -> Result<(), String> {
        let connection = open_case(self.case, self.open_with)?;
        run(&connection, &self.case.settings())?;
        if self.mode != self.case.mode {
            drain(&connection, &format!("PRAGMA journal_mode={}", self.mode))?;
        }
        self.connection = Some(connection);
        Ok(())
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("open between steps")
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Transaction {
                statements,
                commits,
            } => self.transaction(statements, *commits),
            Step::Alone(statement) => {
                let started = self.disk.effects();
                drain(self.connection(), statement)?;
                if statement != "VACUUM" {
                    run(&self.model, statement)?;
                }
                self.mark(started)
            }
            Step::Rotate(pragma) => {
                // A reader may keep the log from being emptied.
                let _ = drain(self.connection(), pragma);
                Ok(())
            }
            Step::Upkeep(pragma) => drain(self.connection(), pragma),
            Step::Mode(mode) => {
                self.mode = mode;
                drain(self.connection(), &format!("PRAGMA journal_mode={mode}"))
            }
            Step::Reopen => {
                self.connection = None;
                self.open()
            }
            Step::Reader => {
                if self.reader.take().is_none() {
                    let reader = open_case(self.case, self.open_with)?;
                    run(&reader, "BEGIN; SELECT count(*) FROM a")?;
                    self.reader = Some(reader);
                }
                Ok(())
            }
            Step::Keys(change) => self.change_keys(*change),
        }
    }

    fn transaction(&mut self, statements: &[String], commits: bool) -> Result<(), String> {
        run(self.connection(), "BEGIN")?;
        run(&self.model, "BEGIN")?;
        for statement in statements {
            run(self.connection(), statement)?;
            run(&self.model, statement)?;
        }
        let end = if commits { "COMMIT" } else { "ROLLBACK" };
        let started = self.disk.effects();
        run(self.connection(), end)?;
        run(&self.model, end)?;
        if commits { self.mark(started) } else { Ok(()) }
    }

    /// Records the end of the transaction whose end began at `started`.
    fn mark(&mut self, started: usize) -> Result<(), String> {
        self.marks.push(Mark {
            started,
            returned: self.disk.effects(),
            mode: self.mode,
            after: self.model_digest()?,
        });
        Ok(())
    }

    fn change_keys(&mut self, change: KeyChange) -> Result<(), String> {
        let started = self.disk.effects();
        let connection = self.connection();
        match change {
            KeyChange::Add(key) => {
                let token = key_token(key);
                let add = format!("PRAGMA strongroom_key_add='token={token}'");
                let slot = text(connection, &add)?;
                self.slots.insert(slot, key);
            }
            KeyChange::Remove(key) => {
                let found = self.slots.iter().find(|(_, other)| **other == key);
                let slot = found.map(|(slot, _)| slot.clone()).ok_or("no such slot")?;
                text(connection, &format!("PRAGMA strongroom_key_remove={slot}"))?;
                self.slots.remove(&slot);
            }
            KeyChange::Replace(key) => {
                let token = key_token(key);
                text(
                    connection,
                    &format!("PRAGMA strongroom_rekey='token={token}'"),
                )?;
                for held in self.slots.values_mut() {
                    if *held == self.open_with {
                        *held = key;
                    }
                }
                self.open_with = key;
            }
        }
        let mut after: Vec<usize> = self.slots.values().copied().collect();
        after.sort_unstable();
        self.keys.push(Change {
            started,
            durable: self.disk.effects(),
            after,
        });
        Ok(())
    }

    fn finish(self) -> Result<Recorded, String> {
        let found = digest(self.connection(), self.case.schemas());
        let found = found.map_err(|error| error.to_string())?;
        if found != self.model_digest()? {
            return Err("the content differs from the model's, without any power cut".to_owned());
        }
        drop((self.connection, self.reader));
        let log = self.disk.take_log();
        let mut before = 0;
        let contents = self.marks.iter().map(|mark| {
            // A transaction that changed nothing did not make earlier ones durable.
            before = durable(mark, &log, self.case).max(before);
            Change {
                started: mark.started,
                durable: before,
                after: mark.after,
            }
        });
        Ok(Recorded {
            contents: contents.collect(),
            keys: self.keys,
            log,
        })
    }
}

/// The number of effects from which on a commit must survive, according to SQLite's guarantee for
/// the mode.
fn durable(mark: &Mark, log: &[Effect], case: &Case) -> usize {
    let after = |from: usize, is: fn(&Effect) -> bool| {
        let found = log[from..].iter().position(is);
        found.map_or(usize::MAX, |index| from + index + 1)
    };
    match (mark.mode, case.synchronous) {
        ("wal", "normal") if !case.device().powersafe_overwrite => {
            // Frames that follow may damage the sector in which the last synced one ends.
            usize::MAX
        }
        ("wal", "normal") => {
            // sqlite.org/pragma.html, synchronous: durable with the next sync of the log, with
            // which a checkpoint begins. Any later sync of a log counts as that.
            let logs: Vec<usize> = log
                .iter()
                .filter_map(|effect| match effect {
                    Effect::Create { file, name } if name.ends_with("-wal") => Some(*file),
                    _ => None,
                })
                .collect();
            let wrote = mark.started..mark.returned;
            let file = log[wrote].iter().rev().find_map(|effect| match effect {
                Effect::Write { file, .. } if logs.contains(file) => Some(*file),
                _ => None,
            });
            let Some(file) = file else {
                return mark.returned;
            };
            let found = log[mark.returned..].iter().position(
                |effect| matches!(effect, Effect::Sync { file: other } if *other == file),
            );
            found.map_or(usize::MAX, |index| mark.returned + index + 1)
        }
        _ => {
            // The commit is the deletion of the journal, or of the super-journal if there is one.
            // Without synchronous=EXTRA the directory is not synced after the deletion of a
            // journal.
            let deleted = |suffix: &str, inside: &str| {
                let effects = log[mark.started..mark.returned].iter();
                effects
                    .enumerate()
                    .find_map(|(index, effect)| match effect {
                        Effect::Delete { name }
                            if name.ends_with(suffix) && name.contains(inside) =>
                        {
                            Some(mark.started + index)
                        }
                        _ => None,
                    })
            };
            match deleted("", "-mj").or_else(|| deleted("-journal", "")) {
                Some(place) => {
                    let synced = after(place, |effect| matches!(effect, Effect::SyncDirectory));
                    synced.max(mark.returned)
                }
                None => mark.returned,
            }
        }
    }
}

/// Opens the databases of a case.
///
/// # Errors
/// SQLite's.
pub fn open_case(case: &Case, key: usize) -> Result<Connection, String> {
    let uri = |name| {
        let uri = case.side.uri_with_key(name, key);
        // Half of the databases keep versions of their pages.
        match (case.side, case.seed % 4) {
            (Side::Strongroom, 2 | 3) => format!("{uri}&freshness=on"),
            _ => uri,
        }
    };
    let connection = open(&uri(MAIN)).map_err(|error| error.to_string())?;
    if case.scenario == Scenario::Attached {
        run(&connection, &format!("ATTACH '{}' AS other", uri(OTHER)))?;
    }
    Ok(connection)
}

/// Runs a statement to its end, whatever rows it returns.
///
/// # Errors
/// SQLite's.
pub fn drain(connection: &Connection, sql: &str) -> Result<(), String> {
    let through = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    };
    through().map_err(|error| format!("{sql:.200}: {error}"))
}
