//! Transactions that a seed reproduces exactly.

use crate::database::KEYS;
use crate::random::Random;

/// One action of a program on its database.
#[derive(Clone, Debug)]
pub enum Step {
    /// `BEGIN`, these statements, and `COMMIT` or `ROLLBACK`.
    Transaction {
        /// The statements.
        statements: Vec<String>,
        /// Whether it commits.
        commits: bool,
    },
    /// A statement that forms a transaction by itself.
    Alone(String),
    /// A pragma that does not change content.
    Upkeep(String),
    /// A change of the journal mode.
    Mode(&'static str),
    /// Closes and reopens the connection.
    Reopen,
    /// A reader opens a read transaction, or ends it.
    Reader,
    /// A pragma of a rotation of the data key; other connections may be in its way.
    Rotate(String),
    /// A change of keys.
    Keys(KeyChange),
}

/// A change of keys. The database starts with key 0.
#[derive(Clone, Copy, Debug)]
pub enum KeyChange {
    /// Adds a slot for this key.
    Add(usize),
    /// Removes the slot of this key.
    Remove(usize),
    /// Replaces the key that opened the connection.
    Replace(usize),
}

/// Parameters of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Page size of the database.
    pub page_size: usize,
    /// 0: none, 1: full, 2: incremental.
    pub auto_vacuum: u64,
    /// Whether checkpoints are useful.
    pub log: bool,
    /// Whether transactions go to a second database too.
    pub attached: bool,
    /// Whether the journal mode changes during the run.
    pub switches: bool,
    /// How many steps.
    pub steps: usize,
}

struct Writer {
    random: Random,
    shape: Shape,
    extras: [bool; 2],
    number: u64,
}

/// The steps of a seed. The first creates the tables.
pub fn steps(shape: Shape, seed: u64) -> Vec<Step> {
    let mut writer = Writer {
        random: Random::of(&[seed, 1]),
        shape,
        extras: [false; 2],
        number: 0,
    };
    let mut steps = vec![Step::Transaction {
        statements: writer.creation(),
        commits: true,
    }];
    while steps.len() < shape.steps {
        steps.push(writer.step());
    }
    steps
}

impl Writer {
    fn schemas(&self) -> &'static [&'static str] {
        if self.shape.attached {
            &["main", "other"]
        } else {
            &["main"]
        }
    }

    fn creation(&mut self) -> Vec<String> {
        let schemas = self.schemas().iter();
        let mut all: Vec<String> = schemas
            .flat_map(|schema| {
                [
                    format!("CREATE TABLE {schema}.a(id INTEGER PRIMARY KEY, number, filling)"),
                    format!("CREATE INDEX {schema}.a_number ON a(number, id)"),
                    format!("CREATE TABLE {schema}.k(id TEXT PRIMARY KEY, filling) WITHOUT ROWID"),
                ]
            })
            .collect();
        if self.random.once_in(2) {
            all.push(self.insert_many());
        }
        all
    }

    fn step(&mut self) -> Step {
        match self.random.below(24) {
            0..14 => self.transaction(),
            14..16 => Step::Alone(self.statement()),
            16 if !self.shape.attached => Step::Alone("VACUUM".to_owned()),
            17 if self.shape.auto_vacuum == 2 => Step::Upkeep(format!(
                "PRAGMA incremental_vacuum({})",
                self.random.below(8)
            )),
            18 => Step::Reopen,
            19..22 if self.shape.log => {
                let kind = self
                    .random
                    .pick(&["PASSIVE", "FULL", "RESTART", "TRUNCATE"]);
                Step::Upkeep(format!("PRAGMA wal_checkpoint({kind})"))
            }
            22..24 if self.shape.log => Step::Reader,
            20..24 if self.shape.switches => {
                Step::Mode(self.random.pick(&["delete", "truncate", "persist", "wal"]))
            }
            _ => self.transaction(),
        }
    }

    fn transaction(&mut self) -> Step {
        let kept = self.extras;
        let count = 1 + self.random.below(5);
        let mut statements = Vec::new();
        for _ in 0..count {
            if self.random.once_in(5) {
                let extras = self.extras;
                statements.push("SAVEPOINT s".to_owned());
                statements.push(self.statement());
                statements.push(self.statement());
                if self.random.once_in(2) {
                    statements.push("ROLLBACK TO s".to_owned());
                    self.extras = extras;
                }
                statements.push("RELEASE s".to_owned());
            }
            statements.push(self.statement());
        }
        if self.shape.attached {
            statements.push(format!("DELETE FROM other.a WHERE id = {}", self.row()));
            let (row, text) = (self.row(), self.text());
            statements.push(format!("REPLACE INTO main.k VALUES('{row}', {text})"));
        }
        let commits = !self.random.once_in(6);
        if !commits {
            self.extras = kept;
        }
        Step::Transaction {
            statements,
            commits,
        }
    }

    fn row(&mut self) -> u64 {
        1 + self.random.below(40)
    }

    /// From empty to a few pages, different each time.
    fn text(&mut self) -> String {
        self.number += 1;
        let page = self.shape.page_size as u64;
        let size = match self.random.below(24) {
            0 => page + self.random.below(2 * page),
            1..4 => self.random.below(page),
            4..12 => self.random.below(page / 4),
            _ => self.random.below(60),
        };
        let letter = char::from(b'a' + self.random.below(26) as u8);
        format!("'{}-' || printf('%.*c', {size}, '{letter}')", self.number)
    }

    fn insert_many(&mut self) -> String {
        let (row, text, count) = (self.row(), self.text(), 2 + self.random.below(14));
        let schema = self.random.pick(self.schemas());
        format!(
            "REPLACE INTO {schema}.a WITH n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n
             WHERE i<{count}) SELECT {row} + i, i % 5, {text} || i FROM n"
        )
    }

    fn statement(&mut self) -> String {
        let schema = self.random.pick(self.schemas());
        let (row, text) = (self.row(), self.text());
        match self.random.below(20) {
            0..4 => format!("REPLACE INTO {schema}.a VALUES({row}, {}, {text})", row % 7),
            4..7 => self.insert_many(),
            7..10 => {
                let modulus = 1 + self.random.below(9);
                format!(
                    "UPDATE {schema}.a SET number = number + {row}, filling = {text}
                     WHERE id % {modulus} = 0"
                )
            }
            10..12 => format!("DELETE FROM {schema}.a WHERE id BETWEEN {row} AND {row} + 9"),
            12..15 => format!("REPLACE INTO {schema}.k VALUES('{row}', {text})"),
            15 => format!("DELETE FROM {schema}.k WHERE id > '{row}'"),
            16 => format!("DELETE FROM {schema}.a WHERE length(filling) > 500"),
            _ => self.schema_change(),
        }
    }

    fn schema_change(&mut self) -> String {
        let index = self.random.below(2) as usize;
        let was = self.extras[index];
        self.extras[index] = !was;
        if was {
            format!("DROP TABLE main.extra_{index}")
        } else {
            let text = self.text();
            format!("CREATE TABLE main.extra_{index} AS SELECT 1 AS a, {text} AS b")
        }
    }
}

