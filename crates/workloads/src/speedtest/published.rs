//! The figures of the page on SQLite in browsers: milliseconds for all tests together.
//!
//! The page labels its rows with 14,200 to 710,000 statements. These are the sums of the numbers in
//! the tests' titles, 7,100 per unit of size, at sizes 2, 10, 25, 50 and 100; the scripts have
//! fewer statements, see [`Row::statements`].

use super::statement_count;

/// How the statements reached SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A text of SQL, piped into the engine.
    Script,
    /// Calls of SQLite's functions.
    Direct,
}

/// One published table.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// How the statements reached SQLite.
    pub way: Way,
    /// The builds of SQLite, in the order of the columns.
    pub engines: &'static [&'static str],
    /// The rows, smallest size first.
    pub rows: &'static [Row],
}

/// One size.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The page's label for the number of statements.
    pub label: u32,
    /// The corresponding size.
    pub size: u32,
    /// Milliseconds per engine; `None` if the database did not fit.
    pub milliseconds: &'static [Option<u32>],
}

impl Row {
    /// How many statements the script of that size has.
    pub fn statements(&self) -> u32 {
        statement_count(self.size)
    }
}

/// The lab's engine that corresponds to one of the page's.
pub fn engine_here(published: &str) -> Option<&'static str> {
    match published {
        "C, native" => Some("sqlite"),
        "WASM in memory" => Some("browser-official-memory"),
        "WebSQL" => Some("browser-websql"),
        "WASMFS" => Some("browser-wasmfs"),
        "sqlite3_vfs" => Some("browser-official-opfs"),
        "local or session storage" => Some("browser-kvvfs-local"),
        _ => None,
    }
}

/// Milliseconds of the native build at that size, which the page gives only for direct calls.
pub fn native(size: u32) -> Option<u32> {
    DIRECT
        .rows
        .iter()
        .find(|row| row.size == size)?
        .milliseconds
        .first()
        .copied()
        .flatten()
}

/// A text of SQL, piped into SQLite in a browser.
pub const SCRIPT: Table = Table {
    way: Way::Script,
    engines: &["WASM in memory", "WebSQL", "WASMFS"],
    rows: &[
        Row {
            label: 14_200,
            size: 2,
            milliseconds: &[Some(2200), Some(2230), Some(2240)],
        },
        Row {
            label: 71_000,
            size: 10,
            milliseconds: &[Some(3050), Some(4250), Some(3400)],
        },
        Row {
            label: 177_500,
            size: 25,
            milliseconds: &[Some(6200), Some(6000), Some(6900)],
        },
        Row {
            label: 355_000,
            size: 50,
            milliseconds: &[Some(16_000), Some(10_900), Some(16_350)],
        },
        Row {
            label: 710_000,
            size: 100,
            milliseconds: &[Some(52_000), Some(40_000), Some(57_200)],
        },
    ],
};

/// Calls of SQLite's functions, native and in a browser.
pub const DIRECT: Table = Table {
    way: Way::Direct,
    engines: &[
        "C, native",
        "WASMFS",
        "sqlite3_vfs",
        "local or session storage",
    ],
    rows: &[
        Row {
            label: 14_200,
            size: 2,
            milliseconds: &[Some(40), Some(245), Some(270), Some(150)],
        },
        Row {
            label: 71_000,
            size: 10,
            milliseconds: &[Some(220), Some(700), Some(725), None],
        },
        Row {
            label: 177_500,
            size: 25,
            milliseconds: &[Some(540), Some(1715), Some(1620), None],
        },
        Row {
            label: 355_000,
            size: 50,
            milliseconds: &[Some(1230), Some(3200), Some(3200), None],
        },
        Row {
            label: 710_000,
            size: 100,
            milliseconds: &[Some(3200), Some(6500), Some(6700), None],
        },
    ],
};

/// Both tables.
pub const TABLES: [Table; 2] = [DIRECT, SCRIPT];
