//! Random SQL whose results do not depend on how a database is stored.

use super::random::Random;

/// Generates statements. It tracks what exists just enough for most of them to succeed; those that
/// fail must fail on both sides.
pub struct Statements {
    pub random: Random,
    /// Whether a transaction is open.
    pub in_transaction: bool,
    /// With journal_mode=OFF nothing may be rolled back and no statement may fail halfway.
    pub nothing_rolls_back: bool,
}

/// The prefix of statements whose rows are not compared.
pub const STORAGE_ONLY: &str = "PRAGMA main.";

const TABLES: [&str; 5] = ["one", "two", "three", "temp.four", "keyed"];

impl Statements {
    pub fn new(random: Random) -> Self {
        Statements {
            random,
            in_transaction: false,
            nothing_rolls_back: false,
        }
    }

    /// Statements that create the tables that most others use.
    pub fn beginning() -> Vec<String> {
        let mut all: Vec<String> = TABLES.iter().map(|name| create(name)).collect();
        all.push("CREATE INDEX one_b ON one(b)".to_owned());
        all
    }

    pub fn next(&mut self) -> String {
        match self.random.below(100) {
            0..30 => self.insert(),
            30..45 => self.update(),
            45..55 => self.delete(),
            55..70 => self.transaction(),
            70..86 => self.select(),
            86..92 => self.schema(),
            _ => self.upkeep(),
        }
    }

