//! The content of the tables after some of the tests, computed from the rules without an engine.

use super::numbers::{all_ones, swizzle};
use crate::Fact;
use crate::number_name::number_name;

/// The facts for one size.
pub(super) struct Oracle {
    rows: Sums,
    keys: KeySums,
}

/// Sums over the rows of the first four tables.
#[derive(Default)]
struct Sums {
    count: i64,
    row_numbers: i64,
    swizzled: i64,
    name_lengths: i64,
}

/// Sums over the keys that remain after later rows have replaced earlier ones.
#[derive(Default)]
struct KeySums {
    count: i64,
    keys: i64,
    /// Of the row that came last.
    rows: i64,
    row_name_lengths: i64,
    key_name_lengths: i64,
}

fn name_length(number: u32) -> i64 {
    number_name(number).len() as i64
}

impl Oracle {
    pub(super) fn new(size: u32) -> Self {
        Self {
            rows: Sums::new(500 * size),
            keys: KeySums::new(700 * size),
        }
    }

    /// The facts that hold after the test with that number.
    pub(super) fn after(&self, test: u32) -> Vec<Fact> {
        match test {
            100 => vec![self.copy_of_z1("z1")],
            110 => vec![self.z2_as_filled()],
            120 => vec![self.copy_of_z1("t3")],
            180 => vec![self.copy_of_z1("t4")],
            190 | 300 => vec![self.copy_of_z1("z2")],
            250 => vec![fact(
                "SELECT count(*), sum(d) FROM z2",
                &[self.rows.count, 4 * self.rows.row_numbers],
            )],
            290 => vec![self.copy_of_z1("z2"), self.copy_of_z1("t3")],
            400 => vec![fact(
                "SELECT count(*), sum(a), sum(length(b)) FROM t5",
                &[self.keys.count, self.keys.keys, self.keys.row_name_lengths],
            )],
            500 => vec![fact(
                "SELECT count(*), sum(length(a)), sum(b) FROM t6",
                &[self.keys.count, self.keys.key_name_lengths, self.keys.rows],
            )],
            _ => Vec::new(),
        }
    }

    fn copy_of_z1(&self, table: &str) -> Fact {
        let sums = &self.rows;
        four_sums(table, sums, sums.swizzled, sums.row_numbers)
    }

    fn z2_as_filled(&self) -> Fact {
        let sums = &self.rows;
        four_sums("z2", sums, sums.row_numbers, sums.swizzled)
    }
}

fn four_sums(table: &str, sums: &Sums, a: i64, b: i64) -> Fact {
    let query = format!("SELECT count(*), sum(a), sum(b), sum(length(c)) FROM {table}");
    fact(&query, &[sums.count, a, b, sums.name_lengths])
}

fn fact(query: &str, row: &[i64]) -> Fact {
    Fact {
        query: query.to_owned(),
        row: row.to_vec(),
    }
}

impl Sums {
    fn new(rows: u32) -> Self {
        let largest = all_ones(rows);
        let mut sums = Self::default();
        for row in 1..=rows {
            let swizzled = swizzle(row, largest);
            sums.count += 1;
            sums.row_numbers += i64::from(row);
            sums.swizzled += i64::from(swizzled);
            sums.name_lengths += name_length(swizzled);
        }
        sums
    }
}

impl KeySums {
    fn new(replaced: u32) -> Self {
        let largest = all_ones(replaced / 3);
        let mut last_rows = vec![0u32; largest as usize + 1];
        for row in 1..=replaced {
            last_rows[swizzle(row, largest) as usize] = row;
        }
        let mut sums = Self::default();
        for (&row, key) in last_rows.iter().zip(0u32..).filter(|&(&row, _)| row > 0) {
            sums.count += 1;
            sums.keys += i64::from(key);
            sums.rows += i64::from(row);
            sums.row_name_lengths += name_length(row);
            sums.key_name_lengths += name_length(key);
        }
        sums
    }
}
