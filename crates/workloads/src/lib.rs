//! Workloads as pure generators of SQL.
//!
//! A workload is a list of named tests that run one after the other on one database. Its text is a
//! function of nothing but its own rules: no clock, no file, no environment.

pub mod speed;

/// A deterministic list of tests, to be run in order on one new database.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The name on the command line.
    pub name: &'static str,
    /// One sentence on what it is.
    pub description: &'static str,
    /// The tests, in the order in which they run.
    pub tests: Vec<Test>,
    /// Words that stand in the stored rows: a database file that shows them is readable by anyone.
    pub canary: &'static str,
    /// SHA-256 of all scripts, one after the other, in hexadecimal digits.
    pub sha256: &'static str,
}

/// One test: a script, and what the tables must hold when it has run.
#[derive(Debug, Clone)]
pub struct Test {
    /// Counts from 1.
    pub number: u32,
    /// What the test does, in a few words.
    pub title: &'static str,
    /// One statement a line, every line ended by a line feed.
    pub script: String,
    /// Known facts about the database after this test.
    pub oracle: Vec<Fact>,
}

/// What a query must answer, known from other database engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// A query that yields one row of integers.
    pub query: &'static str,
    /// That row.
    pub row: [i64; 4],
}

impl Test {
    /// The statements of the script, in order.
    pub fn statements(&self) -> impl Iterator<Item = &str> {
        self.script.lines()
    }

    /// How many statements the script has.
    pub fn statement_count(&self) -> usize {
        self.statements().count()
    }
}

/// All workloads, by name.
pub fn all() -> Vec<Workload> {
    vec![speed::workload()]
}

/// The workload of that name.
pub fn named(name: &str) -> Option<Workload> {
    all().into_iter().find(|workload| workload.name == name)
}
