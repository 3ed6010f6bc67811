//! The statements of the 32 tests.
//!
//! A statement ends as the original writes it: if its text already has a semicolon, a second one
//! follows, which SQLite takes for an empty statement.

use super::numbers::{Random, all_ones, rough_square_root, swizzle};
use crate::Script;
use crate::number_name::number_name;

/// A test as the original names it.
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) title: String,
    pub(super) script: Script,
}

/// Quantities that depend on the size.
struct Scale {
    /// Relative size: 100 is the original's default.
    size: u32,
    /// Rows of the first four tables.
    rows: u32,
    /// Largest number in a swizzled column of these.
    largest: u32,
    /// Statements in a test whose statements read few rows.
    queries: u32,
    /// Rows inserted into the two key-value tables; later ones replace earlier ones.
    replaced: u32,
    /// Largest key there.
    largest_key: u32,
}

impl Scale {
    fn new(size: u32) -> Self {
        let rows = 500 * size;
        let replaced = 700 * size;
        Self {
            size,
            rows,
            largest: all_ones(rows),
            queries: rows / 5,
            replaced,
            largest_key: all_ones(replaced / 3),
        }
    }
}

/// Tests of single queries that `--big-transactions` makes one transaction each.
const ALSO_IN_TRANSACTIONS: [u32; 2] = [410, 510];

/// All tests of one size, in order.
pub(super) fn all(size: u32, big_transactions: bool) -> Vec<Part> {
    let mut parts = as_without_options(size);
    if big_transactions {
        let singles = |part: &&mut Part| ALSO_IN_TRANSACTIONS.contains(&part.number);
        for part in parts.iter_mut().filter(singles) {
            let mut script = Script::new();
            for statement in std::iter::once("BEGIN;")
                .chain(part.script.statements())
                .chain(std::iter::once("COMMIT;"))
            {
                script.push(statement);
            }
            part.script = script;
        }
    }
    parts
}

fn as_without_options(size: u32) -> Vec<Part> {
    let scale = Scale::new(size);
    let mut parts = Vec::with_capacity(32);
    parts.extend(filling(&scale));
    parts.push(unindexed_ranges(&scale));
    parts.extend(scans());
    parts.extend(indexed_queries(&scale));
    parts.extend(copies(&scale));
    parts.extend(updates(&scale));
    parts.extend(deletes_and_refills(&scale));
    parts.extend(joins(&scale));
    parts.extend(keys_and_values(&scale));
    parts
}

fn part(number: u32, title: String, statements: impl IntoIterator<Item = String>) -> Part {
    let mut script = Script::new();
    for statement in statements {
        script.push(&statement);
    }
    Part {
        number,
        title,
        script,
    }
}

/// Statements between BEGIN and COMMIT.
fn transaction(
    first: &[&str],
    statements: impl Iterator<Item = String>,
) -> impl Iterator<Item = String> {
    let first: Vec<String> = first.iter().map(|&text| text.to_owned()).collect();
    std::iter::once("BEGIN;".to_owned())
        .chain(first)
        .chain(statements)
        .chain(std::iter::once("COMMIT;".to_owned()))
}

fn fixed(number: u32, title: &str, statements: &[&str]) -> Part {
    let statements = statements.iter().map(|&text| text.to_owned());
    part(number, title.to_owned(), statements)
}

/// Tests 100 to 120: three tables with the same numbers.
fn filling(scale: &Scale) -> [Part; 3] {
    let rows = scale.rows;
    let inserts = |table: &'static str, swizzled_first: bool| {
        let largest = scale.largest;
        (1..=rows).map(move |row| {
            let swizzled = swizzle(row, largest);
            let name = number_name(swizzled);
            let (a, b) = if swizzled_first {
                (swizzled, row)
            } else {
                (row, swizzled)
            };
            format!("INSERT INTO {table} VALUES({a},{b},'{name}');")
        })
    };
    [
        part(
            100,
            format!("{rows} INSERTs into table with no index"),
            transaction(
                &["CREATE TABLE z1(a INTEGER , b INTEGER , c TEXT );;"],
                inserts("z1", true),
            ),
        ),
        part(
            110,
            format!("{rows} ordered INSERTS with one index/PK"),
            transaction(
                &["CREATE TABLE z2(a INTEGER  UNIQUE, b INTEGER , c TEXT ) ;"],
                inserts("z2", false),
            ),
        ),
        part(
            120,
            format!("{rows} unordered INSERTS with one index/PK"),
            transaction(
                &["CREATE TABLE t3(a INTEGER  UNIQUE, b INTEGER , c TEXT ) ;"],
                inserts("t3", true),
            ),
        ),
    ]
}

/// Pairs of bounds a few numbers apart; the first bound is at least `smallest`.
fn ranges(scale: &Scale, count: u32, smallest: u32) -> impl Iterator<Item = (u32, u32)> {
    let (largest, width) = (scale.largest, scale.rows / 5000);
    let mut random = Random::new();
    (0..count).map(move |_| {
        let low = random.below(largest) + smallest;
        let high = random.below(10) + width + low;
        (low, high)
    })
}

