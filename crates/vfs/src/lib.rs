//! Encryption for stock SQLite: a VFS that wraps another VFS.
//!
//! The shim handles reads, writes, sizes and pragmas; locks, shared memory and syncs go to the base
//! VFS unchanged. Three layers:
//!
//! - `abi`, `api`, `base`: SQLite's C structures, its functions, and a base file as safe calls;
//! - `database` with `main_file`, `wal_file`, `journal_file`, and `temporary_file`: what is read
//!   and written, in safe code; `foreign_file`: a database in another format, read-only;
//! - `methods`, `shim`: the C callbacks, which convert, call and map the result.
//!
//! Invariants:
//!
//! 1. No second descriptor on a database is ever opened: closing it would drop POSIX locks.
//! 2. SQLite's buffers are never modified in a write, nor read beyond their size.
//! 3. Bytes derived from content reach the base VFS only sealed or masked; what the code does not
//!    recognise, it refuses.
//! 4. A gathered write reaches the base VFS before anything that relies on it: journal records
//!    before the database is written, pages before the journal ends or a lock is released, frames
//!    before the write of the commit frame returns. A failure is returned from a call whose result
//!    SQLite checks.
//! 5. No panic crosses the C boundary.
#![expect(unsafe_code, reason = "SQLite's C interface")]

mod abi;
mod api;
mod base;
mod base_vfs;
mod by_descriptor;
mod connection;
mod creation;
mod credentials;
mod database;
mod double_write;
mod error;
mod foreign_file;
mod freshness;
mod gathered;
mod journal_file;
mod key_changes;
mod keys;
mod known_page_one;
mod log_index;
mod main_file;
mod map;
mod methods;
mod nonces;
mod open_files;
mod page_one;
mod pause;
mod pragma;
mod pragma_call;
mod recovery;
mod renewal;
mod resize;
mod rotation;
mod shim;
mod stamps;
mod super_journal;
mod temporary_file;
pub mod tokens;
mod verify;
mod version_fields;
mod wal_file;

pub use abi::{sqlite3, sqlite3_file, sqlite3_vfs};
pub use api::SqliteApi;
pub use foreign_file::{PageSource, PageSourceToken};
pub use shim::{RegisterError, Registration, register};

/// The default name of the registered VFS.
pub const VFS_NAME: &str = "strongroom";
