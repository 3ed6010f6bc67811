//! Workload `concurrent`: several connections read and write the tables of `speed` at once.
//!
//! The tables are those of `speed` after its second test, with indexes. Steps of fixed duration
//! follow, with 1, 2, 4 and 8 connections, each twice. In a *closed* step each connection begins an
//! operation when its last one has ended, which shows the engine's capacity. In an *open* step
//! operations are due at a fixed mean rate, at random or at equal intervals ([`Arrivals`]), whether
//! the engine keeps up or not. Their latency counts from the time they were due, so waiting is not
//! hidden.
//!
//! Of 20 operations 12 read one row by its rowid, 4 read a range by an index, 3 are a transaction
//! that adds 1 to two rows of `t1`, 1 inserts a row into `t2`. Afterwards sums over both tables
//! show whether exactly the acknowledged commits are there.

mod arrivals;

use serde::{Deserialize, Serialize};

pub use arrivals::{Arrivals, DueTimes};

use crate::mix::mix;
use crate::{Fact, Script, Test, Work, Workload, sha256, speed};

/// Allowed rates of open steps, in operations per second.
pub const RATES: std::ops::RangeInclusive<u32> = 1..=100_000;

/// The default rate.
pub const DEFAULT_RATE: u32 = 200;

/// Allowed measured seconds of a step.
pub const SECONDS: std::ops::RangeInclusive<u32> = 1..=600;

/// The default number of measured seconds.
pub const DEFAULT_SECONDS: u32 = 3;

/// Seconds of the warm-up, which is not counted.
pub const WARM_UP_SECONDS: u32 = 1;

/// Connections of the steps.
pub const CONNECTIONS: [u32; 4] = [1, 2, 4, 8];

/// A one-sentence description.
pub(crate) const DESCRIPTION: &str =
    "1, 2, 4 and 8 connections that read and write at once; takes --rate, --arrivals, --seconds";

/// Rows of `t1`, which are updated, and of `t2`, which is read and grows.
const COUNTERS: u32 = 1000;
const ROWS: u32 = 25_000;
/// Upper bound of the numbers in `t2`.
const LIMIT: u32 = 500_000;

/// A period in which several connections work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The number of connections, each with a thread.
    pub connections: u32,
    /// Operations per second that are due, over all connections; `None` in a closed step.
    pub rate: Option<u32>,
    /// The arrival process of an open step.
    #[serde(default = "Arrivals::of_older_runs")]
    pub arrivals: Arrivals,
    /// The measured seconds.
    pub seconds: u32,
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reads one row by its rowid.
    PointRead,
    /// Reads a range by an index.
    RangeRead,
    /// A transaction that adds 1 to two rows.
    Update,
    /// Inserts a row.
    Insert,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::PointRead, Self::RangeRead, Self::Update, Self::Insert];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::PointRead => "point read",
            Self::RangeRead => "range read",
            Self::Update => "update of two rows",
            Self::Insert => "insert",
        }
    }
}

/// One operation: statements to be run in order, on one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// Its statements. Several statements form a transaction.
    pub statements: Vec<String>,
}

fn below(value: u64, limit: u32) -> u32 {
    (value % u64::from(limit)) as u32
}

/// The operation with that number, from 0, in a test with that number. It depends on nothing else,
/// so every engine gets the same operations, whichever of its connections runs them.
pub fn operation(test: u32, number: u64) -> Operation {
    let draw = mix(mix(u64::from(test)) ^ number);
    let (first, second) = (mix(draw), mix(draw ^ 1));
    let (kind, statements) = match draw % 20 {
        0..=11 => {
            let row = below(first, ROWS) + 1;
            let read = format!("SELECT a, b, c FROM t2 WHERE a={row};");
            (Kind::PointRead, vec![read])
        }
        12..=15 => {
            let low = below(first, LIMIT - 1000);
            let high = low + 1000;
            let read = format!("SELECT count(*), avg(b) FROM t2 WHERE b>={low} AND b<{high};");
            (Kind::RangeRead, vec![read])
        }
        16..=18 => {
            let one = below(first, COUNTERS) + 1;
            // A different row, so that two transactions can want the same two in opposite orders.
            let other = (one + below(second, COUNTERS - 1)) % COUNTERS + 1;
            let statements = vec![
                "BEGIN;".to_owned(),
                format!("UPDATE t1 SET b=b+1 WHERE a={one};"),
                format!("UPDATE t1 SET b=b+1 WHERE a={other};"),
                "COMMIT;".to_owned(),
            ];
            (Kind::Update, statements)
        }
        _ => {
            // The rows of the load keep their rowids.
            let row = ROWS + 1 + below(first, 1_000_000);
            let number = below(second, LIMIT);
            let insert = format!("INSERT INTO t2 VALUES({row},{number},'a new row');");
            (Kind::Insert, vec![insert])
        }
    };
    Operation { kind, statements }
}

/// The number of operations that [`preview`] shows.
const PREVIEWED: u64 = 100;

