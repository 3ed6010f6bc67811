//! The scripts that belong to `cargo xtask test`: those that try the file most.

/// Pager, journal, log, backup, vacuum, corruption, recovery, parts of blobs, shared cache, locks.
pub const SCRIPTS: &[&str] = &["backup2.test", "vacuum.test"];
