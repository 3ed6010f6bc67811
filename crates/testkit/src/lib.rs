//! For tests only: an in-memory disk that loses power and fails, as a base VFS.
//!
//! - `fault`, `disk`, `base_vfs`, `base_file`: the disk, its faults, and SQLite's C interface;
//! - `power`: what a power cut may leave;
//! - `workload`, `case`, `plan`, `record`, `cut`: seeded runs, and the checks of what is left;
//! - `allocator`, `faulty_run`: SQLite's memory, and runs in which a call fails.
//!
//! No product depends on this crate.
#![expect(unsafe_code, reason = "SQLite's C interface")]

pub mod allocator;
mod base_file;
pub mod base_vfs;
pub mod case;
pub mod cut;
pub mod database;
pub mod disk;
pub mod fault;
pub mod faulty_run;
pub mod plan;
pub mod power;
pub mod random;
pub mod record;
pub mod workload;