/// The steps of a seed, with changes of keys in between.
pub fn steps_with_keys(shape: Shape, seed: u64) -> Vec<Step> {
    let mut random = Random::of(&[seed, 2]);
    let mut open_with = 0;
    let mut others: Vec<usize> = Vec::new();
    let mut all = Vec::new();
    for step in steps(shape, seed) {
        all.push(step);
        let unused = (0..KEYS).find(|key| *key != open_with && !others.contains(key));
        match (random.below(4), unused) {
            (0, Some(key)) => {
                others.push(key);
                all.push(Step::Keys(KeyChange::Add(key)));
            }
            (1, Some(key)) => {
                open_with = key;
                all.push(Step::Keys(KeyChange::Replace(key)));
            }
            (2, _) if !others.is_empty() => {
                let key = others.swap_remove(random.below(others.len() as u64) as usize);
                all.push(Step::Keys(KeyChange::Remove(key)));
            }
            _ => {}
        }
    }
    all
}

/// The steps of a seed, with steps of rotations of the data key in between.
pub fn steps_with_rotation(shape: Shape, seed: u64) -> Vec<Step> {
    let mut random = Random::of(&[seed, 3]);
    let mut all = Vec::new();
    for step in steps(shape, seed) {
        all.push(step);
        let pragmas: &[&str] = match random.below(5) {
            0 => &["strongroom_rotate='start'"],
            1 => &["strongroom_rotate=2"],
            2 => &["strongroom_rotate=5", "wal_checkpoint(TRUNCATE)"],
            3 => &["strongroom_rotate"],
            _ => &[],
        };
        let pragmas = pragmas.iter().map(|pragma| format!("PRAGMA {pragma}"));
        all.extend(pragmas.map(Step::Rotate));
    }
    all
}

/// The steps of a seed, with changes of the page size in between.
pub fn steps_with_page_sizes(shape: Shape, seed: u64) -> Vec<Step> {
    let mut random = Random::of(&[seed, 6]);
    let mut all = Vec::new();
    for step in steps(shape, seed) {
        all.push(step);
        if random.once_in(4) {
            let page_size = random.pick(&[512, 1024, 4096, 16384, 65536]);
            all.push(Step::Alone(format!("PRAGMA page_size={page_size}")));
            all.push(Step::Alone("VACUUM".to_owned()));
        }
    }
    all
}