    fn table(&mut self) -> &'static str {
        self.random.pick(&TABLES)
    }

    fn row(&mut self) -> u64 {
        1 + self.random.below(120)
    }

    /// From empty to several pages of any size but the largest.
    fn text(&mut self) -> String {
        let size = match self.random.below(20) {
            0 => self.random.below(40_000),
            1..4 => self.random.below(6_000),
            4..10 => self.random.below(600),
            _ => self.random.below(30),
        };
        let letter = char::from(b'a' + self.random.below(26) as u8);
        format!("printf('%.*c', {size}, '{letter}')")
    }

    fn insert(&mut self) -> String {
        let (table, text) = (self.table(), self.text());
        let way = if self.nothing_rolls_back {
            "REPLACE"
        } else {
            self.random
                .pick(&["REPLACE", "REPLACE", "IGNORE", "ABORT", "FAIL", "ROLLBACK"])
        };
        let row = self.row();
        if self.random.once_in(3) {
            let count = 1 + self.random.below(60);
            return format!(
                "INSERT OR {way} INTO {table} WITH n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n
                 WHERE i<{count}) SELECT {row} + i, {text} || i, i % 7 FROM n"
            );
        }
        let c = self.random.below(10);
        format!("INSERT OR {way} INTO {table} VALUES({row}, {text}, {c})")
    }

    fn update(&mut self) -> String {
        let (table, text) = (self.table(), self.text());
        let (modulus, row) = (1 + self.random.below(9), self.row());
        if !self.nothing_rolls_back && self.random.once_in(6) {
            // Fails at some row, after others were changed.
            return format!("UPDATE {table} SET a = a + {modulus}, b = {text} WHERE a > {row}");
        }
        // `c` is part of a key, so changing it may fail halfway.
        let more = if self.nothing_rolls_back {
            ""
        } else {
            ", c = c + 1"
        };
        if self.random.once_in(3) {
            return format!("UPDATE {table} SET b = {text}{more} WHERE a = {row}");
        }
        format!(
            "UPDATE {table} SET b = b || {text}{more} WHERE a % {modulus} = 0 AND length(b) < 50000"
        )
    }

    fn delete(&mut self) -> String {
        let (table, row) = (self.table(), self.row());
        match self.random.below(8) {
            0 => format!("DELETE FROM {table}"),
            1 => format!("DELETE FROM {table} WHERE length(b) > 500"),
            _ => format!("DELETE FROM {table} WHERE a BETWEEN {row} AND {row} + 20"),
        }
    }

    fn transaction(&mut self) -> String {
        if !self.in_transaction {
            let begin = [
                "BEGIN",
                "BEGIN IMMEDIATE",
                "BEGIN EXCLUSIVE",
                "SAVEPOINT s1",
            ];
            return self.random.pick(&begin).to_owned();
        }
        if self.nothing_rolls_back {
            return "COMMIT".to_owned();
        }
        match self.random.below(8) {
            0..2 => "COMMIT".to_owned(),
            2 => "ROLLBACK".to_owned(),
            3..5 => format!("SAVEPOINT s{}", self.random.below(3)),
            5..7 => format!("ROLLBACK TO s{}", self.random.below(3)),
            _ => format!("RELEASE s{}", 1 + self.random.below(2)),
        }
    }

    fn select(&mut self) -> String {
        let (table, row) = (self.table(), self.row());
        match self.random.below(7) {
            0 => format!("SELECT a, b, c FROM {table} WHERE a = {row}"),
            1 => format!("SELECT count(*), sum(length(b)), sum(c), min(b) FROM {table}"),
            2 => format!("SELECT a, substr(b, 1, 9) FROM {table} ORDER BY b DESC, a LIMIT 20"),
            3 => format!("SELECT c, count(*), max(length(b)) FROM {table} GROUP BY c ORDER BY c"),
            // A sort that exceeds the cache.
            4 => format!(
                "SELECT sum(length(x)) FROM (SELECT l.b || r.c AS x FROM {table} l, {table} r
                 WHERE l.a % 4 = 0 AND length(l.b) < 300 ORDER BY x, r.a)"
            ),
            5 => "SELECT count(*) FROM one INDEXED BY one_b WHERE b >= 'c' AND b < 'q'".to_owned(),
            _ => "PRAGMA integrity_check".to_owned(),
        }
    }

    fn schema(&mut self) -> String {
        let table = self.table();
        let index = table.trim_start_matches("temp.");
        match self.random.below(8) {
            0 => format!("DROP TABLE {table}"),
            1..4 => create(table),
            4 if table != "temp.four" => format!("DROP INDEX IF EXISTS {index}_b"),
            5..7 if table != "temp.four" => {
                format!("CREATE INDEX IF NOT EXISTS {index}_b ON {table}(b, c)")
            }
            _ => "PRAGMA shrink_memory".to_owned(),
        }
    }

    fn upkeep(&mut self) -> String {
        let number = self.random.below(40);
        match self.random.below(9) {
            0..2 => "VACUUM".to_owned(),
            // Its rows are freed pages, which depend on the usable size of a page.
            2 => format!("{STORAGE_ONLY}incremental_vacuum({number})"),
            3 => format!("PRAGMA auto_vacuum = {}", self.random.below(3)),
            4 => format!(
                "PRAGMA cache_size = {}",
                self.random.pick(&["0", "1", "5", "20", "2000"])
            ),
            5 => format!(
                "PRAGMA synchronous = {}",
                self.random
                    .pick(&["OFF", "OFF", "OFF", "NORMAL", "FULL", "EXTRA"])
            ),
            6 => format!("PRAGMA cache_spill = {}", self.random.below(2) * 3),
            7 => "PRAGMA foreign_key_check".to_owned(),
            _ => "REINDEX".to_owned(),
        }
    }
}

fn create(table: &str) -> String {
    match table {
        "keyed" => {
            "CREATE TABLE IF NOT EXISTS keyed(a, b, c, PRIMARY KEY(c, a)) WITHOUT ROWID".to_owned()
        }
        "three" => "CREATE TABLE IF NOT EXISTS three(a UNIQUE, b, c)".to_owned(),
        "temp.four" => {
            "CREATE TABLE IF NOT EXISTS temp.four(a INTEGER PRIMARY KEY, b, c)".to_owned()
        }
        table => format!("CREATE TABLE IF NOT EXISTS {table}(a INTEGER PRIMARY KEY, b, c)"),
    }
}
