//! The content of the two tables after some of the tests, computed from the rules without an
//! engine.
//!
//! At scale 1 it equals what SQLite 3.40.1, PostgreSQL 15 and MariaDB 10.11 contained after running
//! the scripts; a test has their numbers.

use std::ops::{Add, AddAssign};

use super::generator::{Random, Sizes};
use crate::Fact;
use crate::number_name::number_name;

const QUERY: &str = "SELECT count(*), sum(a), sum(b), sum(length(c)) FROM ";

/// Test 7 has 1000 updates of ten numbers each.
const DOUBLED_BELOW: u32 = 10_000;

/// The relevant parts of a row.
#[derive(Clone, Copy)]
struct Row {
    a: u32,
    b: u32,
    name_length: u32,
    /// Whether the name contains the word that test 11 searches for.
    fifty: bool,
}

impl Row {
    fn new(a: u32, b: u32) -> Self {
        let mut row = Self {
            a,
            b,
            name_length: 0,
            fifty: false,
        };
        row.rename(b);
        row
    }

    fn rename(&mut self, number: u32) {
        let name = number_name(number);
        self.name_length = name.len() as u32;
        self.fifty = name.contains("fifty");
    }
}

/// Rows, sum of `a`, sum of `b`, sum of the lengths of `c`.
#[derive(Clone, Copy, Default)]
struct Sums([i64; 4]);

impl Add for Sums {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        for (sum, term) in self.0.iter_mut().zip(other.0) {
            *sum += term;
        }
    }
}

/// The sums over the selected rows.
fn sums(rows: &[Row], kept: impl Fn(&Row) -> bool) -> Sums {
    let mut sums = Sums::default();
    for row in rows.iter().filter(|row| kept(row)) {
        sums += Sums([
            1,
            i64::from(row.a),
            i64::from(row.b),
            i64::from(row.name_length),
        ]);
    }
    sums
}

fn filled(rows: u32, limit: u32, random: &mut Random) -> Vec<Row> {
    (1..=rows)
        .map(|row| Row::new(row, random.below(limit)))
        .collect()
}

/// The facts known after each of the 15 tests.
pub(super) fn facts(scale: u32) -> [Vec<Fact>; 15] {
    let sizes = Sizes::new(scale);
    let random = &mut Random::seeded();
    let all = |_: &Row| true;
    let mut t1 = filled(sizes.small_rows, sizes.small_limit, random);
    let mut t2 = filled(sizes.rows, sizes.limit, random);
    let after_2 = both(sums(&t1, all), sums(&t2, all));
    for row in t1.iter_mut().filter(|row| row.a < DOUBLED_BELOW) {
        row.b *= 2;
    }
    let small = sums(&t1, all);
    for row in &mut t2 {
        row.b = random.below(sizes.limit);
    }
    for row in &mut t2 {
        row.rename(random.below(sizes.limit));
    }
    let large = sums(&t2, all);
    // Test 10 copies each table into the other: first t2 into t1, then the longer t1 into t2.
    let grown = small + large;
    let twice = |kept: &dyn Fn(&Row) -> bool| {
        let large = sums(&t2, kept);
        large + large + sums(&t1, kept)
    };
    let without_fifty = |row: &Row| !row.fifty;
    let thinned = |row: &Row| !row.fifty && (row.a <= 10 || row.a >= sizes.deleted_below);
    let t2_last = twice(&thinned) + grown;
    let refilled = filled(sizes.refilled_rows, sizes.small_limit, random);
    [
        Vec::new(),
        after_2,
        Vec::new(),
        Vec::new(),
        Vec::new(),
        Vec::new(),
        vec![fact("t1", small)],
        Vec::new(),
        both(small, large),
        both(grown, twice(&all)),
        both(grown, twice(&without_fifty)),
        both(grown, twice(&thinned)),
        both(grown, t2_last),
        both(sums(&refilled, all), t2_last),
        Vec::new(),
    ]
}

fn both(t1: Sums, t2: Sums) -> Vec<Fact> {
    vec![fact("t1", t1), fact("t2", t2)]
}

fn fact(table: &str, sums: Sums) -> Fact {
    Fact {
        query: format!("{QUERY}{table}"),
        row: sums.0.to_vec(),
    }
}
