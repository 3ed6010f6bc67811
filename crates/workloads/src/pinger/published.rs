//! The figures of the published comparison: elapsed seconds from the shell's `time`.

/// The machine it ran on.
pub const MACHINE: &str = "Pentium 4 2.8 GHz, 1 GB, SATA disk, Red Hat Enterprise Desktop 4";

/// The engines, in the order of the figures. The page does not state their durability, but SQLite
/// ran with its defaults, which wait for the disk.
pub const ENGINES: [&str; 2] = ["MySQL 4.1.20", "SQLite 3.3.4"];

/// One published step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// What was measured.
    pub title: &'static str,
    /// The corresponding tests of the workload, counted from 1; their times are added.
    pub tests: &'static [u32],
    /// Seconds per engine.
    pub seconds: [f64; 2],
}

/// The steps. For single INSERTs without a transaction on SQLite, the page gives no time, but says
/// that very few rows were inserted within a minute.
pub const STEPS: [Step; 4] = [
    Step {
        title: "both tables created",
        tests: &[1],
        seconds: [0.03, 0.01],
    },
    Step {
        title: "210 INSERTs without a transaction",
        tests: &[2],
        seconds: [0.05, 1.16],
    },
    Step {
        title: "325720 INSERTs, for SQLite in one transaction",
        tests: &[4],
        seconds: [53.76, 50.38],
    },
    Step {
        title: "the three queries",
        tests: &[5, 6, 7],
        seconds: [1.68, 0.74],
    },
];
