//! The rules of the 15 scripts.
//!
//! One source of random numbers runs through all of them, one draw per row that needs a number and
//! no other: tests 1, 2, 8, 9 and 14, in this order. Leaving a test out would change those after.

use std::fmt::Write;

/// Park and Miller's minimal standard generator, as Tcl's `rand()` uses it.
struct Random {
    state: u64,
}

const MULTIPLIER: u64 = 16_807;
const MODULUS: u64 = 2_147_483_647;

impl Random {
    /// The state after Tcl's `srand(1)`, which itself takes the first draw.
    fn seeded() -> Self {
        Self { state: MULTIPLIER }
    }

    /// A number from 0 to `limit - 1`: the fraction is computed as Tcl does, in binary64.
    fn below(&mut self, limit: u32) -> u32 {
        self.state = self.state * MULTIPLIER % MODULUS;
        let fraction = self.state as f64 * (1.0 / MODULUS as f64);
        (fraction * f64::from(limit)) as u32
    }
}

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = [
    "", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// A number in English words, without "and" and without hyphens.
fn number_name(number: u32) -> String {
    let mut words = Vec::new();
    let mut rest = number;
    if rest >= 1000 {
        words.push(number_name(rest / 1000));
        words.push("thousand".to_owned());
        rest %= 1000;
    }
    if rest >= 100 {
        words.push(ONES[(rest / 100) as usize].to_owned());
        words.push("hundred".to_owned());
        rest %= 100;
    }
    if rest >= 20 {
        words.push(TENS[(rest / 10) as usize].to_owned());
        rest %= 10;
    }
    if rest > 0 {
        words.push(ONES[rest as usize].to_owned());
    }
    if words.is_empty() {
        ONES[0].to_owned()
    } else {
        words.join(" ")
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

    /// One INSERT per row of a numbered table; draws one number per row.
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

    fn number_updates(mut self, rows: u32, random: &mut Random) -> Self {
        for row in 1..=rows {
            let number = random.below(500_000);
            self.push(format_args!("UPDATE t2 SET b={number} WHERE a={row};"));
        }
        self
    }

    fn text_updates(mut self, rows: u32, random: &mut Random) -> Self {
        for row in 1..=rows {
            let name = number_name(random.below(500_000));
            self.push(format_args!("UPDATE t2 SET c='{name}' WHERE a={row};"));
        }
        self
    }
}

/// The scripts of tests 1 to 15.
pub(super) fn scripts() -> [String; 15] {
    let random = &mut Random::seeded();
    let script = Script::default;
    let create =
        |table: &str| format!("CREATE TABLE {table}(a INTEGER, b INTEGER, c VARCHAR(100));");
    [
        script()
            .line(&create("t1"))
            .inserts("t1", 1000, 100_000, random),
        script()
            .line("BEGIN;")
            .line(&create("t2"))
            .inserts("t2", 25_000, 500_000, random)
            .line("COMMIT;"),
        script().range_selects(100, 10),
        script().text_selects(100),
        script()
            .line("CREATE INDEX i2a ON t2(a);")
            .line("CREATE INDEX i2b ON t2(b);"),
        script().range_selects(5000, 1),
        script().line("BEGIN;").range_updates(1000).line("COMMIT;"),
        script()
            .line("BEGIN;")
            .number_updates(25_000, random)
            .line("COMMIT;"),
        script()
            .line("BEGIN;")
            .text_updates(25_000, random)
            .line("COMMIT;"),
        script()
            .line("BEGIN;")
            .line("INSERT INTO t1 SELECT * FROM t2;")
            .line("INSERT INTO t2 SELECT * FROM t1;")
            .line("COMMIT;"),
        script().line("DELETE FROM t2 WHERE c LIKE '%fifty%';"),
        script().line("DELETE FROM t2 WHERE a>10 AND a<20000;"),
        script().line("INSERT INTO t2 SELECT * FROM t1;"),
        script()
            .line("BEGIN;")
            .line("DELETE FROM t1;")
            .inserts("t1", 3000, 100_000, random)
            .line("COMMIT;"),
        script().line("DROP TABLE t1;").line("DROP TABLE t2;"),
    ]
    .map(|script| script.0)
}

#[cfg(test)]
mod tests {
    use super::number_name;

    #[test]
    fn numbers_are_named_without_and_or_hyphens() {
        assert_eq!(number_name(0), "zero");
        assert_eq!(number_name(20), "twenty");
        assert_eq!(number_name(100), "one hundred");
        assert_eq!(
            number_name(378_878),
            "three hundred seventy eight thousand eight hundred seventy eight"
        );
    }
}
