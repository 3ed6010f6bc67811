//! The content of a database, twice: as rows in SQL, and as the oracle's model.
//!
//! Each row's filling is determined by its id, version and size, so a row shows by itself whether
//! it is intact. A worker applies a [`Change`] in SQL, the oracle applies it to a [`State`];
//! digests show whether the results are equal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rusqlite::{Connection, params};

use crate::common::random::Random;

/// The largest row id.
const IDS: u64 = 60;
/// By how much the fillings of one version are shifted against each other.
const SHIFT: u64 = 97;
/// Sizes of fillings, most of them small; with the smallest pages the largest spans forty.
const SIZE_MAX: u64 = 20_000;

/// Tables of a storm's database.
pub const TABLES: &str = "
    CREATE TABLE item(id INTEGER PRIMARY KEY, version INTEGER NOT NULL, filling BLOB NOT NULL);
    CREATE INDEX by_version ON item(version, id);
    CREATE TABLE history(sequence INTEGER PRIMARY KEY, author INTEGER, seed INTEGER)";

/// One change to the rows of one database. Its version is unique.
#[derive(Clone, Debug)]
pub enum Change {
    Put {
        first: u64,
        count: u64,
        version: u64,
        size: u64,
    },
    Rewrite {
        modulus: u64,
        version: u64,
    },
    Delete {
        first: u64,
        count: u64,
    },
}

impl Change {
    pub fn random(random: &mut Random, version: u64) -> Self {
        let (first, count) = (1 + random.below(IDS), 1 + random.below(8));
        match random.below(10) {
            0..6 => Change::Put {
                first,
                count,
                version,
                size: match random.below(12) {
                    0 => random.below(SIZE_MAX),
                    1..4 => random.below(3000),
                    _ => random.below(300),
                },
            },
            6..8 => Change::Rewrite {
                modulus: 1 + random.below(6),
                version,
            },
            _ => Change::Delete { first, count },
        }
    }

    /// The change as a line of an order; [`Change::parse`] reads it.
    pub fn to_order(&self) -> String {
        match self {
            Change::Put {
                first,
                count,
                version,
                size,
            } => format!("put {first} {count} {version} {size}"),
            Change::Rewrite { modulus, version } => format!("rewrite {modulus} {version}"),
            Change::Delete { first, count } => format!("delete {first} {count}"),
        }
    }

    pub fn parse(order: &str) -> Self {
        let mut words = order.split(' ');
        let kind = words.next().expect("a kind");
        let mut number = || words.next().expect("more").parse().expect("a number");
        match kind {
            "put" => Change::Put {
                first: number(),
                count: number(),
                version: number(),
                size: number(),
            },
            "rewrite" => Change::Rewrite {
                modulus: number(),
                version: number(),
            },
            "delete" => Change::Delete {
                first: number(),
                count: number(),
            },
            other => panic!("no change: {other}"),
        }
    }

    /// Applies the change in one statement.
    pub fn run(&self, connection: &Connection, schema: &str) -> rusqlite::Result<usize> {
        match *self {
            Change::Put {
                first,
                count,
                version,
                size,
            } => connection.execute(
                &format!(
                    "WITH n(i) AS (SELECT ?1 UNION ALL SELECT i+1 FROM n WHERE i < ?1 + ?2 - 1)
                     INSERT OR REPLACE INTO {schema}.item
                     SELECT i, ?3, substr(?4, 1 + i * 37 % {SHIFT}, ?5) FROM n"
                ),
                params![
                    first as i64,
                    count as i64,
                    version as i64,
                    pattern(version, size + SHIFT),
                    size as i64
                ],
            ),
            Change::Rewrite { modulus, version } => connection.execute(
                &format!(
                    "UPDATE {schema}.item SET version = ?1,
                     filling = substr(?2, 1 + id * 37 % {SHIFT}, length(filling))
                     WHERE id % ?3 = 0"
                ),
                params![
                    version as i64,
                    pattern(version, SIZE_MAX + SHIFT),
                    modulus as i64
                ],
            ),
            Change::Delete { first, count } => connection.execute(
                &format!("DELETE FROM {schema}.item WHERE id >= ?1 AND id < ?1 + ?2"),
                params![first as i64, count as i64],
            ),
        }
    }
}

/// The bytes from which the fillings of a version are cut.
fn pattern(version: u64, size: u64) -> Vec<u8> {
    let mut random = Random::new(version);
    let mut bytes = Vec::with_capacity(size as usize + 8);
    while bytes.len() < size as usize {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(size as usize);
    bytes
}

fn is_filling(id: u64, version: u64, filling: &[u8]) -> bool {
    let start = id * 37 % SHIFT;
    pattern(version, start + filling.len() as u64)[start as usize..] == *filling
}

/// The rows of one database: version and size by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State(BTreeMap<u64, (u64, u64)>);

impl State {
    pub fn apply(&mut self, change: &Change) {
        match *change {
            Change::Put {
                first,
                count,
                version,
                size,
            } => {
                self.0
                    .extend((first..first + count).map(|id| (id, (version, size))));
            }
            Change::Rewrite { modulus, version } => {
                let touched = self.0.iter_mut().filter(|(id, _)| *id % modulus == 0);
                touched.for_each(|(_, row)| row.0 = version);
            }
            Change::Delete { first, count } => {
                self.0.retain(|id, _| !(first..first + count).contains(id));
            }
        }
    }

    /// Count and digest of the rows, as [`read_digest`] computes them from SQL.
    pub fn digest(&self) -> String {
        let rows = self.0.iter();
        digest_of(rows.map(|(id, (version, size))| [*id, *version, *size]))
    }

    pub fn describe(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (id, row)| {
            let _ = write!(text, "{id}:{}/{} ", row.0, row.1);
            text
        })
    }
}

fn digest_of(rows: impl Iterator<Item = [u64; 3]>) -> String {
    let (mut count, mut hash) = (0_u64, 0_u64);
    for row in rows {
        count += 1;
        for number in row {
            hash = Random::new(hash ^ number).next();
        }
    }
    format!("{count}:{hash:016x}")
}

/// Reads all rows by table and by index within one transaction.
pub fn read_digest(connection: &Connection, schema: &str) -> rusqlite::Result<String> {
    if !connection.is_autocommit() {
        return read_all(connection, schema);
    }
    connection.execute_batch("BEGIN")?;
    let digest = read_all(connection, schema);
    let ended = connection.execute_batch("COMMIT");
    let digest = digest?;
    ended?;
    Ok(digest)
}

fn read_all(connection: &Connection, schema: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, version, filling FROM {schema}.item NOT INDEXED ORDER BY id"
    ))?;
    let mut found = Vec::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, version) = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64);
        let filling = row.get_ref(2)?.as_blob().expect("a blob");
        assert!(is_filling(id, version, filling), "row {id} is not whole");
        found.push([id, version, filling.len() as u64]);
    }
    let by_index = format!(
        "SELECT version, id FROM {schema}.item INDEXED BY by_version WHERE version >= 0
         ORDER BY version, id"
    );
    let mut statement = connection.prepare_cached(&by_index)?;
    let by_index: Vec<[u64; 2]> = statement
        .query_map([], |row| {
            Ok([row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64])
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut by_table: Vec<[u64; 2]> = found.iter().map(|row| [row[1], row[0]]).collect();
    by_table.sort_unstable();
    assert_eq!(by_table, by_index, "table and index differ");
    Ok(digest_of(found.into_iter()))
}