/// Test 130.
fn unindexed_ranges(scale: &Scale) -> Part {
    let statements = ranges(scale, 25, 0).map(|(low, high)| {
        format!(
            "SELECT count(*), avg(b), sum(length(c)), group_concat(c) FROM z1\n \
             WHERE b BETWEEN {low} AND {high};"
        )
    });
    part(
        130,
        "25 SELECTS, numeric BETWEEN, unindexed".to_owned(),
        transaction(&[], statements),
    )
}

/// Tests 140 to 150: search whole tables for a text, then create indexes.
fn scans() -> [Part; 4] {
    // The final percent sign replaces the name's last letter.
    let patterns = || {
        (1..=10).map(|number| {
            let mut name = number_name(number);
            name.pop();
            format!("'%{name}%'")
        })
    };
    let aggregates = patterns().map(|pattern| {
        format!(
            "SELECT count(*), avg(b), sum(length(c)), group_concat(c) FROM z1\n \
             WHERE c LIKE {pattern};"
        )
    });
    let ordered = |limit: &'static str| {
        patterns().map(move |pattern| {
            format!("SELECT a, b, c FROM z1 WHERE c LIKE {pattern}\n ORDER BY a{limit};")
        })
    };
    [
        part(
            140,
            "10 SELECTS, LIKE, unindexed".to_owned(),
            transaction(&[], aggregates),
        ),
        part(
            142,
            "10 SELECTS w/ORDER BY, unindexed".to_owned(),
            transaction(&[], ordered("")),
        ),
        part(
            145,
            "10 SELECTS w/ORDER BY and LIMIT, unindexed".to_owned(),
            transaction(&[], ordered(" LIMIT 10")),
        ),
        fixed(
            150,
            "CREATE INDEX five times",
            &[
                "BEGIN;;",
                "CREATE UNIQUE INDEX t1b ON z1(b);;",
                "CREATE INDEX t1c ON z1(c);;",
                "CREATE UNIQUE INDEX t2b ON z2(b);;",
                "CREATE INDEX t2c ON z2(c DESC);;",
                "CREATE INDEX t3bc ON t3(b,c);;",
                "COMMIT;;",
            ],
        ),
    ]
}

/// Tests 160 to 170: each query reads a few rows by an index.
fn indexed_queries(scale: &Scale) -> [Part; 3] {
    let queries = scale.queries;
    let numeric = |table: &'static str, column: &'static str| {
        ranges(scale, queries, 0).map(move |(low, high)| {
            format!(
                "SELECT count(*), avg(b), sum(length(c)), group_concat(a) FROM {table}\n \
                 WHERE {column} BETWEEN {low} AND {high};"
            )
        })
    };
    let largest = scale.largest;
    let texts = (1..=queries).map(move |row| {
        let name = number_name(swizzle(row, largest));
        format!(
            "SELECT count(*), avg(b), sum(length(c)), group_concat(a) FROM z1\n \
             WHERE c BETWEEN '{name}' AND ('{name}'||'~');"
        )
    });
    [
        part(
            160,
            format!("{queries} SELECTS, numeric BETWEEN, indexed"),
            transaction(&[], numeric("z1", "b")),
        ),
        part(
            161,
            format!("{queries} SELECTS, numeric BETWEEN, PK"),
            transaction(&[], numeric("z2", "a")),
        ),
        part(
            170,
            format!("{queries} SELECTS, text BETWEEN, indexed"),
            transaction(&[], texts),
        ),
    ]
}

/// Tests 180 to 210: statements that write or rewrite a whole table.
fn copies(scale: &Scale) -> [Part; 4] {
    let rows = scale.rows;
    [
        fixed(
            180,
            &format!("{rows} INSERTS with three indexes"),
            &[
                "BEGIN;",
                "CREATE TABLE t4(\n  a INTEGER  UNIQUE,\n  b INTEGER ,\n  c TEXT \n) ;",
                "CREATE INDEX t4b ON t4(b);",
                "CREATE INDEX t4c ON t4(c);",
                "INSERT INTO t4 SELECT * FROM z1;",
                "COMMIT;",
            ],
        ),
        fixed(
            190,
            "DELETE and REFILL one table",
            &["DELETE FROM z2;;", "INSERT INTO z2 SELECT * FROM z1;;"],
        ),
        fixed(200, "VACUUM", &["VACUUM;"]),
        fixed(
            210,
            "ALTER TABLE ADD COLUMN, and query",
            &[
                "ALTER TABLE z2 ADD COLUMN d INT DEFAULT 123;",
                "SELECT sum(d) FROM z2;",
            ],
        ),
    ]
}

/// Random row numbers; a row may occur more than once.
fn drawn_rows(scale: &Scale) -> impl Iterator<Item = u32> {
    let rows = scale.rows;
    let mut random = Random::new();
    (0..rows).map(move |_| random.below(rows) + 1)
}