/// The first operations of a step, only for display.
pub fn preview(test: &Test) -> Option<String> {
    let Some(Work::Concurrent(_)) = test.step else {
        return None;
    };
    let mut text = format!(
        "-- {}\n-- The first {PREVIEWED} operations; a free connection takes the next.\n",
        test.title
    );
    for number in 0..PREVIEWED {
        text += &operation(test.number, number).statements.join(" ");
        text.push('\n');
    }
    Some(text)
}

/// The facts that must hold after this many acknowledged commits.
pub fn facts(updates: u64, inserts: u64) -> [Fact; 2] {
    let fact = |query: &str, row: Vec<u64>| Fact {
        query: query.to_owned(),
        row: row
            .into_iter()
            .map(|number| i64::try_from(number).unwrap_or(i64::MAX))
            .collect(),
    };
    [
        fact(
            "SELECT count(*), sum(b) FROM t1",
            vec![u64::from(COUNTERS), 2 * updates],
        ),
        fact("SELECT count(*) FROM t2", vec![u64::from(ROWS) + inserts]),
    ]
}

/// The workload: a test that creates the tables, then the steps.
pub(crate) fn workload(rate: u32, arrivals: Arrivals, seconds: u32) -> Workload {
    let mut tests = vec![Test {
        number: 1,
        title: "Tables and indexes".to_owned(),
        script: tables(),
        oracle: facts(0, 0).to_vec(),
        step: None,
    }];
    for connections in CONNECTIONS {
        for rate in [None, Some(rate)] {
            let step = Step {
                connections,
                rate,
                arrivals,
                seconds,
            };
            tests.push(Test {
                number: tests.len() as u32 + 1,
                title: title(&step),
                script: Script::new(),
                oracle: Vec::new(),
                step: Some(Work::Concurrent(step)),
            });
        }
    }
    let titles: String = tests
        .iter()
        .map(|test| format!("{} {seconds}\n", test.title))
        .collect();
    let sha256 = sha256([tests[0].script.text(), &titles]);
    Workload {
        name: "concurrent".to_owned(),
        description: DESCRIPTION.to_owned(),
        tests,
        canary: "thousand".to_owned(),
        sha256,
    }
}

fn title(step: &Step) -> String {
    let connections = match step.connections {
        1 => "1 connection".to_owned(),
        many => format!("{many} connections"),
    };
    match step.rate {
        None => format!("{connections}, as fast as they can"),
        Some(rate) => {
            let arrivals = match step.arrivals {
                Arrivals::Poisson => "at random",
                Arrivals::Even => "evenly",
            };
            format!("{connections}, {rate} operations a second due {arrivals}")
        }
    }
}

/// The tables of `speed`, except that `t1` begins with zeros, so that sums count updates.
fn tables() -> Script {
    let mut script = Script::new();
    script.push("BEGIN;");
    script.push("CREATE TABLE t1(a INTEGER, b INTEGER, c VARCHAR(100));");
    for row in 1..=COUNTERS {
        script.push(&format!("INSERT INTO t1 VALUES({row},0,'zero');"));
    }
    for statement in speed::filling() {
        script.push(&statement);
    }
    for (index, column) in [("i1a", "t1(a)"), ("i2a", "t2(a)"), ("i2b", "t2(b)")] {
        script.push(&format!("CREATE INDEX {index} ON {column};"));
    }
    script.push("COMMIT;");
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_specified_mix_and_are_the_same_each_time() {
        let mut counts = [0u32; 4];
        for number in 0..20_000 {
            let operation = operation(3, number);
            assert_eq!(operation, super::operation(3, number));
            counts[operation.kind as usize] += 1;
        }
        for (count, share) in counts.into_iter().zip([12_000u32, 4000, 3000, 1000]) {
            assert!(count.abs_diff(share) < 300, "{counts:?}");
        }
        assert_ne!(operation(3, 0), operation(4, 0));
    }

    #[test]
    fn an_update_changes_two_different_rows() {
        let updates = (0..20_000)
            .map(|number| operation(2, number))
            .filter(|operation| operation.kind == Kind::Update);
        for update in updates {
            assert_ne!(update.statements[1], update.statements[2]);
        }
    }

    #[test]
    fn there_is_a_closed_and_an_open_step_for_each_number_of_connections() {
        let workload = workload(150, Arrivals::Even, 2);
        let random = super::workload(150, Arrivals::Poisson, 2);
        assert_ne!(workload.sha256, random.sha256);
        let steps: Vec<(u32, Option<u32>)> = workload
            .tests
            .iter()
            .filter_map(|test| match test.step {
                Some(Work::Concurrent(step)) => Some((step.connections, step.rate)),
                _ => None,
            })
            .collect();
        let rate = Some(150);
        assert_eq!(
            steps,
            [
                (1, None),
                (1, rate),
                (2, None),
                (2, rate),
                (4, None),
                (4, rate),
                (8, None),
                (8, rate)
            ]
        );
        assert_eq!(workload.tests[0].oracle[0].row, [1000, 0]);
    }
}
