//! The generator of the 15 scripts.
//!
//! At scale N, every test does N times the work. Tables have N times the rows, with numbers from a
//! range N times as wide, so that a range of fixed width still contains the same number of rows.
//! There are N times as many statements that touch few rows, but not of those that read a whole
//! table (tests 3, 4, 7 and 11), since each does more work.
//!
//! A single random stream runs through all tests, with one draw per row that needs a number: in
//! tests 1, 2, 8, 9 and 14, in this order. Leaving a test out would change those after it.

use std::fmt::Write;

use crate::number_name::number_name;

/// Park and Miller's minimal standard generator, as Tcl's `rand()` uses it.
pub(super) struct Random {
    state: u64,
}

const MULTIPLIER: u64 = 16_807;
const MODULUS: u64 = 2_147_483_647;

impl Random {
    /// The state after Tcl's `srand(1)`, which itself takes the first draw.
    pub(super) fn seeded() -> Self {
        Self { state: MULTIPLIER }
    }

    /// A number from 0 to `limit - 1`: the fraction is computed as Tcl does, in binary64.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        self.state = self.state * MULTIPLIER % MODULUS;
        let fraction = self.state as f64 * (1.0 / MODULUS as f64);
        (fraction * f64::from(limit)) as u32
    }
}

/// The quantities that depend on the scale.
pub(super) struct Sizes {
    /// Rows of `t1`.
    pub(super) small_rows: u32,
    /// Upper bound of the numbers in `t1`.
    pub(super) small_limit: u32,
    /// Rows of `t2`.
    pub(super) rows: u32,
    /// Upper bound of the numbers in `t2`.
    pub(super) limit: u32,
    /// Queries that use an index.
    pub(super) queries: u32,
    /// Rows from the eleventh to before this one are deleted.
    pub(super) deleted_below: u32,
    /// Rows inserted into the emptied `t1`.
    pub(super) refilled_rows: u32,
}

impl Sizes {
    pub(super) fn new(scale: u32) -> Self {
        Self {
            small_rows: 1000 * scale,
            small_limit: 100_000 * scale,
            rows: 25_000 * scale,
            limit: 500_000 * scale,
            queries: 5000 * scale,
            deleted_below: 20_000 * scale,
            refilled_rows: 3000 * scale,
        }
    }
}

/// Lines of SQL. Writing to a `String` cannot fail.
#[derive(Default)]
struct Script(String);

impl Script {
    fn line(mut self, line: &str) -> Self {
        self.push(format_args!("{line}"));
        self
    }

    fn push(&mut self, line: std::fmt::Arguments<'_>) {
        self.0
            .write_fmt(line)
            .expect("writing to a String cannot fail");
        self.0.push('\n');
    }

    /// One INSERT per row of a numbered table; draws one random number per row.
    fn inserts(mut self, table: &str, rows: u32, limit: u32, random: &mut Random) -> Self {
        for row in 1..=rows {
            let number = random.below(limit);
            let name = number_name(number);
            self.push(format_args!(
                "INSERT INTO {table} VALUES({row},{number},'{name}');"
            ));
        }
        self
    }

    /// One aggregate per range of `b`, the ranges beginning 100 apart.
    fn range_selects(mut self, queries: u32, width: u32) -> Self {
        for query in 0..queries {
            let (low, high) = (query * 100, (query + width) * 100);
            self.push(format_args!(
                "SELECT count(*), avg(b) FROM t2 WHERE b>={low} AND b<{high};"
            ));
        }
        self
    }

    fn text_selects(mut self, queries: u32) -> Self {
        for query in 1..=queries {
            let name = number_name(query);
            self.push(format_args!(
                "SELECT count(*), avg(b) FROM t2 WHERE c LIKE '%{name}%';"
            ));
        }
        self
    }

    fn range_updates(mut self, updates: u32) -> Self {
        for update in 0..updates {
            let (low, high) = (update * 10, (update + 1) * 10);
            self.push(format_args!(
                "UPDATE t1 SET b=b*2 WHERE a>={low} AND a<{high};"
            ));
        }
        self
    }

    fn number_updates(mut self, rows: u32, limit: u32, random: &mut Random) -> Self {
        for row in 1..=rows {
            let number = random.below(limit);
            self.push(format_args!("UPDATE t2 SET b={number} WHERE a={row};"));
        }
        self
    }

    fn text_updates(mut self, rows: u32, limit: u32, random: &mut Random) -> Self {
        for row in 1..=rows {
            let name = number_name(random.below(limit));
            self.push(format_args!("UPDATE t2 SET c='{name}' WHERE a={row};"));
        }
        self
    }
}

/// The scripts of tests 1 to 15.
pub(super) fn scripts(scale: u32) -> [String; 15] {
    let sizes = Sizes::new(scale);
    let Sizes {
        small_rows,
        small_limit,
        rows,
        limit,
        refilled_rows,
        ..
    } = sizes;
    let random = &mut Random::seeded();
    let script = Script::default;
    let create =
        |table: &str| format!("CREATE TABLE {table}(a INTEGER, b INTEGER, c VARCHAR(100));");
    [
        script()
            .line(&create("t1"))
            .inserts("t1", small_rows, small_limit, random),
        script()
            .line("BEGIN;")
            .line(&create("t2"))
            .inserts("t2", rows, limit, random)
            .line("COMMIT;"),
        script().range_selects(100, 10),
        script().text_selects(100),
        script()
            .line("CREATE INDEX i2a ON t2(a);")
            .line("CREATE INDEX i2b ON t2(b);"),
        script().range_selects(sizes.queries, 1),
        script().line("BEGIN;").range_updates(1000).line("COMMIT;"),
        script()
            .line("BEGIN;")
            .number_updates(rows, limit, random)
            .line("COMMIT;"),
        script()
            .line("BEGIN;")
            .text_updates(rows, limit, random)
            .line("COMMIT;"),
        script()
            .line("BEGIN;")
            .line("INSERT INTO t1 SELECT * FROM t2;")
            .line("INSERT INTO t2 SELECT * FROM t1;")
            .line("COMMIT;"),
        script().line("DELETE FROM t2 WHERE c LIKE '%fifty%';"),
        script().line(&format!(
            "DELETE FROM t2 WHERE a>10 AND a<{};",
            sizes.deleted_below
        )),
        script().line("INSERT INTO t2 SELECT * FROM t1;"),
        script()
            .line("BEGIN;")
            .line("DELETE FROM t1;")
            .inserts("t1", refilled_rows, small_limit, random)
            .line("COMMIT;"),
        script().line("DROP TABLE t1;").line("DROP TABLE t2;"),
    ]
    .map(|script| script.0)
}