/// Tests 230 to 260.
fn updates(scale: &Scale) -> [Part; 4] {
    let (rows, queries) = (scale.rows, scale.queries);
    let by_range = ranges(scale, queries, 0)
        .map(|(low, high)| format!("UPDATE z2 SET d=b*2 WHERE b BETWEEN {low} AND {high};"));
    let by_row = drawn_rows(scale).map(|row| format!("UPDATE z2 SET d=b*3 WHERE a={row};"));
    [
        part(
            230,
            format!("{queries} UPDATES, numeric BETWEEN, indexed"),
            transaction(&[], by_range),
        ),
        part(
            240,
            format!("{rows} UPDATES of individual rows"),
            transaction(&[], by_row),
        ),
        fixed(
            250,
            &format!("One big UPDATE of the whole {rows}-row table"),
            &["UPDATE z2 SET d=b*4;"],
        ),
        fixed(
            260,
            "Query added column after filling",
            &["SELECT sum(d) FROM z2;"],
        ),
    ]
}

/// Tests 270 to 300.
fn deletes_and_refills(scale: &Scale) -> [Part; 4] {
    let (rows, queries) = (scale.rows, scale.queries);
    let by_range = ranges(scale, queries, 1)
        .map(|(low, high)| format!("DELETE FROM z2 WHERE b BETWEEN {low} AND {high};"));
    let by_row = drawn_rows(scale).map(|row| format!("DELETE FROM t3 WHERE a={row};"));
    [
        part(
            270,
            format!("{queries} DELETEs, numeric BETWEEN, indexed"),
            transaction(&[], by_range),
        ),
        part(
            280,
            format!("{rows} DELETEs of individual rows"),
            transaction(&[], by_row),
        ),
        fixed(
            290,
            &format!("Refill two {rows}-row tables using REPLACE"),
            &[
                "REPLACE INTO z2(a,b,c) SELECT a,b,c FROM z1;",
                "REPLACE INTO t3(a,b,c) SELECT a,b,c FROM z1;",
            ],
        ),
        fixed(
            300,
            &format!("Refill a {rows}-row table using (b&1)==(a&1)"),
            &[
                "DELETE FROM z2;;",
                "INSERT INTO z2(a,b,c)\n SELECT a,b,c FROM z1  WHERE (b&1)==(a&1);;",
                "INSERT INTO z2(a,b,c)\n SELECT a,b,c FROM z1  WHERE (b&1)<>(a&1);;",
            ],
        ),
    ]
}

/// Tests 310 and 320.
fn joins(scale: &Scale) -> [Part; 2] {
    let (rows, queries) = (scale.rows, scale.queries);
    let mut random = Random::new();
    let four_ways = (0..queries).map(move |_| {
        let low = random.below(rows) + 1;
        let high = random.below(10) + low + 4;
        format!(
            "SELECT z1.c FROM z1, z2, t3, t4\n WHERE t4.a BETWEEN {low} AND {high}\n   \
             AND t3.a=t4.b\n   AND z2.a=t3.b\n   AND z1.c=z2.c;"
        )
    });
    let first_rows = rough_square_root(scale.size) * 50;
    [
        part(
            310,
            format!("{queries} four-ways joins"),
            transaction(&[], four_ways),
        ),
        fixed(
            320,
            "subquery in result set",
            &[&format!(
                "SELECT sum(a), max(c),\n       avg((SELECT a FROM z2 WHERE 5+z2.b=z1.b) \
                 AND rowid<{first_rows}), max(c)\n FROM z1 WHERE rowid<{first_rows};"
            )],
        ),
    ]
}

/// Tests 400 to 990: key-value tables, and a scan of the whole database.
fn keys_and_values(scale: &Scale) -> [Part; 7] {
    let (count, largest) = (scale.replaced, scale.largest_key);
    let keys = || (1..=count).map(move |row| (row, swizzle(row, largest)));
    let by_number = keys().map(|(row, key)| {
        let name = number_name(row);
        format!("REPLACE INTO t5 VALUES({key},'{name}');")
    });
    let by_text = keys().map(|(row, key)| {
        let name = number_name(key);
        format!("REPLACE INTO t6 VALUES('{name}',{row});")
    });
    [
        part(
            400,
            format!("{count} REPLACE ops on an IPK"),
            transaction(&["CREATE TABLE t5(a INTEGER PRIMARY KEY, b );;"], by_number),
        ),
        part(
            410,
            format!("{count} SELECTS on an IPK"),
            keys().map(|(_, key)| format!("SELECT b FROM t5 WHERE a={key};")),
        ),
        part(
            500,
            format!("{count} REPLACE on TEXT PK"),
            transaction(
                &["CREATE TABLE t6(a TEXT PRIMARY KEY, b )WITHOUT ROWID;;"],
                by_text,
            ),
        ),
        part(
            510,
            format!("{count} SELECTS on a TEXT PK"),
            keys().map(|(_, key)| format!("SELECT b FROM t6 WHERE a='{}';", number_name(key))),
        ),
        fixed(
            520,
            &format!("{count} SELECT DISTINCT"),
            &["SELECT DISTINCT b FROM t5;;", "SELECT DISTINCT b FROM t6;;"],
        ),
        fixed(980, "PRAGMA integrity_check", &["PRAGMA integrity_check;"]),
        fixed(990, "ANALYZE", &["ANALYZE;"]),
    ]
}
