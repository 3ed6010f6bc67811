//! Workload `tpcc`: orders, payments and deliveries of a wholesaler, from concurrent terminals.
//!
//! The tables, their rows and the five transactions follow TPC-C, revision 5.11; the statements are
//! those of BenchBase, which the published comparison of confidential databases ran. Unlike in
//! TPC-C, terminals do not wait between transactions, and no figure is a tpmC.
//!
//! The tests: the tables are created and filled; then, for each requested number of terminals, the
//! terminals work for a while. [`consistency`] has the conditions that the tables must satisfy
//! afterwards.

pub mod consistency;
pub mod population;
pub mod published;
mod random;
pub mod schema;
pub mod statements;
pub mod transactions;
pub mod value;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::{Script, Test, Work, Workload, sha256};
use population::Sizes;

pub use random::ORIGINAL;

/// A one-sentence description.
pub(crate) const DESCRIPTION: &str = "TPC-C's five transactions on PostgreSQL, MariaDB or MySQL, \
     also behind a proxy that encrypts columns; takes --scale, --terminals, --isolation and \
     --seconds";

/// Allowed scales: the number of warehouses, or 0 for two small ones.
pub const SCALES: RangeInclusive<u32> = 0..=100;

/// Allowed numbers of terminals.
pub const TERMINALS: RangeInclusive<u32> = 1..=64;

/// The numbers of the published test.
pub const DEFAULT_TERMINALS: [u32; 4] = [8, 16, 24, 32];

/// The default measured seconds, as published.
pub const DEFAULT_SECONDS: u32 = 60;

/// The isolation level of transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// As in the published test.
    #[default]
    Serializable,
    /// Each statement sees what was committed before it.
    ReadCommitted,
}

impl Isolation {
    /// Its name in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Serializable => "SERIALIZABLE",
            Self::ReadCommitted => "READ COMMITTED",
        }
    }

    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Serializable => "serializable",
            Self::ReadCommitted => "read-committed",
        }
    }
}

/// A period in which terminals work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The scale of the tables.
    pub scale: u32,
    /// The number of terminals, each with a connection and a thread.
    pub terminals: u32,
    /// The isolation level.
    pub isolation: Isolation,
    /// The measured seconds.
    pub seconds: u32,
}

impl Step {
    /// Seconds of the warm-up, which is not counted.
    pub fn warm_up_seconds(&self) -> u32 {
        (self.seconds / 6).clamp(1, 10)
    }

    /// The initial sizes of the tables.
    pub fn sizes(&self) -> Sizes {
        Sizes::of_scale(self.scale)
    }
}

/// The statements that create the tables, or the first transactions of a step; only for display.
pub fn preview(test: &Test) -> Option<String> {
    const ROWS: usize = 3;
    const PREVIEWED: u64 = 20;
    match test.step? {
        Work::Concurrent(_) => None,
        Work::TpccTables { scale } => {
            let sizes = Sizes::of_scale(scale);
            let mut text = String::new();
            for table in schema::TABLES {
                text += &format!("{};\n", table.ddl());
                for row in population::rows(&table, sizes).take(ROWS) {
                    text += &format!("-- {row:?}\n");
                }
            }
            Some(text + schema::INDEX + ";\n")
        }
        Work::Tpcc(step) => {
            let mut text = format!("-- {}\n-- The statements\n", test.title);
            for statement in statements::Statement::ALL {
                text += &format!("{};\n", statement.text().sql);
            }
            text += &format!("-- The first {PREVIEWED} transactions of the first terminal\n");
            for number in 0..PREVIEWED {
                let drawn = transactions::transaction(step.sizes(), test.number, 0, number);
                text += &format!("-- {drawn:?}\n");
            }
            Some(text)
        }
    }
}

/// The parameters of the workload. Its `Debug` form is part of the workload's digest, so names of
/// type and fields must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish<'a> {
    pub(crate) scale: u32,
    pub(crate) terminals: &'a [u32],
    pub(crate) isolation: Isolation,
    pub(crate) seconds: u32,
}

/// Raised when the same parameters produce other rows or transactions.
const GENERATION: u32 = 1;

/// The workload. Its rows are generated when they are loaded, since there are many.
pub(crate) fn workload(wish: &Wish<'_>) -> Workload {
    let test = |number, title, work| Test {
        number,
        title,
        script: Script::new(),
        oracle: Vec::new(),
        step: Some(work),
    };
    let title = match wish.scale {
        0 => "Tables of two small warehouses".to_owned(),
        1 => "Tables of 1 warehouse".to_owned(),
        many => format!("Tables of {many} warehouses"),
    };
    let mut tests = vec![test(1, title, Work::TpccTables { scale: wish.scale })];
    for &terminals in wish.terminals {
        let step = Step {
            scale: wish.scale,
            terminals,
            isolation: wish.isolation,
            seconds: wish.seconds,
        };
        let title = match terminals {
            1 => "1 terminal".to_owned(),
            many => format!("{many} terminals"),
        };
        tests.push(test(tests.len() as u32 + 1, title, Work::Tpcc(step)));
    }
    let ddl: Vec<String> = schema::TABLES.iter().map(schema::Table::ddl).collect();
    let statements = statements::Statement::ALL.iter().map(|one| one.text().sql);
    let wish = format!("{GENERATION} {wish:?}");
    let texts = ddl.iter().map(String::as_str).chain(statements);
    let sha256 = sha256(texts.chain([wish.as_str()]));
    Workload {
        name: "tpcc".to_owned(),
        description: DESCRIPTION.to_owned(),
        tests,
        canary: ORIGINAL.to_owned(),
        sha256,
    }
}
